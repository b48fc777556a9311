"""Episodes of tracked shows: those that are here or missing, and the dates of the next ones."""
