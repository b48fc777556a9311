"""Migrations in both directions, and the refusal to work on a schema we do not know."""

import asyncio

import pytest

from headwater.adapters import schema
from headwater.adapters.database import open_database
from headwater.errors import UnknownSchema

TABLES = {
    "api_tokens",
    "blobs",
    "counters",
    "entries",
    "entry_aliases",
    "entry_versions",
    "events",
    "feeds",
    "fetcher_modules",
    "idempotency",
    "quarantine",
    "raw_fetches",
    "rss_subscriptions",
    "shards",
    "subscription_conflicts",
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
    assert await schema.found(database) is None
    await schema.upgrade(database)
    assert await tables(empty_database_url) == TABLES
    assert await schema.found(database) == schema.newest()
    await schema.downgrade(database, "0001")
    assert "rss_subscriptions" not in await tables(empty_database_url)
    await schema.downgrade(database, "base")
    assert await tables(empty_database_url) == set()
    await schema.upgrade(database)
    assert await tables(empty_database_url) == TABLES
    await database.close()


async def test_two_migrations_at_the_same_moment_are_one(empty_database_url: str) -> None:
    pools = [open_database(empty_database_url) for _ in range(2)]
    await asyncio.gather(*(schema.upgrade(pool) for pool in pools))
    assert await schema.found(pools[0]) == schema.newest()
    for pool in pools:
        await pool.close()


async def test_an_empty_database_is_refused_with_what_to_do(empty_database_url: str) -> None:
    database = open_database(empty_database_url)
    with pytest.raises(UnknownSchema, match="headwater migrate"):
        await schema.require_known(database)
    await database.close()


async def test_a_schema_from_the_future_is_refused(database_url: str) -> None:
    database = open_database(database_url)
    await schema.require_known(database)
    async with database.write() as tx:
        await tx.run("UPDATE alembic_version SET version_num = '9999'")
    assert await schema.is_newer_than_we_know(database)
    with pytest.raises(UnknownSchema, match="does not know") as told:
        await schema.require_known(database)
    assert told.value.facts == {"found": "9999", "wanted": schema.newest()}
    await database.close()


async def test_the_indexes_of_the_seeds_are_there(database_url: str) -> None:
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
