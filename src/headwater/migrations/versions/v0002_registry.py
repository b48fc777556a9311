"""The registry in front of the river: fetchers, subscriptions and their conflicts."""

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Integer, LargeBinary, Text

revision = "0002"
down_revision = "0001"

BIG = BigInteger().with_variant(Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "fetcher_modules",
        Column("fetcher_id", BIG, primary_key=True, autoincrement=True),
        Column("name", Text, nullable=False, unique=True),
        Column("version", Text, nullable=False),
        Column("description", Text),
        Column("base_url", Text, nullable=False),
        Column("priority", Integer, nullable=False),
        Column("is_enabled", Boolean, nullable=False),
        Column("config_schema", Text),
        Column("last_seen_at", BigInteger),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
    )
    op.create_index("idx_fetcher_modules_base_url", "fetcher_modules", ["base_url"])
    _subscriptions()
    _conflicts()


def _subscriptions() -> None:
    op.create_table(
        "rss_subscriptions",
        Column("subscription_id", BIG, primary_key=True, autoincrement=True),
        Column("fetcher_id", BigInteger, ForeignKey("fetcher_modules.fetcher_id"), nullable=False),
        Column("feed_id", BigInteger, ForeignKey("feeds.id", ondelete="SET NULL")),
        Column("source_url", Text, nullable=False),
        Column("source_key", LargeBinary, nullable=False, unique=True),
        Column("source_type", Text, nullable=False),
        Column("name", Text),
        Column("description", Text),
        Column("last_fetched_at", BigInteger),
        Column("next_fetch_at", BigInteger),
        Column("fetch_interval_minutes", Integer),
        Column("is_active", Boolean, nullable=False),
        Column("config", Text),
        Column("assignment_status", Text, nullable=False),
        Column("auto_selected", Boolean, nullable=False),
        Column("assigned_at", BigInteger),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_rss_subscriptions_fetcher_id", "rss_subscriptions", ["fetcher_id"])
    op.create_index("idx_rss_subscriptions_is_active", "rss_subscriptions", ["is_active"])
    op.create_index("idx_rss_subscriptions_feed_id", "rss_subscriptions", ["feed_id"])


def _conflicts() -> None:
    op.create_table(
        "subscription_conflicts",
        Column("conflict_id", BIG, primary_key=True, autoincrement=True),
        Column(
            "subscription_id",
            BigInteger,
            ForeignKey("rss_subscriptions.subscription_id", ondelete="CASCADE"),
            nullable=False,
        ),
        Column("conflict_type", Text, nullable=False),
        Column("conflict_data", Text, nullable=False),
        Column("resolution_status", Text, nullable=False),
        Column("resolution_data", Text),
        Column("resolved_at", BigInteger),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "idx_subscriptions_conflicts_status", "subscription_conflicts", ["resolution_status"]
    )
    op.create_index(
        "idx_subscription_conflicts_subscription", "subscription_conflicts", ["subscription_id"]
    )


def downgrade() -> None:
    for table in ("subscription_conflicts", "rss_subscriptions", "fetcher_modules"):
        op.drop_table(table)
