"""Personal feeds: readers, their tokens, and the items of categories.

`version` is the value that the counter `personal` had after a change: what is stale in a cache is
one question. A reader that is gone keeps its row in `reader_changes` for a while, for the same
reason; what was let go since is known up to `personal_forgotten`.
"""

from alembic import op
from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
)

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    _readers()
    _items()
    op.execute(
        "INSERT INTO counters (name, value) VALUES ('personal', 0), ('personal_forgotten', 0)"
    )


def _readers() -> None:
    """`categories` is a JSON list; `token_hash` is all that is kept of a token."""
    op.create_table(
        "readers",
        Column("id", Text, primary_key=True),
        Column("name", Text, nullable=False, unique=True),
        Column("categories", Text, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("changed_at", BigInteger, nullable=False),
    )
    op.create_table(
        "reader_tokens",
        Column("id", Text, primary_key=True),
        Column("reader_id", Text, ForeignKey("readers.id", ondelete="CASCADE"), nullable=False),
        Column("token_hash", LargeBinary, nullable=False, unique=True),
        Column("hint", Text, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("until", BigInteger),
        Column("revoked_at", BigInteger),
        Column("last_used_at", BigInteger),
    )
    op.create_index("reader_tokens_reader", "reader_tokens", ["reader_id"])
    op.create_table(
        "reader_changes",
        Column("reader_id", Text, primary_key=True),
        Column("version", BigInteger, nullable=False),
        Column("at", BigInteger, nullable=False),
    )
    op.create_index("reader_changes_version", "reader_changes", ["version"])


def _items() -> None:
    """`item` is JSON, in the words it was given; `guid` is 16 bytes that sort by time. Long words
    stand last, so that nobody reads through them who asks for less.

    `changed_at` is when something last came or changed, `gone_at` when something last expired.
    """
    op.create_table(
        "personal_categories",
        Column("category_key", LargeBinary, primary_key=True),
        Column("category", Text, nullable=False),
        Column("version", BigInteger, nullable=False),
        Column("changed_at", BigInteger, nullable=False),
        Column("gone_at", BigInteger, nullable=False),
    )
    op.create_index("personal_categories_version", "personal_categories", ["version"])
    op.create_table(
        "personal_items",
        Column("category_key", LargeBinary, nullable=False),
        Column("guid", LargeBinary, nullable=False),
        Column("caller_key", LargeBinary),
        Column("expires_at", BigInteger, nullable=False),
        Column("item", Text, nullable=False),
        PrimaryKeyConstraint("category_key", "guid"),
        UniqueConstraint("category_key", "caller_key", name="personal_items_caller"),
    )
    op.create_index("personal_items_expiry", "personal_items", ["expires_at"])
    op.create_index("personal_items_gone", "personal_items", ["category_key", "expires_at"])


def downgrade() -> None:
    op.execute("DELETE FROM counters WHERE name IN ('personal', 'personal_forgotten')")
    op.execute("DELETE FROM sinks WHERE kind = 'personal'")
    for table in (
        "personal_items",
        "personal_categories",
        "reader_changes",
        "reader_tokens",
        "readers",
    ):
        op.drop_table(table)
