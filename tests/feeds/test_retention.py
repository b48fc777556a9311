"""What is kept for ever, what may go, and that nothing goes while somebody relies on it."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import orjson
import pytest

from headwater.core.errors import StorageError
from headwater.core.values.ids import FeedPk, FetchId
from headwater.feeds.raw import raw_rows
from headwater.feeds.raw.archive import archive_group
from headwater.feeds.raw.raw_fetch import RawFetch, blob_key
from headwater.feeds.retention import delete_unused_blobs
from headwater.settings import Settings
from headwater.wiring.housekeeping import housekeeping_once
from tests.support.engine_parts import EngineParts
from tests.support.origin import Post, Reply
from tests.support.visits import River

ONE, TWO = Post("1", "One"), Post("2", "Two")


def kept(**settings: int) -> Settings:
    return Settings(data_dir=Path("unused"), **settings)  # type: ignore[arg-type]


async def living(river: River) -> list[str]:
    rows = await river.rows("SELECT fetch_id FROM raw_fetches WHERE expired_at IS NULL")
    return [row.fetch_id for row in rows]


async def test_payloads_that_brought_news_stay_and_of_the_others_the_newest(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    feed.validators = "none"
    await river.add(feed.url)
    for number in range(5):
        feed.answer_next(Reply(500, f"error {number}".encode()))
        await river.visit()
    feed.publish(TWO)
    await river.visit()
    await housekeeping_once(river.engine.services, kept(raw_keep_unchanged=2))
    rows = await river.rows(
        "SELECT http_status, content_length, expired_at FROM raw_fetches ORDER BY fetched_at"
    )
    assert [(row.http_status, row.expired_at is None) for row in rows] == [
        (200, True),
        (500, False),
        (500, False),
        (500, False),
        (500, True),
        (500, True),
        (200, True),
    ]


async def test_expired_bytes_are_gone_and_the_rest_is_whole(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    for number in range(3):
        feed.answer_next(Reply(500, f"error {number}".encode()))
        await river.visit()
    await housekeeping_once(river.engine.services, kept(raw_keep_unchanged=1))
    rows = await river.rows(
        "SELECT blob_key, body_sha256, expired_at FROM raw_fetches ORDER BY fetched_at"
    )
    assert [row.expired_at is None for row in rows] == [True, False, False, True]
    for row in rows:
        body = await river.engine.blobs.get(row.blob_key)
        if row.expired_at is None:
            assert body is not None
            assert sha256(body).hexdigest() == row.body_sha256
        else:
            assert body is None


async def test_a_body_that_another_fetch_still_needs_is_not_deleted(river: River) -> None:
    """Content-addressed: an identical error page twice is one blob."""
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    for _ in range(3):
        feed.answer_next(Reply(500, b"the same page"))
        await river.visit()
    await housekeeping_once(river.engine.services, kept(raw_keep_unchanged=1))
    assert len(await living(river)) == 2
    rows = await river.rows("SELECT DISTINCT blob_key FROM raw_fetches WHERE http_status = 500")
    assert len(rows) == 1
    assert await river.engine.blobs.get(rows[0].blob_key) == b"the same page"


async def test_an_operator_may_let_old_payloads_go(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    await river.clock.advance(3 * 86_400)
    feed.publish(TWO)
    await river.visit()
    await housekeeping_once(river.engine.services, kept(raw_keep_days=2))
    assert len(await living(river)) == 1
    assert await river.count("entries") == 2


async def test_a_payload_that_brings_an_entry_after_it_was_found_to_be_surplus_stays(
    river: River,
) -> None:
    """Somebody reads it again between the look and the deed."""
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    for number in range(3):
        feed.answer_next(Reply(500, f"error {number}".encode()))
        await river.visit()
    rows = await river.rows("SELECT fetch_id FROM raw_fetches ORDER BY fetched_at")
    first, one, two, newest = (row.fetch_id for row in rows)
    engine = river.engine
    async with engine.database.read() as view:
        found = await raw_rows.list_expirable(view, unchanged_kept=1, kept_before=None)
    assert set(found.unneeded) == {one, two}
    async with engine.database.write() as tx:
        await raw_rows.set_kept(tx, [one])
        await raw_rows.set_expired(tx, found, engine.clock.now())
    assert set(await living(river)) == {first, one, newest}


async def test_a_blob_that_is_used_again_after_it_was_found_unused_stays(river: River) -> None:
    """The same content came back between the look and the deed."""
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    (row,) = await river.rows("SELECT id FROM feeds")
    body, engine = b"wanted again", river.engine
    digest = sha256(body).hexdigest()
    async with engine.database.write() as tx:
        await raw_rows.lock_blobs(tx, [digest], generation=7)
    async with engine.database.read() as view:
        assert await raw_rows.list_unused_blobs(view) == [digest]
    await archive_group(engine.database, engine.blobs, [raw_fetch(FeedPk(row.id), body)])
    async with engine.database.write() as tx:
        assert await raw_rows.mark_blobs_dying(tx, [digest], engine.clock.now()) == []
        assert await raw_rows.list_dying_blobs(tx) == []


async def test_content_that_returns_while_its_blob_is_being_deleted_gets_a_new_key(
    river: River,
) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    (row,) = await river.rows("SELECT id FROM feeds")
    body = b"comes and goes"
    engine = river.engine
    async with engine.database.write() as tx:
        digest = sha256(body).hexdigest()
        await raw_rows.lock_blobs(tx, [digest], generation=7)
        await raw_rows.mark_blobs_dying(tx, [digest], engine.clock.now())
    await archive_group(engine.database, engine.blobs, [raw_fetch(FeedPk(row.id), body)])
    assert await delete_unused_blobs(engine.feeds) == 0
    (raw,) = await river.rows("SELECT blob_key FROM raw_fetches WHERE http_status = 599")
    assert raw.blob_key != blob_key(sha256(body).hexdigest(), 7)
    assert await engine.blobs.get(raw.blob_key) == body


async def test_a_deletion_between_the_put_and_the_row_is_noticed(river: River) -> None:
    """The window in which a blob is on disk and nobody refers to it yet."""
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    (row,) = await river.rows("SELECT id FROM feeds")
    body = b"deleted in between"
    engine = river.engine
    async with engine.database.write() as tx:
        await raw_rows.lock_blobs(tx, [sha256(body).hexdigest()], generation=7)
    engine.blobs = Interrupted(engine)
    await archive_group(engine.database, engine.blobs, [raw_fetch(FeedPk(row.id), body)])
    (raw,) = await river.rows("SELECT blob_key FROM raw_fetches WHERE http_status = 599")
    assert await engine.blobs.get(raw.blob_key) == body


class Interrupted:
    """Blobs whose first put is followed at once by a whole round of retention."""

    def __init__(self, engine: EngineParts) -> None:
        self._engine, self._inner = engine, engine.blobs
        self.storage = engine.blobs.storage
        self._first = True

    async def put_many(self, blobs: Sequence[tuple[str, bytes]]) -> None:
        await self._inner.put_many(blobs)
        if self._first:
            self._first = False
            assert await delete_unused_blobs(self._engine.feeds) == 1

    async def get(self, key: str) -> bytes | None:
        return await self._inner.get(key)

    async def delete(self, keys: Sequence[str]) -> None:
        await self._inner.delete(keys)


def raw_fetch(feed: FeedPk, body: bytes) -> RawFetch:
    return RawFetch(
        fetch_id=FetchId("a-fetch"),
        feed=feed,
        fetched_at=1,
        url="http://127.0.0.1/",
        status=599,
        request_headers=(),
        response_headers=(),
        body=body,
        body_sha256=sha256(body).hexdigest(),
        truncated=False,
        error=None,
    )


async def test_old_visits_are_forgotten_and_the_newest_kept(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    for _ in range(12):
        await river.visit()
    await housekeeping_once(river.engine.services, kept(visits_keep=10))
    rows = await river.rows("SELECT status, inputs FROM visits ORDER BY scheduled_at")
    assert [row.status for row in rows] == [304] * 10
    assert all(orjson.loads(row.inputs) for row in rows)


async def test_a_store_that_deletes_nothing_does_not_keep_history_from_being_forgotten(
    river: River, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bucket of which we may only write."""

    async def refuse(_: object, __: Sequence[str]) -> None:
        raise StorageError("Access denied.", reason="EACCES")

    monkeypatch.setattr(type(river.engine.blobs), "delete", refuse)
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    for number in range(12):
        feed.answer_next(Reply(500, f"error {number}".encode()))
        await river.visit()
    await housekeeping_once(river.engine.services, kept(raw_keep_unchanged=1, visits_keep=10))
    assert len(await river.rows("SELECT status FROM visits")) == 10
