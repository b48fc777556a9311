"""Entries of followed feeds, read as offers."""
