"""Parsing in processes that can be killed."""
