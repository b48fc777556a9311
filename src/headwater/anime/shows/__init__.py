"""Shows and trackings: what is collected, from which feed, and what somebody prefers."""
