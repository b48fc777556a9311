"""Entries of feeds: as they are kept, how they differ, and their rows."""
