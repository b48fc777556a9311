"""Trackings in the database."""
