"""Who fetches what: subscriptions, fetchers, conflicts, groups."""
