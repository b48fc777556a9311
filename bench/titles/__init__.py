"""How fast release titles are read."""
