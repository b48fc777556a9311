"""Station 2: when to visit next, and why."""
