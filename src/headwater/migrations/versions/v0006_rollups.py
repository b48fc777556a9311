"""Figures of the engine at work: what a visit unpacked, what a 304 saved, how long fetches took.

Sums by day grow beside those that are there: of each subscription, and of everything together. The
sums of everything outlive the subscriptions they came from.
"""

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Integer, false, text

revision = "0006"
down_revision = "0005"

_NEW_SUMS = ("retries", "saved_bytes", "decoded_bytes", "encoded_bytes")


def upgrade() -> None:
    op.add_column("visits", Column("decoded_bytes", BigInteger))
    op.add_column("visits", Column("retry", Boolean, nullable=False, server_default=false()))
    for name in _NEW_SUMS:
        column = Column(name, BigInteger, nullable=False, server_default=text("0"))
        op.add_column("subscription_days", column)
    _latency_days()
    _day_totals()


def _latency_days() -> None:
    """`bucket` is a number of milliseconds that the fetch did not take longer than; -1: longer
    than all of them. `small` counts those that brought a megabyte at most."""
    op.create_table(
        "latency_days",
        Column("day", Integer, primary_key=True, autoincrement=False),
        Column("bucket", Integer, primary_key=True, autoincrement=False),
        Column("fetches", BigInteger, nullable=False),
        Column("small", BigInteger, nullable=False),
    )


def _day_totals() -> None:
    """The totals begin with all that was counted before this version."""
    op.create_table(
        "day_totals",
        Column("day", Integer, primary_key=True, autoincrement=False),
        Column("visits", BigInteger, nullable=False),
        Column("failures", BigInteger, nullable=False),
        Column("unchanged", BigInteger, nullable=False),
        Column("retries", BigInteger, nullable=False),
        Column("new_entries", BigInteger, nullable=False),
        Column("updated_entries", BigInteger, nullable=False),
        Column("bytes_in", BigInteger, nullable=False),
        Column("saved_bytes", BigInteger, nullable=False),
        Column("decoded_bytes", BigInteger, nullable=False),
        Column("encoded_bytes", BigInteger, nullable=False),
    )
    op.execute(
        "INSERT INTO day_totals SELECT day, sum(visits),"
        " sum(CASE WHEN error <> '' THEN visits ELSE 0 END), sum(unchanged), 0, sum(new_entries),"
        " sum(updated_entries), sum(bytes_in), 0, 0, 0 FROM subscription_days GROUP BY day"
    )


def downgrade() -> None:
    op.drop_table("day_totals")
    op.drop_table("latency_days")
    for name in reversed(_NEW_SUMS):
        op.drop_column("subscription_days", name)
    op.drop_column("visits", "retry")
    op.drop_column("visits", "decoded_bytes")
