"""Events: the ordered log of facts that other programs read."""
