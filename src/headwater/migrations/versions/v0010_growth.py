"""Indexes for rows that are looked up every hour or at every adding, in a growing history."""

from alembic import op
from sqlalchemy import text

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    unneeded, throttled = (
        text("expired_at IS NULL AND NOT keep"),
        text("last_outcome = 'throttled'"),
    )
    op.create_index(
        "raw_fetches_unneeded",
        "raw_fetches",
        ["feed_id", "fetched_at"],
        sqlite_where=unneeded,
        postgresql_where=unneeded,
    )
    op.create_index(
        "feeds_throttled",
        "feeds",
        ["host"],
        sqlite_where=throttled,
        postgresql_where=throttled,
    )
    op.create_index("entry_aliases_by_alias", "entry_aliases", ["alias_key"])


def downgrade() -> None:
    op.drop_index("entry_aliases_by_alias", "entry_aliases")
    op.drop_index("feeds_throttled", "feeds")
    op.drop_index("raw_fetches_unneeded", "raw_fetches")
