"""Events told to other programs."""
