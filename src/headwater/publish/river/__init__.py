"""Entries on their way into the categories of their feeds, where they are items."""
