"""Shows in the database."""
