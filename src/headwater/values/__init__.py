"""Nouns shared by several stations."""
