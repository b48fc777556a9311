"""Statistics: visits counted by day and fetcher, totals, and service levels."""
