"""Sinks: other programs that are told of events, how far each has come, and what none would take.

A sink is a cursor over the event log. Everything up to it was taken, set aside as a dead letter, or
not wanted there.
"""

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Integer, LargeBinary, Text

revision = "0005"
down_revision = "0004"

BIG = BigInteger().with_variant(Integer, "sqlite")


def upgrade() -> None:
    _sinks()
    _dead_letters()


def _sinks() -> None:
    """`next_try_at` is the end of the deliverer's lease, or of the pause after a failure."""
    op.create_table(
        "sinks",
        Column("id", BIG, primary_key=True, autoincrement=True),
        Column("name", Text, nullable=False, unique=True),
        Column("kind", Text, nullable=False),
        Column("origin", Text, nullable=False),
        Column("options", Text, nullable=False),
        Column("secrets", LargeBinary),
        Column("wanted", Text, nullable=False),
        Column("enabled", Boolean, nullable=False),
        Column("stopped", Text),
        Column("max_attempts", Integer),
        Column("cursor", BigInteger, nullable=False),
        Column("replays", Integer, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("failures", Integer, nullable=False),
        Column("failing_since", BigInteger),
        Column("next_try_at", BigInteger),
        Column("delivered", BigInteger, nullable=False),
        Column("last_delivered_at", BigInteger),
        Column("last_error", Text),
        Column("last_detail", Text),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )


def _dead_letters() -> None:
    op.create_table(
        "dead_letters",
        Column("sink_id", BigInteger, ForeignKey("sinks.id", ondelete="CASCADE"), primary_key=True),
        Column("seq", BigInteger, primary_key=True),
        Column("event_id", Text, nullable=False),
        Column("type", Text, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("error", Text, nullable=False),
        Column("detail", Text, nullable=False),
        Column("died_at", BigInteger, nullable=False),
        Column("retry_asked", Boolean, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("dead_letters")
    op.drop_table("sinks")
