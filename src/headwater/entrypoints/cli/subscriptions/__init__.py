"""Commands for subscriptions, fetchers, conflicts and groups."""
