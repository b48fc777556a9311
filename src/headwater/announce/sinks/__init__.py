"""Sinks: other programs that are told of events, each with a cursor of its own over the log."""
