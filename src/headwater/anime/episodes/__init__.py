"""Episodes: which there are, which are missing, and when the next ones come."""
