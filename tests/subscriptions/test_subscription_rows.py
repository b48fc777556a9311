"""One subscription for every feed: made, found, assigned, brought back and let go, on both."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import DuplicateUrl, NotFound
from headwater.core.values.ids import FeedId, WorkerId
from headwater.core.values.instant import to_micros
from headwater.core.values.url import host_of, shard_of
from headwater.feeds import feed_rows
from headwater.feeds.feed import FeedOptions
from headwater.feeds.feed_rows import insert_or_restore_feed, url_key
from headwater.feeds.worker import claim_rows, worker_rows
from headwater.subscriptions import history_rows, subscription_rows
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.subscription import NewSubscription, Subscription, SubscriptionPatch
from tests.support.registry_rows import FEED, LATER, MIKANANI, NOON, joined, wanted

URL = "https://a.example/feed"
ANNA = WorkerId("anna")
FAR = 2**60


async def rows(database: SqlDatabase, sql: str, *values: Any) -> list[Any]:
    async with database.read() as view:
        return list(await view.rows(sql, *values))


async def feed_row(database: SqlDatabase, pk: int) -> Any:
    (row,) = await rows(database, "SELECT * FROM feeds WHERE id = ?", pk)
    return row


async def moved(database: SqlDatabase, there: Subscription, url: str) -> None:
    """As a visit does when a permanent redirect has proved stable."""
    host = host_of(url)
    async with database.write() as tx:
        await feed_rows.set_feed_url(tx, there.feed_pk, url, url_key(url), host, shard_of(host))


async def let_go(database: SqlDatabase, there: Subscription) -> Subscription:
    async with database.write() as tx:
        return await subscription_rows.deactivate(tx, there.id, NOON)


async def test_a_new_subscription_says_who_fetches_what_and_when(database: SqlDatabase) -> None:
    new = NewSubscription(
        URL, name="Mine", description="News.", fetch_interval_minutes=60, config='{"a":1}',
        categories=("news",), priority=70,
    )  # fmt: skip
    made = await wanted(database, URL, new=new, feed_id="id of a")
    assert made == Subscription(
        id=1, fetcher_id=FEED, fetcher_name="feed", feed_id=FeedId("id of a"),
        feed_pk=made.feed_pk, source_url=URL, source_type="rss", name="Mine",
        description="News.", last_fetched_at=None, next_fetch_at=NOON,
        fetch_interval_minutes=60, is_active=True, config='{"a":1}',
        assignment_status="auto_assigned", auto_selected=True, assigned_at=None, group_id=None,
        created_at=NOON, updated_at=NOON,
    )  # fmt: skip
    feed = await feed_row(database, made.feed_pk)
    assert (feed.priority, feed.categories) == (70, '["news"]')


async def test_a_named_fetcher_is_assigned_and_its_moment_is_known(database: SqlDatabase) -> None:
    made = await wanted(database, fetcher_id=MIKANANI, auto_selected=False)
    assert (made.assignment_status, made.auto_selected) == ("assigned", False)
    assert (made.fetcher_name, made.assigned_at) == ("mikanani", NOON)


@pytest.mark.parametrize(
    ("asked", "current", "shown"),
    [("{}", 900.0, 15), ("{}", 901.0, 16), ("{}", 1.0, 1), ('{"interval_sec":7200}', 900.0, 120)],
)
async def test_the_interval_is_shown_in_whole_minutes(
    database: SqlDatabase, asked: str, current: float, shown: int
) -> None:
    made = await wanted(database)
    async with database.write() as tx:
        await tx.run("UPDATE feeds SET overrides = ?, interval_sec = ?", asked, current)
        assert (
            await subscription_rows.get_subscription(tx, made.id)
        ).fetch_interval_minutes == shown


async def test_moments_are_those_of_the_feed(database: SqlDatabase) -> None:
    made = await wanted(database)
    async with database.write() as tx:
        await tx.run(
            "UPDATE feeds SET last_success_at = ?, scheduled_at = ?, next_visit_at = ?,"
            " claimed_by = 'anna'",
            *(to_micros(NOON + timedelta(minutes=n)) for n in (1, 2, 3)),
        )
        visited = await subscription_rows.get_subscription(tx, made.id)
        await tx.run("UPDATE feeds SET claimed_by = NULL")
        planned = await subscription_rows.get_subscription(tx, made.id)
    assert visited.last_fetched_at == NOON + timedelta(minutes=1)
    assert visited.next_fetch_at == NOON + timedelta(minutes=2)
    assert planned.next_fetch_at == NOON + timedelta(minutes=3)


@pytest.mark.parametrize(
    "spelling",
    [
        f"  {URL} ",
        "HTTPS://A.EXAMPLE/feed",
        "https://a.example:443/feed",
        f"{URL}#top",
        "https://a.example/./feed",
    ],
)
async def test_one_source_is_wanted_once_however_it_is_spelt(
    database: SqlDatabase, spelling: str
) -> None:
    made = await wanted(database, feed_id="first")
    with pytest.raises(DuplicateUrl) as refused:
        await wanted(database, spelling, feed_id="second")
    assert refused.value.facts["subscription_id"] == made.id
    assert refused.value.facts["feed_id"] == "first"
    async with database.read() as view:
        assert await subscription_rows.find_subscription_by_url(view, spelling) == made


async def test_of_many_who_want_a_source_at_the_same_moment_one_gets_it(
    database: SqlDatabase, open_another: Callable[[], SqlDatabase]
) -> None:
    """Twelve transactions on three pools, for four sources: four made, eight refused."""
    pools = [open_another() for _ in range(3)]
    asked = [
        wanted(pool, f"https://{host}.example/", feed_id=f"{host}{place}")
        for place, pool in enumerate(pools)
        for host in "abcd"
    ]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    made = [answer for answer in answers if isinstance(answer, Subscription)]
    refused = [answer for answer in answers if isinstance(answer, DuplicateUrl)]
    assert sorted(each.source_url[8] for each in made) == ["a", "b", "c", "d"]
    known = {each.id for each in made}
    assert [each.facts["subscription_id"] in known for each in refused] == [True] * 8
    (count,) = await rows(
        database,
        "SELECT (SELECT count(*) FROM feeds) AS feeds,"
        " (SELECT count(*) FROM rss_subscriptions) AS subscriptions",
    )
    assert tuple(count) == (4, 4)


async def test_the_database_itself_holds_that_a_source_is_wanted_once(
    database: SqlDatabase,
) -> None:
    """Even where two feeds were made for it."""
    first = await wanted(database)
    async with database.write() as tx:
        other = await insert_or_restore_feed(
            tx, "https://b.example/", FeedOptions(), feed_id=FeedId("b"), interval_sec=1, now=NOON,
            visit_at=NOON,
        )  # fmt: skip
        builtin = await fetcher_rows.get_fetcher(tx, FEED)
        with pytest.raises(DuplicateUrl) as refused:
            await subscription_rows.insert_subscription(
                tx, NewSubscription(URL), other, builtin, auto_selected=True, now=NOON
            )
    assert refused.value.facts["subscription_id"] == first.id


async def test_an_inactive_one_comes_back_under_its_number_with_its_history(
    database: SqlDatabase,
) -> None:
    first = await wanted(database, feed_id="first")
    async with database.write() as tx:
        await history_rows.insert_history(
            tx, first.id, at=NOON, who="ada", what="created", why=None, before=None, after={"n": 1}
        )
    gone = await let_go(database, first)
    assert (gone.is_active, gone.next_fetch_at) == (False, None)
    back = await wanted(
        database, f"{URL}#again", MIKANANI, feed_id="unused", auto_selected=False, now=LATER
    )
    assert (back.id, back.feed_id, back.is_active) == (first.id, "first", True)
    assert (back.fetcher_name, back.assignment_status) == ("mikanani", "assigned")
    assert (back.created_at, back.updated_at, back.next_fetch_at) == (NOON, LATER, LATER)
    async with database.read() as view:
        (told,) = await history_rows.list_history(view, first.id, limit=10)
    assert (told.who, told.what, told.after) == ("ada", "created", {"n": 1})


async def test_of_two_who_bring_it_back_at_the_same_moment_one_does(
    database: SqlDatabase, open_another: Callable[[], SqlDatabase]
) -> None:
    first = await wanted(database)
    await let_go(database, first)
    answers = await asyncio.gather(
        *(wanted(open_another(), now=LATER) for _ in range(3)), return_exceptions=True
    )
    assert [each.id for each in answers if isinstance(each, Subscription)] == [first.id]
    assert sum(isinstance(each, DuplicateUrl) for each in answers) == 2


async def test_a_moved_feed_is_still_the_one_that_was_asked_for(database: SqlDatabase) -> None:
    first = await wanted(database, feed_id="first")
    await moved(database, first, "https://new.example/feed")
    for url in (URL, "https://new.example/feed"):
        with pytest.raises(DuplicateUrl) as refused:
            await wanted(database, url, feed_id="second")
        assert refused.value.facts["subscription_id"] == first.id
        async with database.read() as view:
            found = await subscription_rows.find_subscription_by_url(view, url)
        assert found is not None
        assert found.id == first.id


@pytest.mark.parametrize("url", [URL, "https://new.example/feed"])
async def test_a_moved_feed_comes_back_by_its_old_and_by_its_new_address(
    database: SqlDatabase, url: str
) -> None:
    first = await wanted(database, feed_id="first")
    await moved(database, first, "https://new.example/feed")
    await let_go(database, first)
    back = await wanted(database, url, feed_id="unused", now=LATER)
    assert (back.id, back.feed_id, back.source_url) == (first.id, "first", url)
    (row,) = await rows(database, "SELECT url FROM feeds")
    assert row.url == "https://new.example/feed"


async def test_what_a_registered_fetcher_visits_no_worker_of_ours_claims(
    database: SqlDatabase,
) -> None:
    remote = await joined(database)
    ours = await wanted(database, "https://a.example/")
    theirs = await wanted(database, "https://b.example/", remote.id)
    assert (await feed_row(database, theirs.feed_pk)).shard == -remote.id
    async with database.write() as tx:
        await worker_rows.claim_shards(tx, ANNA, 0, FAR, 1024)
        claimed = await claim_rows.claim_feeds(tx, ANNA, to_micros(LATER), FAR, 100)
        assert await claim_rows.find_next_due(tx, ANNA) == FAR
    assert [due.feed for due in claimed] == [ours.feed_pk]


async def test_assigning_takes_a_feed_from_our_workers_and_gives_it_back(
    database: SqlDatabase,
) -> None:
    remote = await joined(database)
    made = await wanted(database)
    async with database.write() as tx:
        await worker_rows.claim_shards(tx, ANNA, 0, FAR, 1024)
        (due,) = await claim_rows.claim_feeds(tx, ANNA, to_micros(NOON), to_micros(LATER), 1)
        await tx.run("UPDATE feeds SET etag = 'theirs', last_modified = 'then'")
        there = await subscription_rows.assign(
            tx, made, remote, auto_selected=False, status="assigned", now=LATER
        )
    row = await feed_row(database, made.feed_pk)
    assert (there.fetcher_id, there.assignment_status, there.auto_selected) == (
        remote.id, "assigned", False,
    )  # fmt: skip
    assert (there.assigned_at, there.next_fetch_at) == (LATER, LATER)
    assert (row.shard, row.claimed_by, row.fence) == (-remote.id, None, due.fence + 1)
    assert (row.scheduled_at, row.etag, row.last_modified) == (to_micros(LATER), None, None)
    async with database.write() as tx:
        builtin = await fetcher_rows.get_fetcher(tx, FEED)
        back = await subscription_rows.assign(
            tx, there, builtin, auto_selected=True, status="auto_assigned", now=LATER
        )
    assert (back.fetcher_id, back.assigned_at) == (FEED, None)
    assert (await feed_row(database, made.feed_pk)).shard == shard_of("a.example")


async def test_assigning_to_the_same_fetcher_disturbs_no_visit(database: SqlDatabase) -> None:
    made = await wanted(database)
    before = await feed_row(database, made.feed_pk)
    async with database.write() as tx:
        builtin = await fetcher_rows.get_fetcher(tx, FEED)
        after = await subscription_rows.assign(
            tx, made, builtin, auto_selected=False, status="assigned", now=LATER
        )
    assert (after.assignment_status, after.assigned_at) == ("assigned", LATER)
    assert await feed_row(database, made.feed_pk) == before


@pytest.mark.parametrize("outcome", ["throttled", "failed"])
async def test_a_host_that_asked_for_a_rest_gets_it_whoever_comes(
    outcome: str, database: SqlDatabase
) -> None:
    """Beside any error, as after a restart."""
    remote = await joined(database)
    made = await wanted(database)
    async with database.write() as tx:
        await tx.run(
            "UPDATE feeds SET last_outcome = ?, retry_after_sec = 5400.0, last_decision_at = ?",
            outcome,
            to_micros(NOON),
        )
        there = await subscription_rows.assign(
            tx, made, remote, auto_selected=False, status="assigned", now=LATER
        )
    assert there.next_fetch_at == NOON + timedelta(minutes=90)


async def test_a_paused_feed_is_not_made_due_by_assigning_it(database: SqlDatabase) -> None:
    remote = await joined(database)
    made = await wanted(database)
    async with database.write() as tx:
        await tx.run("UPDATE feeds SET state = 'paused', next_visit_at = NULL")
        there = await subscription_rows.assign(
            tx, made, remote, auto_selected=False, status="assigned", now=LATER
        )
    assert (there.next_fetch_at, there.is_active) == (None, True)


async def test_a_move_leaves_a_feed_with_its_registered_fetcher(database: SqlDatabase) -> None:
    remote = await joined(database)
    ours = await wanted(database, "https://a.example/")
    theirs = await wanted(database, "https://b.example/", remote.id)
    await moved(database, ours, "https://c.example/")
    await moved(database, theirs, "https://d.example/")
    assert (await feed_row(database, ours.feed_pk)).shard == shard_of("c.example")
    row = await feed_row(database, theirs.feed_pk)
    assert (row.shard, row.host) == (-remote.id, "d.example")


async def test_only_what_is_said_changes(database: SqlDatabase) -> None:
    made = await wanted(database, new=NewSubscription(URL, description="Old.", config="{}"))
    async with database.write() as tx:
        after = await subscription_rows.update_subscription(
            tx, made.id, SubscriptionPatch(description=None), LATER
        )
    assert after == replace(made, description=None, updated_at=LATER)


async def test_what_is_said_of_the_feed_is_handed_on(database: SqlDatabase) -> None:
    patch = SubscriptionPatch(name=None, fetch_interval_minutes=90, priority=3, config="{}")
    assert patch.feed_patch.overrides == {"title": None, "interval_sec": 5400.0}
    assert patch.feed_patch.priority == 3


async def test_letting_go_twice_is_letting_go_once(database: SqlDatabase) -> None:
    made = await wanted(database)
    first = await let_go(database, made)
    row = await feed_row(database, made.feed_pk)
    assert (row.state, row.fence, row.next_visit_at) == ("removed", 1, None)
    assert await let_go(database, made) == first
    assert (await feed_row(database, made.feed_pk)).fence == 1


async def test_deleted_for_good_is_gone_with_everything(database: SqlDatabase) -> None:
    made, kept = await wanted(database), await wanted(database, "https://b.example/")
    async with database.write() as tx:
        await history_rows.insert_history(
            tx, made.id, at=NOON, who="ada", what="created", why=None, before=None, after=None
        )
        await subscription_rows.delete_subscription_and_feed(tx, made.id)
        with pytest.raises(NotFound):
            await subscription_rows.get_subscription(tx, made.id)
        with pytest.raises(NotFound):
            await subscription_rows.get_subscription_of_feed(tx, made.feed_id)
        assert await tx.rows("SELECT * FROM assignment_history") == []
        assert [row.id for row in await tx.rows("SELECT id FROM feeds")] == [kept.feed_pk]


async def test_lists_go_on_where_they_stopped(database: SqlDatabase) -> None:
    remote = await joined(database)
    made = [
        await wanted(database, f"https://{host}.example/", remote.id if host in "bd" else FEED)
        for host in "abcde"
    ]
    await let_go(database, made[4])
    async with database.write() as tx:
        await tx.run("INSERT INTO subscription_groups (name, created_at, updated_at)"
                     " VALUES ('news', 1, 1)")  # fmt: skip
        await subscription_rows.update_subscription(
            tx, made[1].id, SubscriptionPatch(group_id=1), NOON
        )

    async def hosts(**wish: Any) -> str:
        async with database.read() as view:
            found = await subscription_rows.list_subscriptions(view, **({"limit": 100} | wish))
        return "".join(each.source_url[8] for each in found)

    assert await hosts() == "abcd"
    assert await hosts(include_inactive=True) == "abcde"
    assert await hosts(limit=2) == "ab"
    assert await hosts(limit=2, after=made[1].id) == "cd"
    assert await hosts(fetcher_id=remote.id) == "bd"
    assert await hosts(group_id=1) == "b"


async def test_a_group_that_goes_lets_its_members_be(database: SqlDatabase) -> None:
    made = await wanted(database)
    async with database.write() as tx:
        await tx.run("INSERT INTO subscription_groups (name, created_at, updated_at)"
                     " VALUES ('news', 1, 1)")  # fmt: skip
        await subscription_rows.update_subscription(
            tx, made.id, SubscriptionPatch(group_id=1), NOON
        )
        await tx.run("DELETE FROM subscription_groups")
        assert (await subscription_rows.get_subscription(tx, made.id)).group_id is None


async def test_what_was_never_asked_for_is_not_there(database: SqlDatabase) -> None:
    async with database.read() as view:
        assert (
            await subscription_rows.find_subscription_by_url(view, "https://never.example/") is None
        )
        with pytest.raises(NotFound):
            await subscription_rows.get_subscription(view, 1)
