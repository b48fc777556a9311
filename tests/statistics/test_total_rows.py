"""Sums by day: what visits unpacked, what 304s saved, how long fetches took; each counted once."""

from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import pytest
from uuid_utils import uuid7

from headwater.adapters import schema
from headwater.adapters.database import SqlDatabase
from headwater.core.values.ids import FetchId
from headwater.core.values.instant import to_micros
from headwater.feeds.raw.raw_fetch import RawFetch
from headwater.feeds.raw.raw_rows import insert_raw_fetches, lock_blobs
from headwater.settings import Settings
from headwater.statistics import day_rows, statistics_rows, total_rows
from headwater.statistics.subscriptions import Statistics, Window
from headwater.subscriptions import subscription_rows
from headwater.subscriptions.subscription import Subscription
from headwater.wiring.housekeeping import compact_old_days
from tests.statistics.test_day_rows import Dying
from tests.support.clock import VirtualClock
from tests.support.scripted_engine import ScriptedWeb, an_engine
from tests.support.visit_history import OK, SAME, Ledger

EVER = Window(None)
ONE = "https://one.example/feed"
MIB = 1024 * 1024


@pytest.fixture
def ledger(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> Ledger:
    return Ledger(an_engine(database, virtual_clock, ScriptedWeb(), tmp_path))


async def followed(ledger: Ledger, url: str = ONE, who: str = "alpha") -> Subscription:
    return await ledger.subscribe(await ledger.fetcher(who), url)


async def served(
    ledger: Ledger,
    to: Subscription,
    size: int,
    *,
    ago: timedelta,
    status: int = 200,
    error: str | None = None,
) -> None:
    """A body of that size was archived then."""
    body = bytes(size)
    raw = RawFetch(
        fetch_id=FetchId(str(uuid7())),
        feed=to.feed_pk,
        fetched_at=to_micros(ledger.now - ago),
        url=to.source_url,
        status=status,
        request_headers=(),
        response_headers=(),
        body=body,
        body_sha256=sha256(body).hexdigest(),
        truncated=False,
        error=error,
    )
    async with ledger.engine.database.write() as tx:
        keys = await lock_blobs(tx, [raw.body_sha256], generation=0)
        await insert_raw_fetches(tx, [raw], keys, "localfs")


async def figures(ledger: Ledger, of: Subscription, window: Window = EVER) -> Statistics:
    async with ledger.engine.database.read() as view:
        return await statistics_rows.get_statistics(view, of.id, of.feed_pk, window, ledger.now)


async def day_totals(ledger: Ledger) -> list[Any]:
    return await ledger.rows("SELECT * FROM day_totals ORDER BY day")


async def buckets(ledger: Ledger) -> dict[int, tuple[int, int]]:
    rows = await ledger.rows("SELECT bucket, fetches, small FROM latency_days ORDER BY bucket")
    return {row.bucket: (row.fetches, row.small) for row in rows}


async def test_a_304_saves_the_last_document_as_it_was_served(ledger: Ledger) -> None:
    one = await followed(ledger)
    await served(ledger, one, 1_000, ago=timedelta(hours=5))
    await served(ledger, one, 3_000, ago=timedelta(hours=4))
    await served(ledger, one, 70, ago=timedelta(hours=3), status=404, error="http_404")
    await served(ledger, one, 50, ago=timedelta(hours=2), error="incomplete_body")
    await ledger.visits(one, [SAME, SAME, OK])
    before = await figures(ledger, one)
    await ledger.count()
    assert (await figures(ledger, one)).saved_bytes == before.saved_bytes == 6_000


async def test_a_document_that_came_later_was_not_saved(ledger: Ledger) -> None:
    one = await followed(ledger)
    await served(ledger, one, 1_000, ago=timedelta(hours=5))
    await served(ledger, one, 9_000, ago=timedelta(minutes=30))
    started = to_micros(ledger.now - timedelta(hours=1))
    await ledger.visits(one, [SAME], ago=timedelta(hours=1), started_at=started)
    assert (await figures(ledger, one)).saved_bytes == 1_000


async def test_another_feeds_document_saves_nothing(ledger: Ledger) -> None:
    one = await followed(ledger)
    two = await followed(ledger, "https://two.example/feed", "beta")
    await served(ledger, two, 1_000, ago=timedelta(hours=5))
    await ledger.visits(one, [SAME])
    await ledger.count()
    assert (await figures(ledger, one)).saved_bytes == 0


async def test_documents_are_unpacked_and_retries_are_counted(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK], ago=timedelta(hours=2), bytes_in=1_000, decoded_bytes=4_000)
    await ledger.visits(one, ["bad_coding"], ago=timedelta(hours=1), bytes_in=700, retry=True)
    await ledger.visits(one, [SAME], retry=True)
    before = await figures(ledger, one)
    await ledger.count()
    after = await figures(ledger, one)
    assert after == before
    assert (after.bytes_in, after.encoded_bytes, after.decoded_bytes) == (1_700, 1_000, 4_000)
    assert (after.compression_ratio, after.retries) == (4.0, 2)
    assert after.not_modified_rate == pytest.approx(1 / 3)


async def test_nothing_unpacked_has_no_ratio(ledger: Ledger) -> None:
    one = await followed(ledger)
    assert (await figures(ledger, one)).compression_ratio is None
    assert (await figures(ledger, one)).new_entries_per_visit is None


@pytest.mark.parametrize("writes", [0, 1, 2, 3, 4])
async def test_a_crash_while_counting_loses_and_doubles_nothing(
    ledger: Ledger, writes: int
) -> None:
    one = await followed(ledger)
    await served(ledger, one, 100, ago=timedelta(hours=5))
    await ledger.visits(one, [SAME] * 4, latency_ms=20.0)

    async def dies() -> None:
        async with ledger.engine.database.write() as tx:
            await day_rows.count_visits(Dying(tx, writes), 3)

    with pytest.raises(RuntimeError, match="plug"):
        await dies()
    assert (await day_totals(ledger), await buckets(ledger)) == ([], {})
    assert await ledger.count() == 4
    assert await buckets(ledger) == {25: (4, 4)}
    (day,) = await day_totals(ledger)
    assert (day.visits, day.unchanged, day.saved_bytes) == (4, 4, 400)


async def test_everything_together_is_summed_by_day(ledger: Ledger) -> None:
    one = await followed(ledger)
    two = await followed(ledger, "https://two.example/feed", "beta")
    await ledger.visits(one, [OK, "timeout"], new_entries=2, bytes_in=10, decoded_bytes=30)
    await ledger.visits(two, [OK], updated_entries=1, bytes_in=5, retry=True)
    await ledger.visits(two, ["timeout"], ago=timedelta(days=1))
    assert await ledger.count() == 4
    yesterday, today = await day_totals(ledger)
    assert today.day == yesterday.day + 1
    assert (yesterday.visits, yesterday.failures) == (1, 1)
    assert (today.visits, today.failures, today.unchanged, today.retries) == (3, 1, 0, 1)
    assert (today.new_entries, today.updated_entries, today.bytes_in) == (4, 1, 25)
    assert (today.decoded_bytes, today.encoded_bytes, today.saved_bytes) == (60, 20, 0)


async def test_the_sums_of_everything_outlive_a_subscription(ledger: Ledger) -> None:
    one = await followed(ledger)
    await served(ledger, one, 100, ago=timedelta(hours=5))
    await ledger.visits(one, [SAME] * 3)
    await ledger.count()
    async with ledger.engine.database.write() as tx:
        await subscription_rows.delete_subscription_and_feed(tx, one.id)
    async with ledger.engine.database.read() as view:
        assert await total_rows.saved_bytes(view) == 300


async def test_only_visits_that_brought_something_tell_of_speed(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK], latency_ms=30.0, bytes_in=MIB)
    await ledger.visits(one, [OK], ago=timedelta(hours=1), latency_ms=30.0, bytes_in=MIB + 1)
    await ledger.visits(one, [SAME], ago=timedelta(hours=2), latency_ms=6_000.0)
    await ledger.visits(one, ["timeout"], ago=timedelta(hours=3), latency_ms=30_000.0)
    await ledger.count()
    assert await buckets(ledger) == {50: (2, 1), 7_500: (1, 1)}
    async with ledger.engine.database.read() as view:
        assert await total_rows.latencies(view, 0) == {50: 1, 7_500: 1}
        assert await total_rows.latencies(view, 0, small_only=False) == {50: 2, 7_500: 1}


async def test_what_is_not_a_feed_was_still_fetched(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, ["not_a_feed"], latency_ms=30.0)
    async with ledger.engine.database.write() as tx:
        await tx.run("UPDATE visits SET outcome = 'unreadable'")
    await ledger.count()
    assert await buckets(ledger) == {50: (1, 1)}


async def test_old_days_of_speed_are_forgotten(ledger: Ledger) -> None:
    one = await followed(ledger)
    for days in (0, 89, 90):
        await ledger.visits(one, [OK], ago=timedelta(days=days))
    await ledger.count()
    await compact_old_days(ledger.engine.database, Settings(data_dir=Path("unused")))
    assert len(await ledger.rows("SELECT 1 FROM latency_days")) == 2
    assert sum(day.visits for day in await day_totals(ledger)) == 3


async def test_old_days_of_a_subscription_keep_their_new_sums(ledger: Ledger) -> None:
    one = await followed(ledger)
    await served(ledger, one, 100, ago=timedelta(days=300))
    await ledger.visits(one, [SAME], ago=timedelta(days=100), retry=True)
    started = to_micros(ledger.now - timedelta(days=200))
    await ledger.visits(one, [SAME], ago=timedelta(days=200), started_at=started)
    await ledger.count()
    before = await figures(ledger, one)
    await compact_old_days(ledger.engine.database, Settings(data_dir=Path("unused")))
    after = await figures(ledger, one)
    assert len(after.days) == 1
    assert (after.saved_bytes, after.retries) == (before.saved_bytes, before.retries) == (200, 1)


async def test_counting_side_by_side_adds_up(
    ledger: Ledger, open_another: Callable[[], SqlDatabase]
) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK] * 40, bytes_in=10)
    for database in (open_another(), open_another()):
        async with database.write() as tx:
            assert await day_rows.count_visits(tx, 20) == 20
    (day,) = await day_totals(ledger)
    assert (day.visits, day.bytes_in) == (40, 400)
    assert await buckets(ledger) == {25: (40, 40)}


async def test_the_p99_of_a_feed_is_exact(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK] * 198, latency_ms=10.0)
    await ledger.visits(one, [OK], ago=timedelta(hours=10), latency_ms=500.0)
    await ledger.visits(one, [OK], ago=timedelta(hours=11), latency_ms=900.0)

    async def p99() -> float | None:
        async with ledger.engine.database.read() as view:
            return await total_rows.p99_of_feed(view, one.feed_pk, 0)

    assert await p99() == 10.0
    await ledger.visits(one, [OK], ago=timedelta(hours=12), latency_ms=700.0)
    assert await p99() == 500.0


async def test_the_schema_goes_back_and_forth(ledger: Ledger) -> None:
    """Down: the older counts stay as they are. Up: they are the beginning of the new ones."""
    one = await followed(ledger)
    await served(ledger, one, 100, ago=timedelta(hours=5))
    await ledger.visits(one, [OK, SAME, "timeout"], new_entries=1, bytes_in=50, retry=True)
    await ledger.count()
    assert (await figures(ledger, one)).saved_bytes == 100
    database = cast(SqlDatabase, ledger.engine.database)
    await schema.downgrade_schema(database, "0005")
    (row,) = await ledger.rows("SELECT sum(visits) AS visits FROM subscription_days")
    assert row.visits == 3
    await schema.upgrade_schema(database)
    (day,) = await day_totals(ledger)
    assert (day.visits, day.failures, day.unchanged) == (3, 1, 1)
    assert (day.new_entries, day.bytes_in, day.saved_bytes) == (3, 150, 0)
    assert await ledger.count() == 0
    await ledger.visits(one, [SAME], ago=timedelta(hours=1), decoded_bytes=7)
    assert await ledger.count() == 1
    now = await figures(ledger, one)
    assert (now.visits, now.saved_bytes, now.decoded_bytes, now.retries) == (4, 100, 7, 0)
