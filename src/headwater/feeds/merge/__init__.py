"""Merge a document with the stored entries: new, edited, moved, or seen again."""
