"""Merge a document with the stored entries: decide which are new, edited, moved, or seen again."""
