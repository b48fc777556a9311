"""Which blob a body is kept in: never one that is going."""

from datetime import UTC, datetime

from headwater.adapters.database import SqlDatabase
from headwater.fetch import store
from headwater.fetch.raw import blob_key

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
BODY = "ab" * 32


async def test_a_body_whose_blob_is_going_gets_another_one(database: SqlDatabase) -> None:
    async with database.write() as tx:
        assert await store.hold_blobs(tx, [BODY], 1) == {BODY: blob_key(BODY, 1)}
        assert await store.blob_keys(tx, [BODY], 2) == {BODY: blob_key(BODY, 1)}
        assert await store.doom(tx, [BODY], NOON) == [blob_key(BODY, 1)]
    async with database.write() as tx:
        assert await store.blob_keys(tx, [BODY], 2) == {BODY: blob_key(BODY, 2)}
        assert await store.hold_blobs(tx, [BODY], 2) == {BODY: blob_key(BODY, 2)}
        assert await store.blob_keys(tx, [BODY], 3) == {BODY: blob_key(BODY, 2)}
        assert await store.dying_blobs(tx) == []
