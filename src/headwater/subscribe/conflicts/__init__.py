"""Choices that are left to somebody: at most one is open for a subscription."""
