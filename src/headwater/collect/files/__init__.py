"""The library's files, in the database."""
