"""The log of events, in order."""
