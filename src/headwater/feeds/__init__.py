"""Follow feeds: visits, the schedule, fetching, merging."""
