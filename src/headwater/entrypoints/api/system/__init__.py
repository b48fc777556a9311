"""Routes about the service itself: status, metrics, tokens, docs."""
