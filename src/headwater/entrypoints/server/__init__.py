"""The running service: API, worker and background work in one process."""
