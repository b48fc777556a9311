"""Logs for people and programs."""
