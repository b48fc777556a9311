"""Which blob a body is kept in: never one that is going."""

from datetime import UTC, datetime

from headwater.adapters.database import SqlDatabase
from headwater.feeds.raw import raw_rows
from headwater.feeds.raw.raw_fetch import blob_key

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
BODY = "ab" * 32


async def test_a_body_whose_blob_is_going_gets_another_one(database: SqlDatabase) -> None:
    async with database.write() as tx:
        assert await raw_rows.lock_blobs(tx, [BODY], 1) == {BODY: blob_key(BODY, 1)}
        assert await raw_rows.list_blob_keys(tx, [BODY], 2) == {BODY: blob_key(BODY, 1)}
        assert await raw_rows.mark_blobs_dying(tx, [BODY], NOON) == [blob_key(BODY, 1)]
    async with database.write() as tx:
        assert await raw_rows.list_blob_keys(tx, [BODY], 2) == {BODY: blob_key(BODY, 2)}
        assert await raw_rows.lock_blobs(tx, [BODY], 2) == {BODY: blob_key(BODY, 2)}
        assert await raw_rows.list_blob_keys(tx, [BODY], 3) == {BODY: blob_key(BODY, 2)}
        assert await raw_rows.list_dying_blobs(tx) == []
