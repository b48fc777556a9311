"""Entries as an event told of them: in the version it spoke of, whatever they say by now."""
