"""Sinks: events delivered to other programs."""
