"""Naming of files in a library: paths that media servers understand and file systems allow."""
