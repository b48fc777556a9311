"""Paths and names of files in a library, as media servers read them and file systems allow them."""
