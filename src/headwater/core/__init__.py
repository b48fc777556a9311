"""The core that every area stands on: errors, ids, moments, URLs, rows, telemetry."""
