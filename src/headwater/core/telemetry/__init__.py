"""Telemetry: logs, metrics, and a trace of each visit."""
