"""Episodes that are missing between others."""
