"""The server: API, worker and background work in one process."""
