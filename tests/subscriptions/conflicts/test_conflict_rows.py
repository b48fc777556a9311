"""Conflicts and the history of decisions, on both databases."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import AlreadyResolved, DatabaseRefused, NotFound
from headwater.core.values.ids import FetcherId
from headwater.subscriptions import history_rows, subscription_rows
from headwater.subscriptions.conflicts import conflict_rows
from headwater.subscriptions.conflicts.conflict import SUBSCRIPTION_DELETED, Conflict, is_new_choice
from headwater.subscriptions.subscription import Subscription
from tests.support.registry_rows import FEED, LATER, MIKANANI, NOON, joined, wanted

TIE = "Two fetchers of the same priority said yes."


async def opened(
    database: SqlDatabase, of: Subscription, *candidates: FetcherId
) -> tuple[Conflict, bool]:
    async with database.write() as tx:
        return await conflict_rows.insert_conflict(
            tx, of.id, "multi_fetcher_match", candidates or (FEED, MIKANANI), TIE, NOON
        )


async def decided(database: SqlDatabase, conflict_id: int, fetcher_id: FetcherId) -> Conflict:
    """As whoever decides does it: read under a lock, check, write."""
    async with database.write() as tx:
        there = await conflict_rows.get_conflict(tx, conflict_id, lock=True)
        if is_new_choice(there, fetcher_id):
            return await conflict_rows.set_resolved(tx, there, fetcher_id, "better", "ada", LATER)
        return there


async def test_an_open_conflict_names_its_candidates(database: SqlDatabase) -> None:
    made = await wanted(database)
    conflict, is_new = await opened(database, made, MIKANANI, FEED, FetcherId(99))
    assert is_new
    assert conflict == Conflict(
        id=1, subscription_id=made.id, source_url=made.source_url, type="multi_fetcher_match",
        candidates=(MIKANANI, FEED, FetcherId(99)), reason=TIE, status="unresolved",
        resolution=None, resolved_at=None, created_at=NOON, updated_at=NOON,
        candidate_names={MIKANANI: "mikanani", FEED: "feed"},
    )  # fmt: skip
    assert conflict.chosen is None


async def test_at_most_one_is_open_for_a_subscription(database: SqlDatabase) -> None:
    made, other = await wanted(database), await wanted(database, "https://b.example/")
    first, _ = await opened(database, made)
    again, is_new = await opened(database, made, MIKANANI)
    assert (again, is_new) == (first, False)
    assert (await opened(database, other))[1]


async def test_of_many_opened_at_the_same_moment_there_is_one(
    database: SqlDatabase, open_another: Callable[[], SqlDatabase]
) -> None:
    made = await wanted(database)
    answers = await asyncio.gather(*(opened(open_another(), made) for _ in range(4)))
    assert len({conflict.id for conflict, _ in answers}) == 1
    assert sorted(is_new for _, is_new in answers) == [False, False, False, True]


async def test_the_database_itself_holds_that_one_is_open(database: SqlDatabase) -> None:
    made = await wanted(database)
    await opened(database, made)
    with pytest.raises(DatabaseRefused):
        async with database.write() as tx:
            await tx.run(
                "INSERT INTO subscription_conflicts (subscription_id, conflict_type,"
                " conflict_data, resolution_status, created_at, updated_at)"
                " VALUES (?, 'x', '{}', 'unresolved', 1, 1)",
                made.id,
            )


async def test_a_decision_is_kept_with_who_when_and_why(database: SqlDatabase) -> None:
    made = await wanted(database)
    conflict, _ = await opened(database, made)
    after = await decided(database, conflict.id, MIKANANI)
    assert after == replace(
        conflict,
        status="resolved",
        resolution={
            "resolved_fetcher_id": 2,
            "resolved_at": "2026-01-05T13:00:00Z",
            "resolution_reason": "better",
            "resolved_by": "ada",
        },
        resolved_at=LATER,
        updated_at=LATER,
    )
    assert after.chosen == MIKANANI
    assert await decided(database, conflict.id, MIKANANI) == after
    later, is_new = await opened(database, made)
    assert (later.id != conflict.id, is_new) == (True, True)


async def test_of_two_who_decide_at_the_same_moment_one_does(
    database: SqlDatabase, open_another: Callable[[], SqlDatabase]
) -> None:
    """Whichever comes first; the other is told, and changes nothing."""
    conflict, _ = await opened(database, await wanted(database))
    answers = await asyncio.gather(
        decided(open_another(), conflict.id, FEED),
        decided(open_another(), conflict.id, MIKANANI),
        return_exceptions=True,
    )
    (won,) = [each for each in answers if isinstance(each, Conflict)]
    (lost,) = [each for each in answers if isinstance(each, AlreadyResolved)]
    assert lost.facts["resolved_fetcher_id"] == won.chosen
    async with database.read() as view:
        assert await conflict_rows.get_conflict(view, conflict.id) == won


async def test_a_decision_and_a_deletion_do_not_wait_for_each_other(
    database: SqlDatabase, open_another: Callable[[], SqlDatabase]
) -> None:
    """Both take the feed's row first: one after the other, whichever it is, and no deadlock."""
    made = await wanted(database)
    conflict, _ = await opened(database, made)

    async def let_go(pool: SqlDatabase) -> list[Conflict]:
        async with pool.write() as tx:
            await subscription_rows.deactivate(tx, made.id, LATER)
            return await conflict_rows.close_open_conflicts(
                tx, made.id, SUBSCRIPTION_DELETED, "ada", LATER
            )

    choice, closed = await asyncio.gather(
        decided(open_another(), conflict.id, FEED), let_go(open_another()), return_exceptions=True
    )
    assert isinstance(closed, list)
    if closed:
        assert isinstance(choice, AlreadyResolved)
    else:
        assert isinstance(choice, Conflict)


async def test_what_is_not_wanted_any_more_needs_no_decision(database: SqlDatabase) -> None:
    made, other = await wanted(database), await wanted(database, "https://b.example/")
    conflict, _ = await opened(database, made)
    kept, _ = await opened(database, other)
    async with database.write() as tx:
        (closed,) = await conflict_rows.close_open_conflicts(
            tx, made.id, SUBSCRIPTION_DELETED, "ada", LATER
        )
        assert (
            await conflict_rows.close_open_conflicts(
                tx, made.id, SUBSCRIPTION_DELETED, "ada", LATER
            )
            == []
        )
    assert (closed.id, closed.status, closed.chosen) == (conflict.id, "resolved", None)
    assert closed.resolution is not None
    assert closed.resolution["resolution_reason"] == "subscription_deleted"
    async with database.read() as view:
        assert await conflict_rows.list_conflicts(view, limit=10) == [kept]


async def test_lists_are_by_status_and_go_on_where_they_stopped(database: SqlDatabase) -> None:
    remote = await joined(database)
    made = [await wanted(database, f"https://{host}.example/") for host in "abc"]
    opens = [(await opened(database, each, FEED, remote.id))[0] for each in made]
    await decided(database, opens[0].id, remote.id)
    async with database.read() as view:
        assert [each.id for each in await conflict_rows.list_conflicts(view, limit=10)] == [2, 3]
        assert [each.id for each in await conflict_rows.list_conflicts(view, limit=1, after=2)] == [
            3
        ]
        assert [
            each.id for each in await conflict_rows.list_conflicts(view, status="all", limit=2)
        ] == [1, 2]
        (done,) = await conflict_rows.list_conflicts(view, status="resolved", limit=10)
        (mine,) = await conflict_rows.list_conflicts(view, limit=10, subscription_id=made[2].id)
    assert (done.chosen, done.candidate_names) == (remote.id, {FEED: "feed", remote.id: "forum"})
    assert mine.id == 3


async def test_what_is_not_there_is_not_found(database: SqlDatabase) -> None:
    async with database.write() as tx:
        for lock in (False, True):
            with pytest.raises(NotFound, match="Conflict not found: 7"):
                await conflict_rows.get_conflict(tx, 7, lock=lock)


async def test_history_is_told_newest_first_and_goes_on_where_it_stopped(
    database: SqlDatabase,
) -> None:
    made, other = await wanted(database), await wanted(database, "https://b.example/")
    async with database.write() as tx:
        for place, who in enumerate(("ada", "bob", "cy")):
            await history_rows.insert_history(
                tx, made.id, at=LATER, who=who, what="assigned", why="because",
                before={"fetcher_id": place}, after={"fetcher_id": place + 1}, conflict_id=place,
            )  # fmt: skip
        await history_rows.insert_history(
            tx, other.id, at=NOON, who="dan", what="created", why=None, before=None, after=None
        )
        told = await history_rows.list_history(tx, made.id, limit=2)
        assert [each.who for each in told] == ["cy", "bob"]
        (first,) = await history_rows.list_history(tx, made.id, before=told[-1].id, limit=2)
    assert (first.at, first.what, first.why) == (LATER, "assigned", "because")
    assert (first.before, first.after) == ({"fetcher_id": 0}, {"fetcher_id": 1})
    assert first.conflict_id == 0
