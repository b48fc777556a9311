"""Fetch a feed: one polite, conditional request, and what came of it."""
