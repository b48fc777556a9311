"""Random walks: whatever happens in whatever order, what must hold holds."""

import asyncio
import random
from datetime import datetime, timedelta

import pytest

from headwater.core.errors import HeadwaterError
from headwater.feeds.change_feed import change_feed, refetch
from headwater.feeds.entries.entry_search_rows import get_entry
from headwater.feeds.feed import FeedOptions, FeedPatch
from headwater.subscriptions.add_feed import add_feed, add_feed_later
from headwater.subscriptions.unsubscribe import remove_feed
from tests.feeds.worker.test_hosts import number
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin, OriginFeed, Post, Reply
from tests.support.visits import River
from tests.support.worker import until, working

STEPS = 120
SHORT = timedelta(0)
WEEK_AND_DAY = 8 * 86_400_000_000


def _misbehave(feed: OriginFeed, luck: random.Random) -> None:
    whole = feed.document()
    feed.forget_script()
    feed.answer_next(
        luck.choice(
            [
                Reply(429, headers={"Retry-After": luck.choice(["5", "0", "-1", "x", "99999999"])}),
                Reply(503),
                Reply(410),
                Reply(404, b"no"),
                Reply(500, b"<html>"),
                Reply(200, b"<html>Maintenance</html>", {"ETag": '"no"'}),
                Reply(200, whole[: len(whole) // 2]),
                Reply(200, whole, cut_at=len(whole) // 2),
                Reply(200, b""),
                Reply(304),
                Reply(302, headers={"Location": "/a"}),
                Reply(301, headers={"Location": "/b"}),
            ]
        )
    )


def _write(feed: OriginFeed, luck: random.Random, step: int) -> None:
    match luck.randrange(5):
        case 0 | 1:
            feed.publish(Post(f"p{step}", f"Post {step}"))
        case 2 if feed.posts:
            feed.edit(luck.choice(feed.posts).guid, text=f"edited {step}")
        case 3 if len(feed.posts) > 1:
            feed.remove(luck.choice(feed.posts).guid)
        case _ if feed.posts:
            old = feed.posts[0]
            feed.posts[0] = Post(f"drifted{step}", old.title, old.text, old.where)
            feed.publish()


async def _wish(river: River, feed_id: str, luck: random.Random) -> None:
    patches = [
        FeedPatch(state="paused"),
        FeedPatch(state="active"),
        FeedPatch(overrides={"interval_sec": 600.0}),
        FeedPatch(overrides={"max_interval_sec": 900.0, "interval_sec": None}),
    ]
    try:
        await change_feed(feed_id, luck.choice(patches), river.engine.feeds, SHORT)
        if luck.random() < 0.5:
            await refetch(feed_id, river.engine.feeds, whole=luck.random() < 0.3, gap=SHORT)
    except HeadwaterError:
        pass


async def _holds(river: River) -> None:
    now = round(river.clock.now().timestamp() * 1_000_000)
    for row in await river.rows("SELECT state, next_visit_at, scheduled_at, claimed_by FROM feeds"):
        assert row.claimed_by is None
        assert (row.next_visit_at is not None) == (row.state == "active"), row
        if row.state == "active":
            assert row.next_visit_at <= now + WEEK_AND_DAY
    (log,) = await river.rows("SELECT count(*) AS n, max(seq) AS last FROM events")
    (told,) = await river.rows("SELECT count(*) AS n FROM events WHERE type = 'new_entry'")
    assert log.n == (log.last or 0)
    assert told.n == await river.count("entries")
    # One ahead of the newest document: that one ended early and did not show the entry.
    (bad,) = await river.rows(
        "SELECT count(*) AS n FROM entries e JOIN feeds f ON f.id = e.feed_id"
        " WHERE e.present_since > f.documents_seen + 1 OR e.seen_before < 0"
    )
    assert bad.n == 0


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_whatever_a_publisher_and_a_user_do_the_plan_and_the_log_hold(
    river: River, seed: int
) -> None:
    luck = random.Random(seed)
    feed = river.origin.feed("/a", [Post("0", "Zero")])
    river.origin.feed("/b", [Post("b", "Elsewhere")])
    feed_id = await river.add(feed.url)
    for step in range(STEPS):
        _write(feed, luck, step)
        if luck.random() < 0.5:
            _misbehave(feed, luck)
        if luck.random() < 0.3:
            await _wish(river, feed_id, luck)
        if luck.random() < 0.1:
            await change_feed(feed_id, FeedPatch(state="active"), river.engine.feeds, SHORT)
        (row,) = await river.rows("SELECT state FROM feeds")
        if row.state == "active":
            await river.visit(luck.choice([60, 3_600, 86_400]))
        await _holds(river)


async def _disturb(engine: EngineParts, feeds: list[OriginFeed], seconds: float) -> None:
    """Users who change their minds while the worker works."""
    luck = random.Random(7)
    end = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < end:
        feed = luck.choice(feeds)
        feed.publish(Post(f"{luck.random()}", "New"))
        async with engine.database.read() as view:
            row = await view.row("SELECT feed_id FROM feeds WHERE url = ?", feed.url)
        try:
            if row is None:
                await add_feed(feed.url, FeedOptions(), engine.registry)
                continue
            match luck.randrange(6):
                case 0:
                    await change_feed(row.feed_id, FeedPatch(state="paused"), engine.feeds, SHORT)
                case 1 | 2:
                    await change_feed(row.feed_id, FeedPatch(state="active"), engine.feeds, SHORT)
                case 3:
                    await remove_feed(row.feed_id, engine.database, hard=luck.random() < 0.5)
                case 4:
                    await add_feed_later(feed.url, FeedOptions(), engine.registry)
                case _:
                    await refetch(row.feed_id, engine.feeds, whole=False, gap=SHORT)
        except HeadwaterError:
            pass
        async with engine.database.write() as tx:
            await tx.run(
                "UPDATE feeds SET next_visit_at = 1, scheduled_at = scheduled_at + 1"
                " WHERE state = 'active' AND claimed_by IS NULL"
            )
        engine.database.woken("feeds").set()


async def test_users_who_change_their_minds_while_a_worker_works_break_nothing(
    engine: EngineParts, origin: Origin, capsys: pytest.CaptureFixture[str]
) -> None:
    feeds = []
    for place in range(12):
        await origin.listen(f"127.0.6.{place + 1}")
        feeds.append(origin.feed("/f", [Post("0", "Zero")], address=f"127.0.6.{place + 1}"))
        await add_feed_later(feeds[-1].url, FeedOptions(), engine.registry)
    async with working(engine, host_rps=1000):
        await _disturb(engine, feeds, 4)
    said = capsys.readouterr().out
    assert "visit_crashed" not in said
    assert "keeper_failed" not in said
    assert "keeper_waits" not in said
    assert await number(engine, "SELECT count(*) AS n FROM feeds WHERE claimed_by IS NOT NULL") == 0
    lost = "SELECT count(*) AS n FROM feeds WHERE (state = 'active') <> (next_visit_at IS NOT NULL)"
    assert await number(engine, lost) == 0
    gaps = "SELECT coalesce(max(seq), 0) - count(*) AS n FROM events"
    assert await number(engine, gaps) == 0
    orphans = (
        "SELECT count(*) AS n FROM entries e WHERE NOT EXISTS"
        " (SELECT 1 FROM raw_fetches r WHERE r.fetch_id = e.fetch_id)"
    )
    assert await number(engine, orphans) == 0
    alone = (
        "SELECT count(*) AS n FROM feeds f LEFT JOIN rss_subscriptions s ON s.feed_id = f.id"
        " WHERE s.is_active IS NULL OR s.is_active <> (f.state <> 'removed')"
    )
    assert await number(engine, alone) == 0
    assert await number(engine, "SELECT count(*) AS n FROM feeds") == await number(
        engine, "SELECT count(*) AS n FROM rss_subscriptions"
    )
    await until(lambda: True)


@pytest.mark.parametrize("seed", [11, 12])
async def test_counts_equal_those_of_a_reader_with_a_pencil(river: River, seed: int) -> None:
    """Each entry's seen_count and last_seen against a plain tally of the documents it was in."""
    luck = random.Random(seed)
    feed = river.origin.feed("/a", [Post("0", "Zero")])
    tally: dict[str, int] = {}
    last: dict[str, datetime] = {}

    def note() -> None:
        for post in feed.posts:
            tally[post.guid] = tally.get(post.guid, 0) + 1
            last[post.guid] = river.clock.now()

    await river.clock.advance(1)
    feed_id = await add_feed(feed.url, FeedOptions(), river.engine.registry)
    note()
    for _ in range(60):
        if luck.random() < 0.7:
            chosen = luck.sample(range(12), luck.randrange(1, 9))
            feed.posts = [Post(str(n), f"Post {n}", luck.choice("ab")) for n in chosen]
            feed.publish()
        if luck.random() < 0.2:
            feed.answer_next(Reply(luck.choice([500, 404, 429])))
            await river.visit()
            continue
        await river.visit()
        note()
    async with river.engine.database.read() as view:
        kept = [await get_entry(view, uid, feed_id) for uid in tally]
    assert {each.uid: each.seen_count for each in kept} == tally
    assert {each.uid: each.last_seen for each in kept} == last
