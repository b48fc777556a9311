"""The REST way in."""
