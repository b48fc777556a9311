"""Station 1: who wants which source."""
