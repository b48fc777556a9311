"""How visits went, counted by day: for each subscription, and for each fetcher and host.

Visits are forgotten in time, the counts of them are not. `counted` says on each visit that it is
in the counts, so that it is counted once and not forgotten before.
"""

from typing import Any

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Integer,
    Text,
    false,
    text,
)

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    for column in (
        Column("dated_entries", Integer, nullable=False, server_default=text("0")),
        Column("late_sec", Double, nullable=False, server_default=text("0")),
        Column("late_squares", Double, nullable=False, server_default=text("0")),
        Column("counted", Boolean, nullable=False, server_default=false()),
    ):
        op.add_column("visits", column)
    # New visits go to its end, and it holds what waits only: a visit's commit hardly feels it.
    op.create_index("visits_to_count", "visits", ["finished_at"], **_where("NOT counted"))
    _subscription_days()
    _fetcher_days()


def _subscription_days() -> None:
    """`error` is empty for visits that succeeded; day 0 holds what is older than the days kept."""
    op.create_table(
        "subscription_days",
        Column(
            "subscription_id",
            BigInteger,
            ForeignKey("rss_subscriptions.subscription_id", ondelete="CASCADE"),
            primary_key=True,
        ),
        Column("day", Integer, primary_key=True),
        Column("error", Text, primary_key=True),
        Column("visits", BigInteger, nullable=False),
        Column("unchanged", BigInteger, nullable=False),
        Column("new_entries", BigInteger, nullable=False),
        Column("updated_entries", BigInteger, nullable=False),
        Column("bytes_in", BigInteger, nullable=False),
        Column("latency_ms", Double, nullable=False),
        Column("dated_entries", BigInteger, nullable=False),
        Column("late_sec", Double, nullable=False),
        Column("last_at", BigInteger, nullable=False),
    )
    op.create_index("subscription_days_by_day", "subscription_days", ["day"])
    op.create_index(
        "subscription_days_failed",
        "subscription_days",
        ["subscription_id", "day"],
        **_where("error <> ''"),
    )


def _fetcher_days() -> None:
    op.create_table(
        "fetcher_days",
        Column("host", Text, primary_key=True),
        Column("fetcher_id", BigInteger, primary_key=True),
        Column("day", Integer, primary_key=True),
        Column("error", Text, primary_key=True),
        Column("visits", BigInteger, nullable=False),
        Column("new_entries", BigInteger, nullable=False),
        Column("dated_entries", BigInteger, nullable=False),
        Column("late_sec", Double, nullable=False),
        Column("late_squares", Double, nullable=False),
        Column("last_at", BigInteger, nullable=False),
    )
    op.create_index("fetcher_days_by_day", "fetcher_days", ["day"])


def downgrade() -> None:
    op.drop_table("fetcher_days")
    op.drop_table("subscription_days")
    op.drop_index("visits_to_count", "visits")
    for column in ("counted", "late_squares", "late_sec", "dated_entries"):
        op.drop_column("visits", column)


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}
