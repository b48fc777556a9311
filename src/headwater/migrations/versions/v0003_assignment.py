"""Who fetches what: every feed has a subscription, and every subscription somebody who fetches it.

A feed that a registered fetcher visits has the shard `-fetcher_id`: no worker of ours has such a
shard, so that none of them ever claims it.
"""

from datetime import UTC, datetime
from typing import Any

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    Text,
    false,
    text,
)

from headwater.core.values.ids import index_key
from headwater.core.values.instant import to_micros
from headwater.core.values.url import canonical, shard_of

revision = "0003"
down_revision = "0002"

BIG = BigInteger().with_variant(Integer, "sqlite")

BUILT_IN = (
    ("feed", "Any RSS, Atom or JSON feed over http or https.", 10),
    ("mikanani", "Anime releases of mikanani.me and its mirror.", 100),
)


def upgrade() -> None:
    _groups()
    _fetchers()
    _subscriptions()
    _history()
    _due()
    op.add_column("visits", Column("fetcher_id", BigInteger))
    _one_subscription_per_feed()


def _groups() -> None:
    op.create_table(
        "subscription_groups",
        Column("group_id", BIG, primary_key=True, autoincrement=True),
        Column("name", Text, nullable=False, unique=True),
        Column("description", Text),
        Column("config", Text),
        Column("credentials", LargeBinary),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )


def _fetchers() -> None:
    for column in (
        Column("token_id", BigInteger),
        Column("registered_by", Text),
        Column("wants_news", Boolean, nullable=False, server_default=false()),
        Column("news_seq", BigInteger, nullable=False, server_default=text("0")),
        Column("news_failures", Integer, nullable=False, server_default=text("0")),
        Column("news_next_try_at", BigInteger),
        Column("signing_key", LargeBinary),
    ):
        op.add_column("fetcher_modules", column)
    op.create_index("fetcher_modules_by_token", "fetcher_modules", ["token_id"])


def _subscriptions() -> None:
    """Moments, interval and name stand in the feed's own row, and are not stored twice."""
    for column in ("last_fetched_at", "next_fetch_at", "fetch_interval_minutes", "name"):
        op.drop_column("rss_subscriptions", column)
    op.execute(
        "ALTER TABLE rss_subscriptions ADD COLUMN group_id BIGINT"
        " REFERENCES subscription_groups (group_id) ON DELETE SET NULL"
    )
    op.add_column("rss_subscriptions", Column("credentials", LargeBinary))
    op.create_index("rss_subscriptions_by_group", "rss_subscriptions", ["group_id"])
    op.create_index(
        "subscription_conflicts_one_open",
        "subscription_conflicts",
        ["subscription_id"],
        unique=True,
        **_where("resolution_status = 'unresolved'"),
    )


def _history() -> None:
    op.create_table(
        "assignment_history",
        Column("id", BIG, primary_key=True, autoincrement=True),
        Column(
            "subscription_id",
            BigInteger,
            ForeignKey("rss_subscriptions.subscription_id", ondelete="CASCADE"),
            nullable=False,
        ),
        Column("at", BigInteger, nullable=False),
        Column("who", Text, nullable=False),
        Column("what", Text, nullable=False),
        Column("why", Text),
        Column("before", Text),
        Column("after", Text),
        Column("conflict_id", BigInteger),
    )
    op.create_index(
        "assignment_history_by_subscription", "assignment_history", ["subscription_id", "id"]
    )


def _due() -> None:
    """Two lists: what waits for a registered fetcher must not be read past by our own workers."""
    op.drop_index("feeds_due", "feeds")
    op.create_index(
        "feeds_due",
        "feeds",
        ["next_visit_at"],
        **_where("next_visit_at IS NOT NULL AND shard >= 0"),
    )
    op.create_index(
        "feeds_due_elsewhere",
        "feeds",
        ["shard", "next_visit_at"],
        **_where("next_visit_at IS NOT NULL AND shard < 0"),
    )


def _one_subscription_per_feed() -> None:
    now = to_micros(datetime.now(UTC))
    for name, description, priority in BUILT_IN:
        _run(
            "INSERT INTO fetcher_modules (name, version, description, base_url, priority,"
            " is_enabled, created_at, updated_at) VALUES (:name, '1.0.0', :description,"
            " :base_url, :priority, true, :now, :now) ON CONFLICT (name) DO NOTHING",
            name=name,
            description=description,
            base_url=f"inproc:{name}",
            priority=priority,
            now=now,
        )
    # An older version may have been at work in between: its feeds have no subscription yet, and
    # where it deleted a feed for good, the subscription is left over.
    _run("DELETE FROM rss_subscriptions WHERE feed_id IS NULL")
    _run(
        "UPDATE rss_subscriptions SET is_active ="
        " (SELECT state <> 'removed' FROM feeds WHERE feeds.id = rss_subscriptions.feed_id)"
    )
    for feed in _rows(
        f"SELECT url_key FROM feeds WHERE url = original_url AND {_WITHOUT_SUBSCRIPTION}"
        " AND url_key IN (SELECT source_key FROM rss_subscriptions)"
    ):
        _release_url(feed.url_key)
    _subscribe_feeds("url = original_url")
    _subscribe_moved_feeds()
    op.drop_index("idx_rss_subscriptions_feed_id", "rss_subscriptions")
    op.create_index("rss_subscriptions_one_per_feed", "rss_subscriptions", ["feed_id"], unique=True)
    _run(
        "UPDATE feeds SET shard = -s.fetcher_id FROM rss_subscriptions s JOIN fetcher_modules m"
        " ON m.fetcher_id = s.fetcher_id WHERE s.feed_id = feeds.id"
        " AND m.base_url NOT LIKE 'inproc:%'"
    )


def _release_url(source_key: bytes) -> None:
    """A subscription whose feed has moved on leaves this URL to the feed that lives there now.

    No two feeds live at one URL: this walks from one to the next and comes to an end.
    """
    for holder in _rows(
        "SELECT s.subscription_id, f.url, f.url_key FROM rss_subscriptions s"
        " JOIN feeds f ON f.id = s.feed_id WHERE s.source_key = :key",
        key=source_key,
    ):
        _release_url(holder.url_key)
        _run(
            "UPDATE rss_subscriptions SET source_url = :url, source_key = :key"
            " WHERE subscription_id = :id",
            url=holder.url,
            key=holder.url_key,
            id=holder.subscription_id,
        )


def _subscribe_moved_feeds() -> None:
    """A moved feed is the subscription of the URL somebody asked for, unless another has that."""
    moved = _rows(
        "SELECT id, url, url_key, original_url FROM feeds WHERE url <> original_url"
        f" AND {_WITHOUT_SUBSCRIPTION} ORDER BY id"
    )
    for feed in moved:
        asked = index_key(canonical(feed.original_url) or feed.original_url)
        taken = _rows(
            "SELECT 1 FROM rss_subscriptions WHERE source_key = :asked"
            " UNION ALL SELECT 1 FROM feeds WHERE url_key = :asked AND id <> :feed",
            asked=asked,
            feed=feed.id,
        )
        source_url, key = (feed.url, feed.url_key) if taken else (feed.original_url, asked)
        _subscribe_feeds("id = :feed", feed=feed.id, source_url=source_url, source_key=key)


_WITHOUT_SUBSCRIPTION = "NOT EXISTS (SELECT 1 FROM rss_subscriptions s WHERE s.feed_id = feeds.id)"
_ON_MIKANANI_HOSTS = " OR ".join(
    f"host = '{domain}' OR host LIKE '%.{domain}'" for domain in ("mikanani.me", "mikanime.tv")
)


def _subscribe_feeds(which: str, **values: Any) -> None:
    source = ":source_url, :source_key" if "source_url" in values else "url, url_key"
    _run(
        "INSERT INTO rss_subscriptions (fetcher_id, feed_id, source_url, source_key, source_type,"
        " is_active, assignment_status, auto_selected, created_at, updated_at)"
        " SELECT (SELECT fetcher_id FROM fetcher_modules WHERE base_url ="
        f" CASE WHEN {_ON_MIKANANI_HOSTS} THEN 'inproc:mikanani' ELSE 'inproc:feed' END),"
        f" id, {source}, 'rss', state <> 'removed', 'auto_assigned', true, created_at, updated_at"
        f" FROM feeds WHERE {which} AND {_WITHOUT_SUBSCRIPTION} ORDER BY id",
        **values,
    )


def downgrade() -> None:
    _give_back_to_workers()
    # An older version knows neither this scope nor whose tokens these are.
    _run("DELETE FROM api_tokens WHERE scope = 'fetcher'")
    op.drop_index("feeds_due_elsewhere", "feeds")
    op.drop_index("feeds_due", "feeds")
    op.create_index("feeds_due", "feeds", ["next_visit_at"], **_where("next_visit_at IS NOT NULL"))
    op.drop_column("visits", "fetcher_id")
    op.drop_table("assignment_history")
    op.drop_index("subscription_conflicts_one_open", "subscription_conflicts")
    for index in ("rss_subscriptions_one_per_feed", "rss_subscriptions_by_group"):
        op.drop_index(index, "rss_subscriptions")
    op.create_index("idx_rss_subscriptions_feed_id", "rss_subscriptions", ["feed_id"])
    for column in ("group_id", "credentials"):
        op.drop_column("rss_subscriptions", column)
    op.add_column("rss_subscriptions", Column("name", Text))
    for moment in ("last_fetched_at", "next_fetch_at"):
        op.add_column("rss_subscriptions", Column(moment, BigInteger))
    op.add_column("rss_subscriptions", Column("fetch_interval_minutes", Integer))
    op.drop_index("fetcher_modules_by_token", "fetcher_modules")
    for column in (
        "token_id", "registered_by", "wants_news", "news_seq", "news_failures",
        "news_next_try_at", "signing_key",
    ):  # fmt: skip
        op.drop_column("fetcher_modules", column)
    op.drop_table("subscription_groups")


def _give_back_to_workers() -> None:
    """An older version knows its own workers only: a feed of nobody's would never be visited."""
    for row in _rows("SELECT DISTINCT host FROM feeds WHERE shard < 0"):
        _run(
            "UPDATE feeds SET shard = :shard WHERE host = :host AND shard < 0",
            shard=shard_of(row.host),
            host=row.host,
        )


def _run(sql: str, **values: Any) -> None:
    op.get_bind().execute(text(sql), values)


def _rows(sql: str, **values: Any) -> list[Any]:
    return list(op.get_bind().execute(text(sql), values))


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}
