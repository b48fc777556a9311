"""Routes of readers, their items and their feeds."""
