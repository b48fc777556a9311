"""Parsing beside others: how fast, how much memory, and where the answers differ."""
