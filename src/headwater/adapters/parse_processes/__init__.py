"""Parse processes, which can be killed at any time."""
