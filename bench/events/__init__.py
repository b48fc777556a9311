"""How fast events reach another process, and what readers cost who have nothing to read."""
