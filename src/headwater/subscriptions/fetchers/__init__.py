"""Fetchers: who they are, which of them can handle a source, and the work of registered ones."""
