"""Settings to real adapters: everything a process needs, opened and closed."""
