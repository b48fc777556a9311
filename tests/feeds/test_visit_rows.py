"""What quiet visits leave, however many commit together, on both databases."""

from datetime import UTC, datetime

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import DatabaseRefused
from headwater.core.values.ids import FeedId, FeedPk, WorkerId
from headwater.core.values.instant import to_micros
from headwater.feeds.feed import FeedOptions
from headwater.feeds.feed_rows import insert_or_restore_feed
from headwater.feeds.visit_rows import (
    QuietVisitRow,
    UnchangedFeedUpdate,
    insert_visits,
    update_feeds,
)
from headwater.subscriptions.fetchers.builtin import BUILTINS, best_builtin
from headwater.subscriptions.fetchers.fetcher_rows import list_fetchers
from headwater.subscriptions.subscription import NewSubscription
from headwater.subscriptions.subscription_rows import insert_subscription

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
NOW = to_micros(NOON)
SECOND = 1_000_000


async def followed(database: SqlDatabase, count: int) -> list[FeedPk]:
    made = []
    async with database.write() as tx:
        builtin = best_builtin(BUILTINS, await list_fetchers(tx), "https://a.example/", "rss")
        assert builtin is not None
        for number in range(count):
            url = f"https://h{number}.example/feed"
            feed = await insert_or_restore_feed(
                tx, url, FeedOptions(), feed_id=FeedId(f"id {number}"), interval_sec=900, now=NOON,
                visit_at=NOON,
            )  # fmt: skip
            await insert_subscription(
                tx, NewSubscription(url), feed, builtin, auto_selected=True, now=NOON
            )
            made.append(feed.pk)
    return made


def confirmed(feed: FeedPk, number: int) -> UnchangedFeedUpdate:
    return UnchangedFeedUpdate(
        1000.5 + number, NOW + number, f"in {number} min: not modified", 3, NOW + 1, NOW + 2,
        "unchanged", 304, 0, number, 20_458, "192.0.2.7", NOW + 3, NOW + 60 * SECOND + number,
        NOW + 60 * SECOND + number, NOW + 4, feed,
    )  # fmt: skip


def quiet(feed: FeedPk, number: int) -> QuietVisitRow:
    return QuietVisitRow(
        feed, NOW, NOW + 1, NOW + 2, WorkerId("anna"), f"https://h{number}.example/feed",
        "unchanged", 304, True, None, "192.0.2.7", 0, 1.25 * number, 0, 0, 900.0, 1000.5 + number,
        NOW + 60 * SECOND + number, "not-modified", f"reason {number}", f'{{"luck":{number}}}',
    )  # fmt: skip


@pytest.mark.parametrize("count", [1, 3, 4, 85, 149])
async def test_each_visit_leaves_its_own_rows_however_many_commit_together(
    database: SqlDatabase, count: int
) -> None:
    """85 is 64 and 16 and 4 and 1; 149 is two times 64, 16, 4 and 1."""
    feeds = await followed(database, count + 1)
    bystander = feeds.pop()
    async with database.write() as tx:
        await tx.run("UPDATE feeds SET claimed_by = 'anna'")
        await tx.run("UPDATE feeds SET state = 'paused' WHERE id = ?", feeds[-1])
        await update_feeds(tx, [confirmed(feed, number) for number, feed in enumerate(feeds)])
        await insert_visits(tx, [quiet(feed, number) for number, feed in enumerate(feeds)])
    async with database.read() as view:
        rows = await view.rows(
            "SELECT id, interval_sec, reason, new_today, last_status, last_address, scheduled_at,"
            " next_visit_at, last_success_at, claimed_by FROM feeds ORDER BY id"
        )
        visits = await view.rows(
            "SELECT feed_id, url, latency_ms, conditional, next_at, reason, inputs, fetch_id,"
            " error, entries_in_document, m.name FROM visits"
            " JOIN fetcher_modules m USING (fetcher_id) ORDER BY feed_id"
        )
    *learned, other = rows
    assert (other.id, other.claimed_by, other.reason) == (bystander, "anna", None)
    for number, (feed, row) in enumerate(zip(feeds, learned, strict=True)):
        due = NOW + 60 * SECOND + number
        paused = feed == feeds[-1]
        assert tuple(row) == (
            feed, 1000.5 + number, f"in {number} min: not modified", number, 304, "192.0.2.7",
            due, None if paused else due, NOW + 4, None,
        )  # fmt: skip
    for number, (feed, row) in enumerate(zip(feeds, visits, strict=True)):
        assert tuple(row) == (
            feed, f"https://h{number}.example/feed", 1.25 * number, True,
            NOW + 60 * SECOND + number, f"reason {number}", f'{{"luck":{number}}}', None, None,
            None, "feed",
        )  # fmt: skip


async def test_a_visit_that_was_committed_before_takes_its_whole_group_back(
    database: SqlDatabase,
) -> None:
    """The group is then tried in halves, until the one that is refused stands alone."""
    feeds = await followed(database, 20)
    async with database.write() as tx:
        await insert_visits(tx, [quiet(feeds[7], 7)])
    with pytest.raises(DatabaseRefused):
        async with database.write() as tx:
            await insert_visits(tx, [quiet(feed, number) for number, feed in enumerate(feeds)])
    async with database.read() as view:
        assert len(await view.rows("SELECT feed_id FROM visits")) == 1
