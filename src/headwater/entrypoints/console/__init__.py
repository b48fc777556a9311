"""The operator's page in a browser."""
