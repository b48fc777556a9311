"""Claims, fences, leases and shards, on both databases."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from headwater.adapters.database import SqlDatabase
from headwater.core.ports import Row
from headwater.core.values.ids import FeedId, FeedPk, WorkerId
from headwater.core.values.instant import to_micros
from headwater.core.values.url import shard_of
from headwater.feeds import feed_rows, visit_rows
from headwater.feeds.feed import FeedOptions
from headwater.feeds.feed_rows import insert_or_restore_feed
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.visit_rows import insert_visits
from headwater.feeds.worker import claim_rows, host_rows, worker_rows
from tests.support.scripted_engine import a_visit

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
NOW = to_micros(NOON)
SECOND = 1_000_000
LEASE = 120 * SECOND
ANNA, BERT = WorkerId("anna"), WorkerId("bert")


async def followed(database: SqlDatabase, name: str, *, priority: int = 50) -> FeedPk:
    async with database.write() as tx:
        made = await insert_or_restore_feed(
            tx,
            f"https://{name}.example/feed",
            FeedOptions(priority=priority),
            feed_id=FeedId(f"id of {name}"),
            interval_sec=900,
            now=NOON,
            visit_at=NOON,
        )
    return made.pk


async def at_work(
    database: SqlDatabase, worker: WorkerId, now: int = NOW, most: int = 1024
) -> None:
    async with database.write() as tx:
        await worker_rows.upsert_heartbeat(tx, worker, "host", 1, now)
        await worker_rows.renew_shards(tx, worker, now + LEASE)
        await worker_rows.claim_shards(tx, worker, now, now + LEASE, most)


async def claimed(
    database: SqlDatabase, worker: WorkerId, now: int = NOW, limit: int = 100
) -> list[DueFeed]:
    async with database.write() as tx:
        return await claim_rows.claim_feeds(tx, worker, now, now + LEASE, limit)


async def database_rows(database: SqlDatabase, question: str) -> Sequence[Row]:
    async with database.read() as view:
        return await view.rows(question)


async def test_a_due_feed_is_claimed_once(database: SqlDatabase) -> None:
    await followed(database, "a")
    await at_work(database, ANNA)
    (due,) = await claimed(database, ANNA)
    assert (due.feed_id, due.scheduled_at, due.fence) == ("id of a", NOW, 1)
    assert await claimed(database, ANNA) == []


async def test_the_important_and_the_longest_overdue_go_first(database: SqlDatabase) -> None:
    await followed(database, "usual")
    await followed(database, "urgent", priority=90)
    await at_work(database, ANNA)
    assert [due.feed_id for due in await claimed(database, ANNA, limit=1)] == ["id of urgent"]
    assert [due.feed_id for due in await claimed(database, ANNA, limit=1)] == ["id of usual"]


async def test_one_claim_brings_the_important_first(database: SqlDatabase) -> None:
    for number in range(5):
        await followed(database, f"usual{number}")
    await followed(database, "urgent", priority=90)
    await at_work(database, ANNA)
    assert next(due.feed_id for due in await claimed(database, ANNA)) == "id of urgent"


async def test_a_dead_workers_feed_is_due_again_when_its_lease_ends(database: SqlDatabase) -> None:
    await followed(database, "a")
    await at_work(database, ANNA)
    await claimed(database, ANNA)
    later = NOW + LEASE + 1
    await at_work(database, BERT, later)
    (again,) = await claimed(database, BERT, later)
    assert (again.scheduled_at, again.fence) == (NOW, 2)


async def test_a_renewed_lease_keeps_others_off(database: SqlDatabase) -> None:
    await followed(database, "a")
    await at_work(database, ANNA)
    held = await claimed(database, ANNA)
    async with database.write() as tx:
        await claim_rows.renew_claims(tx, held, NOW + 3 * LEASE)
    assert await claimed(database, ANNA, NOW + LEASE + 1) == []


async def test_a_feed_given_back_is_the_same_visit_later(database: SqlDatabase) -> None:
    await followed(database, "a")
    await at_work(database, ANNA)
    (due,) = await claimed(database, ANNA)
    async with database.write() as tx:
        await claim_rows.release_claims(tx, [(due, NOW + 30 * SECOND)])
    assert await claimed(database, ANNA, NOW + 29 * SECOND) == []
    (again,) = await claimed(database, ANNA, NOW + 30 * SECOND)
    assert again.scheduled_at == NOW


async def test_whoever_lost_the_claim_cannot_give_it_back(database: SqlDatabase) -> None:
    await followed(database, "a")
    await at_work(database, ANNA)
    (lost,) = await claimed(database, ANNA)
    later = NOW + LEASE + 1
    await at_work(database, BERT, later)
    await claimed(database, BERT, later)
    async with database.write() as tx:
        await claim_rows.release_claims(tx, [(lost, later)])
        held = await claim_rows.lock_claimed_feeds(tx, [lost.feed], later)
    assert held[lost.feed].fence == 2
    assert await claimed(database, BERT, later) == []


async def test_whoever_lost_the_claim_cannot_renew_it(database: SqlDatabase) -> None:
    """The lease that runs is the other one's, and ends when that one's does."""
    await followed(database, "a")
    await at_work(database, ANNA)
    lost = await claimed(database, ANNA)
    later = NOW + LEASE + 1
    await at_work(database, BERT, later)
    await claimed(database, BERT, later)
    async with database.write() as tx:
        await claim_rows.renew_claims(tx, lost, later + 9 * LEASE)
    (again,) = await database_rows(database, "SELECT next_visit_at, fence FROM feeds")
    assert tuple(again) == (later + LEASE, 2)


async def test_what_was_given_back_is_neither_renewed_nor_given_back_again(
    database: SqlDatabase,
) -> None:
    await followed(database, "a")
    await at_work(database, ANNA)
    (due,) = await claimed(database, ANNA)
    async with database.write() as tx:
        await claim_rows.release_claims(tx, [(due, NOW + 30 * SECOND)])
        await claim_rows.renew_claims(tx, [due], NOW + 9 * LEASE)
        await claim_rows.release_claims(tx, [(due, NOW + 8 * LEASE)], "too late")
    (row,) = await database_rows(database, "SELECT next_visit_at, reason FROM feeds")
    assert row.next_visit_at == NOW + 30 * SECOND
    assert row.reason != "too late"


async def test_a_claim_whose_lease_is_over_holds_nothing(database: SqlDatabase) -> None:
    """Nobody has taken it over yet; still, what comes this late is not written."""
    await followed(database, "a")
    await at_work(database, ANNA)
    (due,) = await claimed(database, ANNA)
    async with database.write() as tx:
        assert set(await claim_rows.lock_claimed_feeds(tx, [due.feed], NOW + LEASE - 1)) == {
            due.feed
        }
        assert await claim_rows.lock_claimed_feeds(tx, [due.feed], NOW + LEASE) == {}


async def test_a_feed_of_a_registered_fetcher_stays_its_own_when_it_moves(
    database: SqlDatabase,
) -> None:
    ours, theirs = await followed(database, "a"), await followed(database, "b")
    async with database.write() as tx:
        await tx.run("UPDATE feeds SET shard = -7 WHERE id = ?", theirs)
        await feed_rows.set_feed_url(tx, ours, "https://c.example/", b"c" * 32, "c.example", 3)
        await feed_rows.set_feed_url(tx, theirs, "https://d.example/", b"d" * 32, "d.example", 4)
    rows = await database_rows(database, "SELECT host, shard FROM feeds ORDER BY id")
    assert [tuple(row) for row in rows] == [("c.example", 3), ("d.example", -7)]


async def test_a_host_that_is_being_asked_counts_as_asked_lately(database: SqlDatabase) -> None:
    """Its worker may be dead: nobody knows when it asked."""
    await followed(database, "a")
    await followed(database, "b")
    await at_work(database, ANNA)
    (due,) = await claimed(database, ANNA, limit=1)
    async with database.read() as view:
        assert await host_rows.list_recently_asked_hosts(view, ANNA, NOW) == [due.host]


async def test_what_is_not_active_is_not_claimed_though_it_were_due(database: SqlDatabase) -> None:
    await followed(database, "a")
    await at_work(database, ANNA)
    async with database.write() as tx:
        await tx.run("UPDATE feeds SET state = 'paused'")
    assert await claimed(database, ANNA) == []


async def test_what_a_registered_fetcher_was_told_is_no_rest_of_ours(
    database: SqlDatabase,
) -> None:
    for number, name in enumerate("ab"):
        feed = await followed(database, name)
        async with database.write() as tx:
            await tx.run(
                "UPDATE feeds SET last_outcome = 'throttled', last_status = 503,"
                " retry_after_sec = 60, last_decision_at = ?, shard = ? WHERE id = ?",
                NOW,
                7 - 20 * number,
                feed,
            )
    async with database.read() as view:
        assert await host_rows.list_resting_hosts(view, 900, NOW) == [
            ("a.example", NOW + 60 * SECOND)
        ]
        assert await host_rows.list_resting_hosts(view, 900, NOW + 60 * SECOND) == []


async def test_whose_shards_are_over_claims_nothing(database: SqlDatabase) -> None:
    await followed(database, "a")
    await at_work(database, ANNA)
    assert await claimed(database, ANNA, NOW + LEASE) == []
    assert len(await claimed(database, ANNA, NOW + LEASE - 1)) == 1


async def test_a_shard_whose_feed_is_being_visited_is_not_let_go(database: SqlDatabase) -> None:
    await followed(database, "a")
    await at_work(database, ANNA)
    (due,) = await claimed(database, ANNA)
    async with database.write() as tx:
        await worker_rows.release_shards(tx, ANNA, 1024, [5, 6])
    rows = await database_rows(
        database, "SELECT shard FROM shards WHERE worker_id = 'anna' ORDER BY shard"
    )
    assert [row.shard for row in rows] == sorted({5, 6, shard_of("a.example")})
    assert due.host == "a.example"


async def test_only_a_duplicate_goes_on(database: SqlDatabase) -> None:
    feed = await followed(database, "a")
    async with database.write() as tx:
        assert await feed_rows.resume_duplicate(tx, feed, NOW + 5) is False
        await feed_rows.set_duplicate(tx, feed, "https://b.example/feed")
        assert await feed_rows.resume_duplicate(tx, feed, NOW + 7) is True
    (row,) = await database_rows(database, "SELECT state, next_visit_at FROM feeds")
    assert tuple(row) == ("active", NOW + 7)


async def test_visits_are_old_beyond_the_newest_and_once_they_are_counted(
    database: SqlDatabase,
) -> None:
    feed = await followed(database, "a")
    async with database.write() as tx:
        await insert_visits(tx, [a_visit(feed, number) for number in (1, 2, 3, 4)])
        assert await visit_rows.list_old_visits(tx, 2) == []
        await tx.run("UPDATE visits SET counted = TRUE WHERE scheduled_at <> 1")
        assert await visit_rows.list_old_visits(tx, 2) == [(feed, 2)]
        await tx.run("UPDATE visits SET counted = TRUE")
        assert sorted(await visit_rows.list_old_visits(tx, 2)) == [(feed, 1), (feed, 2)]
        await visit_rows.delete_visits(tx, [(feed, 1)])
        assert await visit_rows.list_old_visits(tx, 2) == [(feed, 2)]


async def test_a_restarted_worker_takes_back_its_own_at_once(database: SqlDatabase) -> None:
    await followed(database, "a")
    await at_work(database, ANNA)
    (before,) = await claimed(database, ANNA)
    async with database.write() as tx:
        assert await claim_rows.release_own_claims(tx, ANNA) == ["a.example"]
    (again,) = await claimed(database, ANNA)
    assert again.scheduled_at == before.scheduled_at
    assert again.fence > before.fence


async def test_without_shards_nothing_is_claimed(database: SqlDatabase) -> None:
    await followed(database, "a")
    assert await claimed(database, ANNA) == []


async def test_two_workers_never_share_a_shard(database: SqlDatabase) -> None:
    for number in range(20):
        await followed(database, f"site{number}")
    await at_work(database, ANNA, most=512)
    await at_work(database, BERT, most=512)
    anna, bert = await claimed(database, ANNA), await claimed(database, BERT)
    assert len(anna) + len(bert) == 20
    assert not {due.feed for due in anna} & {due.feed for due in bert}


async def test_shards_are_let_go_but_not_those_in_use(database: SqlDatabase) -> None:
    await at_work(database, ANNA)
    async with database.write() as tx:
        await worker_rows.release_shards(tx, ANNA, 512, busy=[1023, 1022])
        free = await worker_rows.claim_shards(tx, BERT, NOW, NOW + LEASE, 1024)
    assert len(free) == 512
    assert not {1022, 1023} & set(free)


async def test_a_worker_that_leaves_in_order_leaves_nothing_behind(database: SqlDatabase) -> None:
    await at_work(database, ANNA)
    async with database.write() as tx:
        assert await worker_rows.count_living_workers(tx, NOW - LEASE) == 1
        await worker_rows.delete_worker(tx, ANNA)
        assert await worker_rows.count_living_workers(tx, NOW - LEASE) == 0
        assert len(await worker_rows.claim_shards(tx, BERT, NOW, NOW + LEASE, 1024)) == 1024


async def test_claims_of_two_pools_at_once_never_overlap(
    database: SqlDatabase, open_another: Callable[[], SqlDatabase]
) -> None:
    for number in range(30):
        await followed(database, f"site{number}")
    await at_work(database, ANNA)
    other = open_another()
    seen: list[FeedPk] = []
    for _ in range(5):
        for pool in (database, other):
            seen += [due.feed for due in await claimed(pool, ANNA, limit=4)]
    assert len(seen) == len(set(seen)) == 30
