"""Alembic migrations, in both directions, for SQLite and PostgreSQL alike."""
