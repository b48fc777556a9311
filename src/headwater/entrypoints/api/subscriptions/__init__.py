"""Routes of subscriptions, fetchers, conflicts and groups."""
