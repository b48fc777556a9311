"""Readers of personal feeds and their tokens, as the database keeps them."""
