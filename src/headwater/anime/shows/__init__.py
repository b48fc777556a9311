"""Shows and trackings: the shows that are collected, their feeds and the user's preferences."""
