"""Measurements of Headwater beside other ways of doing the same work."""
