"""Migrations in both directions, and the refusal to work on a schema we do not know."""

import asyncio
from pathlib import Path

import pytest

from headwater.adapters import alembic_runner, schema
from headwater.adapters.database import SqlDatabase, open_database
from headwater.core.errors import UnknownSchema
from headwater.core.ports import SqlValue, Transaction, placeholders
from headwater.core.values.instant import to_micros
from headwater.core.values.url import host_of, shard_of
from headwater.feeds.feed_rows import url_key
from headwater.subscriptions.fetchers.builtin import BUILTINS
from headwater.subscriptions.fetchers.fetcher_rows import has_all_builtins, list_fetchers
from headwater.subscriptions.subscription_rows import get_subscription_of_feed

TABLES = {
    "api_tokens",
    "assignment_history",
    "blobs",
    "counters",
    "day_totals",
    "dead_letters",
    "entries",
    "entry_aliases",
    "entry_versions",
    "events",
    "feeds",
    "downloads",
    "fetcher_days",
    "fetcher_modules",
    "gaps",
    "idempotency",
    "latency_days",
    "library_files",
    "personal_categories",
    "personal_items",
    "quarantine",
    "raw_fetches",
    "reader_changes",
    "reader_tokens",
    "readers",
    "releases",
    "rss_subscriptions",
    "shards",
    "shows",
    "sinks",
    "subscription_conflicts",
    "subscription_days",
    "subscription_groups",
    "trackings",
    "visits",
    "workers",
}


async def tables(url: str) -> set[str]:
    database = open_database(url)
    async with database.read() as view:
        names = await view.rows(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
            if database.dialect == "sqlite"
            else "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'"
        )
    await database.close()
    return {row.name for row in names} - {"alembic_version", "sqlite_sequence"}


async def test_up_down_and_up_again(empty_database_url: str) -> None:
    database = open_database(empty_database_url)
    assert await schema.find_schema(database) is None
    await schema.upgrade_schema(database)
    assert await tables(empty_database_url) == TABLES
    assert await schema.find_schema(database) == schema.newest_schema()
    await schema.downgrade_schema(database, "0001")
    assert "rss_subscriptions" not in await tables(empty_database_url)
    await schema.downgrade_schema(database, "base")
    assert await tables(empty_database_url) == set()
    await schema.upgrade_schema(database)
    assert await tables(empty_database_url) == TABLES
    await database.close()


def test_the_schemas_we_know_are_those_there_is_a_way_to() -> None:
    """We read them from the names of files, Alembic from what stands in the files."""
    assert list(schema.known_schemas()) == alembic_runner.revisions(schema.MIGRATIONS)
    assert schema.known_schemas()[:2] == ("0001", "0002")


async def test_two_migrations_at_the_same_moment_are_one(empty_database_url: str) -> None:
    pools = [open_database(empty_database_url) for _ in range(2)]
    await asyncio.gather(*(schema.upgrade_schema(pool) for pool in pools))
    assert await schema.find_schema(pools[0]) == schema.newest_schema()
    for pool in pools:
        await pool.close()


async def test_an_empty_database_is_refused_with_what_to_do(empty_database_url: str) -> None:
    database = open_database(empty_database_url)
    with pytest.raises(UnknownSchema, match="headwater migrate"):
        await schema.check_schema(database)
    await database.close()


async def test_a_schema_from_the_future_is_refused(database_url: str) -> None:
    database = open_database(database_url)
    await schema.check_schema(database)
    async with database.write() as tx:
        await tx.run("UPDATE alembic_version SET version_num = '9999'")
    assert await schema.is_schema_too_new(database)
    with pytest.raises(UnknownSchema, match="does not know") as told:
        await schema.check_schema(database)
    assert told.value.facts == {"found": "9999", "wanted": schema.newest_schema()}
    await database.close()


async def test_a_file_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/theirs.db"
    database = open_database(url)
    async with database.write() as tx:
        await tx.run("CREATE TABLE recipes (title TEXT)")
    assert await schema.is_schema_too_new(database)
    with pytest.raises(UnknownSchema, match="another program"):
        await schema.check_schema(database)
    await database.close()
    assert await tables(url) == {"recipes"}


async def test_the_indexes_that_lists_need_are_there(database_url: str) -> None:
    database = open_database(database_url)
    async with database.read() as view:
        rows = await view.rows(
            "SELECT name FROM sqlite_master WHERE type = 'index'"
            if database.dialect == "sqlite"
            else "SELECT indexname AS name FROM pg_indexes WHERE schemaname = 'public'"
        )
    await database.close()
    assert {
        "idx_fetcher_modules_base_url",
        "idx_rss_subscriptions_fetcher_id",
        "idx_rss_subscriptions_is_active",
        "idx_subscriptions_conflicts_status",
        "entries_by_uid",
        "entries_by_published",
        "entries_by_first_seen",
        "raw_fetches_by_feed",
        "feeds_due",
    } <= {row.name for row in rows}


MOMENT = 1_767_614_400_000_000
"""2026-01-05 12:00 UTC."""


async def a_feed(
    tx: Transaction,
    name: str,
    url: str,
    *,
    original_url: str | None = None,
    state: str = "active",
    shard: int = 7,
) -> None:
    """As the version before subscriptions wrote one."""
    row: dict[str, SqlValue] = {
        "feed_id": name,
        "url": url,
        "url_key": url_key(url),
        "original_url": original_url or url,
        "host": host_of(url),
        "shard": shard,
        "type": "rss",
        "state": state,
        "priority": 50,
        "overrides": '{"title":"Mine","interval_sec":5400.0}',
        "categories": "[]",
        "hints": "{}",
        "recent_published": "[]",
        "interval_sec": 900.0,
        "failing_told": False,
        "created_at": MOMENT,
        "updated_at": MOMENT + 1,
    }
    row |= dict.fromkeys(
        (
            "documents_seen", "moved_count", "gone_count", "new_today", "today", "fence",
            "failures", "new_entries_last_fetch",
        ),
        0,
    )  # fmt: skip
    await tx.run(
        f"INSERT INTO feeds ({', '.join(row)}) VALUES ({placeholders(len(row))})", *row.values()
    )


async def subscribed(database: SqlDatabase) -> dict[str, tuple[str, str, bool]]:
    """By feed: the source URL, who fetches it, and whether it is active."""
    async with database.read() as view:
        rows = await view.rows(
            "SELECT f.feed_id, s.source_url, m.name, s.is_active, s.source_key"
            " FROM rss_subscriptions s JOIN feeds f ON f.id = s.feed_id"
            " JOIN fetcher_modules m ON m.fetcher_id = s.fetcher_id"
        )
    for row in rows:
        assert row.source_key == url_key(row.source_url)
    return {row.feed_id: (row.source_url, row.name, bool(row.is_active)) for row in rows}


async def test_feeds_that_were_there_get_subscriptions(empty_database_url: str) -> None:
    database = open_database(empty_database_url)
    await schema.upgrade_schema(database, "0002")
    async with database.write() as tx:
        await a_feed(tx, "plain", "https://a.example/feed")
        await a_feed(tx, "removed", "https://b.example/feed", state="removed")
        await a_feed(tx, "paused", "https://c.example/feed", state="paused")
        await a_feed(tx, "anime", "https://mikanani.me/RSS/Bangumi?bangumiId=3215")
        await a_feed(tx, "mirror", "https://www.mikanime.tv/rss")
        await a_feed(tx, "liar", "https://evilmikanani.me/mikanani.me?mikanani.me")
        await a_feed(tx, "moved", "https://new.example/", original_url="https://old.example/")
        await a_feed(tx, "left", "https://there.example/", original_url="https://here.example/")
        await a_feed(tx, "settled", "https://here.example/")
    await schema.upgrade_schema(database)
    assert await subscribed(database) == {
        "plain": ("https://a.example/feed", "feed", True),
        "removed": ("https://b.example/feed", "feed", False),
        "paused": ("https://c.example/feed", "feed", True),
        "anime": ("https://mikanani.me/RSS/Bangumi?bangumiId=3215", "mikanani", True),
        "mirror": ("https://www.mikanime.tv/rss", "mikanani", True),
        "liar": ("https://evilmikanani.me/mikanani.me?mikanani.me", "feed", True),
        "moved": ("https://old.example/", "feed", True),
        "left": ("https://there.example/", "feed", True),
        "settled": ("https://here.example/", "feed", True),
    }
    async with database.read() as view:
        plain = await get_subscription_of_feed(view, "plain")
    assert (plain.name, plain.fetch_interval_minutes) == ("Mine", 90)
    assert (plain.assignment_status, plain.auto_selected) == ("auto_assigned", True)
    assert (plain.assigned_at, to_micros(plain.created_at)) == (None, MOMENT)
    await database.close()


async def test_an_older_version_may_work_in_between(empty_database_url: str) -> None:
    """Down, feeds added, removed and deleted there, and up again: nothing is lost or doubled."""
    database = open_database(empty_database_url)
    await schema.upgrade_schema(database, "0002")
    async with database.write() as tx:
        await a_feed(tx, "stays", "https://a.example/")
        await a_feed(tx, "goes", "https://b.example/")
        await a_feed(tx, "deleted", "https://c.example/")
        await a_feed(tx, "moved", "https://new.example/", original_url="https://old.example/")
    await schema.upgrade_schema(database)
    before = await subscribed(database)
    await schema.downgrade_schema(database, "0002")
    async with database.write() as tx:
        await tx.run("UPDATE feeds SET state = 'removed' WHERE feed_id = 'goes'")
        await tx.run("DELETE FROM feeds WHERE feed_id = 'deleted'")
        await a_feed(tx, "came", "https://d.example/")
        await a_feed(tx, "came to the old place", "https://old.example/")
    await schema.upgrade_schema(database)
    assert before["moved"] == ("https://old.example/", "feed", True)
    assert await subscribed(database) == {
        "stays": ("https://a.example/", "feed", True),
        "goes": ("https://b.example/", "feed", False),
        "moved": ("https://new.example/", "feed", True),
        "came": ("https://d.example/", "feed", True),
        "came to the old place": ("https://old.example/", "feed", True),
    }
    await database.close()


async def test_feeds_of_a_registered_fetcher_go_to_workers_when_it_is_not_known(
    database_url: str,
) -> None:
    database = open_database(database_url)
    async with database.write() as tx:
        await a_feed(tx, "ours", "https://a.example/")
        await a_feed(tx, "theirs", "https://a.example/theirs")
        (row,) = await tx.rows(
            "INSERT INTO fetcher_modules (name, version, base_url, priority, is_enabled,"
            " created_at, updated_at) VALUES ('remote', '1', 'https://f.example', 50, true, 1, 1)"
            " RETURNING fetcher_id"
        )
        for name in ("ours", "theirs"):
            await tx.run(
                "INSERT INTO rss_subscriptions (fetcher_id, feed_id, source_url, source_key,"
                " source_type, is_active, assignment_status, auto_selected, created_at,"
                " updated_at) SELECT ?, id, url, url_key, 'rss', true, 'assigned', false, 1, 1"
                " FROM feeds WHERE feed_id = ?",
                row.fetcher_id if name == "theirs" else 1,
                name,
            )
        await tx.run("UPDATE feeds SET shard = ? WHERE feed_id = 'theirs'", -row.fetcher_id)
    await schema.downgrade_schema(database, "0002")
    ours = shard_of("a.example")
    assert await shards_by_feed(database) == {"ours": 7, "theirs": ours}
    await schema.upgrade_schema(database)
    assert await shards_by_feed(database) == {"ours": 7, "theirs": -row.fetcher_id}
    await database.close()


async def shards_by_feed(database: SqlDatabase) -> dict[str, int]:
    async with database.read() as view:
        return {row.feed_id: row.shard for row in await view.rows("SELECT * FROM feeds")}


async def test_the_built_in_fetchers_are_there_from_the_start(database: SqlDatabase) -> None:
    async with database.read() as view:
        found = await list_fetchers(view)
        assert await has_all_builtins(view, BUILTINS)
    assert [(each.name, each.base_url, each.priority, each.is_enabled) for each in found] == [
        ("feed", "inproc:feed", 10, True),
        ("mikanani", "inproc:mikanani", 100, True),
    ]
