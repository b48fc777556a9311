"""Fetch a feed: one polite, conditional request, and its outcome."""
