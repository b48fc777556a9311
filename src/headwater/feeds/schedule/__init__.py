"""The schedule: when a feed is visited next, and why."""
