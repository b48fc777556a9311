"""Tokens of the API, and what each of them may do."""
