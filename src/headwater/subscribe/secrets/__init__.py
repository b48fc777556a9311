"""Sealed credentials of subscriptions and groups."""
