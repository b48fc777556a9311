"""Logs for people and programs, and the trail of each visit."""
