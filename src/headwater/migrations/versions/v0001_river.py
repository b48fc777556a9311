"""The bed of the river: feeds, visits, raw fetches, entries, events and who works on them.

Moments are 64-bit microseconds since 1970 UTC; long texts are indexed by 16-byte keys.
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
    LargeBinary,
    Text,
    text,
)

revision = "0001"
down_revision = None

BIG = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows by itself only in a column called INTEGER, which holds 64 bits too.

Where rows are deleted for good it must be told not to give their numbers to others:
`sqlite_autoincrement`. Who is still on the way to the old one would write to the new one."""


def upgrade() -> None:
    _feeds()
    _visits()
    _raw()
    _entries()
    _entry_history()
    _events()
    _workers()
    _access()


def _feeds() -> None:
    op.create_table(
        "feeds",
        Column("id", BIG, primary_key=True, autoincrement=True),
        Column("feed_id", Text, nullable=False, unique=True),
        Column("url", Text, nullable=False),
        Column("url_key", LargeBinary, nullable=False, unique=True),
        Column("original_url", Text, nullable=False),
        Column("host", Text, nullable=False),
        Column("shard", Integer, nullable=False),
        Column("type", Text, nullable=False),
        Column("title", Text),
        Column("home_link", Text),
        Column("state", Text, nullable=False),
        Column("priority", Integer, nullable=False),
        Column("overrides", Text, nullable=False),
        Column("categories", Text, nullable=False),
        *_feed_memory(),
        *_feed_schedule(),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("feeds_due", "feeds", ["next_visit_at"], **_where("next_visit_at IS NOT NULL"))
    op.create_index("feeds_host", "feeds", ["host"])
    op.create_index("feeds_claimed", "feeds", ["claimed_by"], **_where("claimed_by IS NOT NULL"))


def _feed_memory() -> list[Column[object]]:
    return [
        Column("etag", Text),
        Column("last_modified", Text),
        Column("hints", Text, nullable=False),
        Column("identity", Text),
        Column("document_hash", LargeBinary),
        Column("documents_seen", BigInteger, nullable=False),
        Column("document_seen_at", BigInteger),
        Column("asked_whole_at", BigInteger),
        Column("moved_to", Text),
        Column("moved_count", Integer, nullable=False),
        Column("moved_since", BigInteger),
        Column("gone_count", Integer, nullable=False),
        Column("new_today", Integer, nullable=False),
        Column("today", Integer, nullable=False),
        Column("last_address", Text),
    ]


def _feed_schedule() -> list[Column[object]]:
    return [
        Column("interval_sec", Double, nullable=False),
        Column("scheduled_at", BigInteger),
        Column("next_visit_at", BigInteger),
        Column("fence", BigInteger, nullable=False),
        Column("claimed_by", Text),
        Column("last_decision_at", BigInteger),
        Column("reason", Text),
        Column("retry_after_sec", Double),
        Column("ewma_sec", Double),
        Column("recent_published", Text, nullable=False),
        Column("rhythm", LargeBinary),
        Column("failures", Integer, nullable=False),
        Column("failing_told", Boolean, nullable=False),
        Column("last_fetch_at", BigInteger),
        Column("last_success_at", BigInteger),
        Column("last_outcome", Text),
        Column("last_status", Integer),
        Column("last_error", Text),
        Column("new_entries_last_fetch", Integer, nullable=False),
    ]


def _visits() -> None:
    op.create_table(
        "visits",
        _feed_reference(primary_key=True),
        Column("scheduled_at", BigInteger, primary_key=True),
        Column("started_at", BigInteger, nullable=False),
        Column("finished_at", BigInteger, nullable=False),
        Column("worker", Text, nullable=False),
        Column("url", Text, nullable=False),
        Column("outcome", Text, nullable=False),
        Column("status", Integer),
        Column("error", Text),
        Column("error_detail", Text),
        Column("fetch_id", Text),
        Column("conditional", Boolean, nullable=False),
        Column("hops", Text),
        Column("request_headers", Text),
        Column("response_headers", Text),
        Column("address", Text),
        Column("bytes_in", BigInteger, nullable=False),
        Column("latency_ms", Double, nullable=False),
        Column("entries_in_document", Integer),
        Column("new_entries", Integer, nullable=False),
        Column("updated_entries", Integer, nullable=False),
        Column("limits", Text),
        Column("problems", Text),
        Column("interval_before", Double, nullable=False),
        Column("interval_after", Double, nullable=False),
        Column("next_at", BigInteger),
        Column("reason_code", Text, nullable=False),
        Column("reason", Text, nullable=False),
        Column("inputs", Text, nullable=False),
    )


def _raw() -> None:
    op.create_table(
        "raw_fetches",
        Column("fetch_id", Text, primary_key=True),
        _feed_reference(),
        Column("fetched_at", BigInteger, nullable=False),
        Column("url", Text, nullable=False),
        Column("http_status", Integer, nullable=False),
        Column("request_headers", Text, nullable=False),
        Column("response_headers", Text, nullable=False),
        Column("storage", Text, nullable=False),
        Column("blob_key", Text, nullable=False),
        Column("body_sha256", Text, nullable=False),
        Column("content_type", Text),
        Column("content_length", BigInteger, nullable=False),
        Column("truncated", Boolean, nullable=False),
        Column("error", Text),
        Column("keep", Boolean, nullable=False),
        Column("expired_at", BigInteger),
    )
    op.create_index("raw_fetches_by_feed", "raw_fetches", ["feed_id", "fetched_at"])
    op.create_index("raw_fetches_by_blob", "raw_fetches", ["blob_key"])
    op.create_table(
        "blobs",
        Column("body_sha256", Text, primary_key=True),
        Column("generation", BigInteger, nullable=False),
        Column("dying_since", BigInteger),
    )
    op.create_table(
        "quarantine",
        Column("body_sha256", Text, primary_key=True),
        Column("crashes", Integer, nullable=False),
        Column("last_error", Text, nullable=False),
        Column("last_at", BigInteger, nullable=False),
    )


def _entries() -> None:
    op.create_table(
        "entries",
        _feed_reference(primary_key=True),
        Column("uid_key", LargeBinary, primary_key=True),
        Column("entry_uid", Text, nullable=False),
        Column("canonical_link", Text),
        Column("link_key", LargeBinary),
        Column("title", Text),
        Column("summary", Text),
        Column("content", Text),
        Column("authors", Text, nullable=False),
        Column("categories", Text, nullable=False),
        Column("enclosures", Text, nullable=False),
        Column("details", Text, nullable=False),
        Column("published", BigInteger),
        Column("updated", BigInteger),
        Column("sort_at", BigInteger, nullable=False),
        Column("content_hash", Text, nullable=False),
        Column("first_seen", BigInteger, nullable=False),
        Column("version", Integer, nullable=False),
        Column("present_since", BigInteger),
        Column("seen_before", BigInteger, nullable=False),
        Column("last_seen", BigInteger, nullable=False),
        *_raw_reference(),
    )
    op.create_index("entries_by_uid", "entries", ["uid_key"])
    op.create_index("entries_by_published", "entries", ["feed_id", "published"])
    op.create_index("entries_by_first_seen", "entries", ["feed_id", "first_seen"])
    op.create_index("entries_by_time", "entries", ["first_seen"])
    op.create_index(
        "entries_present", "entries", ["feed_id"], **_where("present_since IS NOT NULL")
    )


def _entry_history() -> None:
    op.create_table(
        "entry_versions",
        _feed_reference(primary_key=True),
        Column("uid_key", LargeBinary, primary_key=True),
        Column("version", Integer, primary_key=True),
        Column("replaced_at", BigInteger, nullable=False),
        Column("content_hash", Text, nullable=False),
        Column("snapshot", Text, nullable=False),
        *_raw_reference(),
    )
    op.create_table(
        "entry_aliases",
        _feed_reference(primary_key=True),
        Column("alias_key", LargeBinary, primary_key=True),
        Column("alias_uid", Text, nullable=False),
        Column("uid_key", LargeBinary, nullable=False),
        Column("fetch_id", Text, nullable=False),
        Column("made_at", BigInteger, nullable=False),
        Column("undone_at", BigInteger),
    )
    op.create_index("entry_aliases_by_entry", "entry_aliases", ["feed_id", "uid_key"])


def _events() -> None:
    op.create_table(
        "events",
        Column("seq", BIG, primary_key=True, autoincrement=False),
        Column("event_id", Text, nullable=False),
        Column("type", Text, nullable=False),
        Column("at", BigInteger, nullable=False),
        Column("feed_id", Text),
        Column("payload", Text, nullable=False),
    )
    counters = op.create_table(
        "counters",
        Column("name", Text, primary_key=True),
        Column("value", BigInteger, nullable=False),
    )
    op.bulk_insert(counters, [{"name": "events", "value": 0}])


def _workers() -> None:
    op.create_table(
        "workers",
        Column("worker_id", Text, primary_key=True),
        Column("host", Text, nullable=False),
        Column("pid", Integer, nullable=False),
        Column("started_at", BigInteger, nullable=False),
        Column("heartbeat_at", BigInteger, nullable=False),
    )
    shards = op.create_table(
        "shards",
        Column("shard", Integer, primary_key=True, autoincrement=False),
        Column("worker_id", Text),
        Column("until", BigInteger, nullable=False),
    )
    op.bulk_insert(shards, [{"shard": n, "worker_id": None, "until": 0} for n in range(1024)])


def _access() -> None:
    op.create_table(
        "api_tokens",
        Column("id", BIG, primary_key=True, autoincrement=True),
        Column("name", Text, nullable=False),
        Column("scope", Text, nullable=False),
        Column("token_hash", LargeBinary, nullable=False, unique=True),
        Column("created_at", BigInteger, nullable=False),
        Column("last_used_at", BigInteger),
        Column("revoked_at", BigInteger),
    )
    op.create_table(
        "idempotency",
        Column("key_hash", LargeBinary, primary_key=True),
        Column("request_hash", LargeBinary, nullable=False),
        Column("started_at", BigInteger, nullable=False),
        Column("resource", Text),
        Column("status", Integer),
        Column("body", Text),
    )


def _feed_reference(*, primary_key: bool = False) -> Column[object]:
    return Column(
        "feed_id",
        BigInteger,
        ForeignKey("feeds.id", ondelete="CASCADE"),
        primary_key=primary_key,
        nullable=False,
    )


def _raw_reference() -> list[Column[object]]:
    return [
        Column("fetch_id", Text, nullable=False),
        Column("frag_offset", BigInteger),
        Column("frag_length", BigInteger),
    ]


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


def downgrade() -> None:
    for table in (
        "idempotency", "api_tokens", "shards", "workers", "counters", "events", "entry_aliases",
        "entry_versions", "entries", "quarantine", "blobs", "raw_fetches", "visits", "feeds",
    ):  # fmt: skip
        op.drop_table(table)
