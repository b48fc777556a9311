"""Adapters: databases, blobs, clock, vault, parse processes, tracing; only wiring imports them."""
