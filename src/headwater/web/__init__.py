"""Every request that leaves us: address gate, HTTP client, limits, Retry-After."""
