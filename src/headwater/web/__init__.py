"""Web: every request that leaves us passes here, through the address gate and the HTTP client."""
