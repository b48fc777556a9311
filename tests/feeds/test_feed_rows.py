"""Following and letting go, on both databases."""

from datetime import UTC, datetime, timedelta

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import DuplicateUrl, NotFound
from headwater.core.values.ids import FeedId
from headwater.core.values.instant import to_micros
from headwater.feeds import feed_rows
from headwater.feeds.feed import Feed, FeedOptions
from headwater.feeds.overrides import Overrides

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
WISH = FeedOptions(70, ("a", "b"), Overrides("Mine", min_interval_sec=600, verify_tls=False))


async def followed(
    database: SqlDatabase,
    url: str = "https://a.example/feed",
    wish: FeedOptions = WISH,
    *,
    feed_id: str = "id of a",
    now: datetime = NOON,
) -> feed_rows.FollowedFeed:
    async with database.write() as tx:
        return await feed_rows.insert_or_restore_feed(
            tx, url, wish, feed_id=FeedId(feed_id), interval_sec=900, now=now, visit_at=now
        )


async def feed_of(database: SqlDatabase, feed_id: str = "id of a") -> Feed:
    async with database.read() as view:
        return await feed_rows.get_feed(view, feed_id)


async def claim(database: SqlDatabase, fence: int = 1) -> None:
    async with database.write() as tx:
        await tx.run(
            "UPDATE feeds SET claimed_by = 'w', fence = ?, next_visit_at = ?",
            fence,
            to_micros(NOON + timedelta(minutes=2)),
        )


async def fence_of(database: SqlDatabase) -> int:
    async with database.read() as view:
        row = await view.row("SELECT fence FROM feeds")
    assert row is not None
    return int(row.fence)


async def test_a_followed_feed_is_due_with_its_wish(database: SqlDatabase) -> None:
    made = await followed(database)
    feed = await feed_of(database)
    assert (made.pk, made.id, made.revived) == (feed.pk, "id of a", False)
    assert (feed.url, feed.original_url) == ("https://a.example/feed", "https://a.example/feed")
    assert (feed.title, feed.publisher_title) == ("Mine", None)
    assert (feed.priority, feed.categories, feed.state) == (70, ("a", "b"), "active")
    assert feed.overrides == Overrides(title="Mine", min_interval_sec=600, verify_tls=False)
    assert (feed.schedule.next_visit_at, feed.schedule.interval_sec) == (NOON, 900)
    assert (feed.created_at, feed.stats.documents_seen) == (NOON, 0)


@pytest.mark.parametrize(
    "spelling",
    ["https://a.example/feed", "HTTPS://A.EXAMPLE:443/feed", "https://a.example/./feed"],
)
async def test_one_url_is_followed_once_however_it_is_spelt(
    database: SqlDatabase, spelling: str
) -> None:
    await followed(database)
    with pytest.raises(DuplicateUrl) as refused:
        await followed(database, spelling, feed_id="another")
    assert refused.value.facts["feed_id"] == "id of a"


async def test_a_long_url_is_no_trouble_for_an_index(database: SqlDatabase) -> None:
    long = "https://a.example/" + "x" * 4000
    await followed(database, long, feed_id="long")
    assert (await feed_of(database, "long")).url == long


async def test_a_removed_feed_comes_back_under_its_own_id(database: SqlDatabase) -> None:
    await followed(database)
    async with database.write() as tx:
        await tx.run(
            "UPDATE feeds SET failures = 4, gone_count = 2, documents_seen = 9, etag = 'e'"
        )
        await feed_rows.set_removed(tx, (await feed_rows.get_feed(tx, "id of a")).pk, NOON)
    renamed = FeedOptions(overrides=Overrides("New name"))
    back = await followed(database, wish=renamed, feed_id="unused", now=LATER)
    assert (back.id, back.revived) == ("id of a", True)
    feed = await feed_of(database)
    assert (feed.state, feed.title, feed.priority) == ("active", "New name", 50)
    assert (feed.stats.failures, feed.stats.documents_seen, feed.validators.etag) == (0, 9, "e")
    assert (feed.schedule.next_visit_at, feed.created_at) == (LATER, NOON)


async def test_removing_and_pausing_fence_off_a_worker_on_its_way(database: SqlDatabase) -> None:
    await followed(database)
    for stop in ("pause", "remove"):
        await claim(database, fence=5)
        async with database.write() as tx:
            there = await feed_rows.get_feed(tx, "id of a")
            if stop == "pause":
                await feed_rows.set_paused(tx, there, NOON)
            else:
                await feed_rows.set_removed(tx, there.pk, NOON)
        feed = await feed_of(database)
        assert (feed.schedule.next_visit_at, feed.schedule.claimed) == (None, False)
        assert await fence_of(database) == 6


async def test_a_visit_under_way_is_neither_moved_nor_asked_for_again(
    database: SqlDatabase,
) -> None:
    await followed(database)
    await claim(database)
    async with database.write() as tx:
        feed = await feed_rows.get_feed(tx, "id of a", lock=True)
        assert not await feed_rows.set_due_now(tx, feed, whole=True, now=LATER)
        assert not await feed_rows.set_next_visit(
            tx, feed, at=LATER, interval_sec=60, reason="", now=LATER
        )
    assert (await feed_of(database)).schedule == feed.schedule


async def test_a_feed_made_due_gets_a_new_number_once(database: SqlDatabase) -> None:
    await followed(database)
    async with database.write() as tx:
        planned = to_micros(LATER + timedelta(hours=1))
        await tx.run("UPDATE feeds SET next_visit_at = ?, scheduled_at = ?", planned, planned)
        for now in (LATER, LATER + timedelta(seconds=5)):
            feed = await feed_rows.get_feed(tx, "id of a")
            assert await feed_rows.set_due_now(tx, feed, whole=False, now=now)
            row = await tx.row("SELECT scheduled_at, next_visit_at FROM feeds")
            assert row is not None
            assert tuple(row) == (to_micros(LATER), to_micros(LATER))


async def test_resuming_forgives_and_plans(database: SqlDatabase) -> None:
    await followed(database)
    async with database.write() as tx:
        await tx.run("UPDATE feeds SET state = 'gone', failures = 7, next_visit_at = NULL")
        await feed_rows.set_active(tx, await feed_rows.get_feed(tx, "id of a"), at=LATER, now=NOON)
    feed = await feed_of(database)
    assert (feed.state, feed.stats.failures) == ("active", 0)
    assert feed.schedule.next_visit_at == LATER


async def test_a_feed_deleted_for_good_takes_its_rows_along(database: SqlDatabase) -> None:
    made = await followed(database)
    async with database.write() as tx:
        await tx.run(
            "INSERT INTO raw_fetches (fetch_id, feed_id, fetched_at, url, http_status,"
            " request_headers, response_headers, storage, blob_key, body_sha256,"
            " content_length, truncated, keep)"
            " VALUES ('f', ?, 1, 'u', 200, '[]', '[]', 's', 'k', 'd', 1, ?, ?)",
            made.pk,
            False,
            True,
        )
        await feed_rows.delete_feed_rows(tx, (await feed_rows.get_feed(tx, "id of a")).pk)
        assert await tx.rows("SELECT * FROM raw_fetches") == []
    with pytest.raises(NotFound):
        await feed_of(database)


async def test_only_what_is_not_the_default_is_written_of_overrides(database: SqlDatabase) -> None:
    await followed(database, wish=FeedOptions())
    async with database.read() as view:
        row = await view.row("SELECT overrides FROM feeds")
    assert row is not None
    assert row.overrides == "{}"
