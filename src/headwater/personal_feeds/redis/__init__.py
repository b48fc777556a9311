"""Readers, tokens and items in Redis or Valkey, beside other tools that use the same keys."""
