"""Who wants which source, and who fetches it for them: one row for every feed."""
