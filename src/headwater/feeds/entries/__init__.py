"""Entries of feeds: as they are stored, how they differ, and their rows."""
