"""Commands that run and check the service."""
