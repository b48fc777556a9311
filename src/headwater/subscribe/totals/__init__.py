"""Figures of all feeds together: what was promised of them, and which stand out."""
