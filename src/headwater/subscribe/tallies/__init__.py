"""How visits went, counted by day: for each subscription, and for each fetcher and host."""
