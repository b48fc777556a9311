"""Station A: facts told to other programs."""
