"""What is kept already is looked at when a tracking begins, wakes, goes further back or is told."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from headwater.anime.decide import decide_again as catching_up
from headwater.anime.decide import decision_rows, record_decisions
from headwater.anime.decide.decide_again import backfill, catch_up, record_decisions_again
from headwater.anime.decide.decision_rows import list_trackings_behind
from headwater.anime.shows.preferences import Preferences
from headwater.anime.torrents.entry_rows import list_undecided_entries
from headwater.anime.upkeep import ReleaseUpkeep
from headwater.core.errors import ConflictError, DatabaseError, NotFound
from headwater.core.ports import Transaction
from tests.support.clock import START
from tests.support.tracked_feed import Harbour, ani, item, loli


async def waiting(harbour: Harbour) -> list[int]:
    async with harbour.engine.database.read() as view:
        return await list_trackings_behind(view)


async def test_a_new_tracking_looks_at_what_is_kept(harbour: Harbour) -> None:
    await harbour.follow(ani("02"), ani("01"))
    tracking = await harbour.track()
    assert await waiting(harbour) == [tracking.id]
    outcome = await catch_up(harbour.engine.releases, tracking.id)
    assert dict(outcome.counts) == {"fetch": 2}
    assert await waiting(harbour) == []
    assert (await catch_up(harbour.engine.releases, tracking.id)).total == 0


async def test_of_what_is_kept_the_best_is_chosen_over_all_pages(
    harbour: Harbour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catching_up, "_PAGE", 2)
    monkeypatch.setattr(record_decisions, "_AT_ONCE", 3)
    monkeypatch.setattr(record_decisions, "_QUICK", 3)
    numbers = [f"{number:02}" for number in range(1, 9)]
    await harbour.follow(*map(ani, numbers), *map(loli, numbers))
    tracking = await harbour.track()
    outcome = await catch_up(harbour.engine.releases, tracking.id)
    assert dict(outcome.counts) == {"fetch": 8, "skip": 8}
    wanted = await harbour.decided(actions=("fetch",))
    assert [row.candidate.uid for row in wanted] == [f"loli-{number}" for number in numbers]
    assert len(await harbour.decided(actions=("skip",))) == 8


async def test_a_crash_between_slices_loses_nothing(
    harbour: Harbour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_decisions, "_AT_ONCE", 2)
    numbers = [f"{number:02}" for number in range(1, 9)]
    await harbour.follow(*map(ani, numbers), *map(loli, numbers))
    tracking = await harbour.track()
    written = decision_rows.insert_decisions
    calls = 0

    async def dying(tx: Transaction, new: Any, now: datetime) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise DatabaseError("gone")
        await written(tx, new, now)

    monkeypatch.setattr(decision_rows, "insert_decisions", dying)
    with pytest.raises(DatabaseError):
        await catch_up(harbour.engine.releases, tracking.id)
    assert await waiting(harbour) == [tracking.id]
    assert len(await harbour.downloads()) == 8
    await catch_up(harbour.engine.releases, tracking.id)
    assert len(await harbour.decided()) == 16
    assert len(await harbour.downloads()) == 8
    assert len(await harbour.told("release_found")) == 8


async def test_what_came_while_it_was_disabled_is_decided_when_it_is_enabled(
    harbour: Harbour,
) -> None:
    await harbour.follow()
    tracking = await harbour.track(since=START)
    upkeep = ReleaseUpkeep(harbour.engine.releases)
    await upkeep.once()
    await harbour.changed(replace(tracking, enabled=False))
    await harbour.arrive(ani("01"))
    await harbour.deliver()
    await upkeep.once()
    assert await harbour.decided() == []
    await harbour.changed(replace(tracking, enabled=True))
    await upkeep.once()
    assert await harbour.verdicts() == {"ani-01": "fetch:missing"}
    assert await waiting(harbour) == []


async def test_backfill_takes_what_came_out_before(harbour: Harbour) -> None:
    await harbour.follow(ani("02", day=20), ani("01", day=10))
    tracking = await harbour.track(since=START)
    assert dict((await catch_up(harbour.engine.releases, tracking.id)).counts) == {"removed": 2}
    await harbour.clock.advance(1)
    middle = datetime.fromisoformat("2025-12-15T00:00:00Z")
    assert dict((await backfill(harbour.engine.releases, tracking.id, middle)).counts) == {
        "fetch": 1
    }
    assert (await harbour.tracking(tracking.id)).since == middle
    await harbour.clock.advance(1)
    assert dict((await backfill(harbour.engine.releases, tracking.id, None)).counts) == {"fetch": 1}
    assert (await harbour.tracking(tracking.id)).since is None
    assert await harbour.verdicts() == {"ani-01": "fetch:missing", "ani-02": "fetch:missing"}
    assert len(await harbour.told("release_found")) == 2


async def test_backfill_never_goes_forward(harbour: Harbour) -> None:
    await harbour.follow(ani("01", day=10))
    tracking = await harbour.track()
    await backfill(harbour.engine.releases, tracking.id, START)
    assert (await harbour.tracking(tracking.id)).since is None


async def test_a_disabled_tracking_is_not_filled(harbour: Harbour) -> None:
    await harbour.follow(ani("01"))
    tracking = await harbour.track(enabled=False)
    with pytest.raises(ConflictError):
        await backfill(harbour.engine.releases, tracking.id, None)
    with pytest.raises(ConflictError):
        await record_decisions_again(harbour.engine.releases, tracking.id)
    assert (await catch_up(harbour.engine.releases, tracking.id)).total == 0
    with pytest.raises(NotFound):
        await catch_up(harbour.engine.releases, tracking.id + 1)


async def test_other_wishes_decide_anew_on_request_only(harbour: Harbour) -> None:
    small = item("small", "[LoliHouse] Tides - 01 [720P][CHS]")
    await harbour.follow(ani("01"), small)
    tracking = await harbour.track(exclude=("720p",))
    await catch_up(harbour.engine.releases, tracking.id)
    await harbour.changed(replace(tracking, exclude=()))
    await catch_up(harbour.engine.releases, tracking.id)
    assert (await harbour.verdicts())["small"] == "removed:excluded_here"
    outcome = await record_decisions_again(harbour.engine.releases, tracking.id)
    assert dict(outcome.counts) == {"upgrade": 1}
    assert (await harbour.verdicts())["small"] == "upgrade:group"
    first, second = await harbour.downloads()
    assert [loss.download_id for loss in second.replaces] == [first.id]
    assert (await record_decisions_again(harbour.engine.releases, tracking.id)).total == 0


async def test_another_name_of_a_group_counts_when_it_is_decided_anew(harbour: Harbour) -> None:
    await harbour.follow(ani("01"), item("lh", "[LH] Tides - 01 [1080p][CHS]"))
    wishes = Preferences(groups=("LoliHouse", "ANi"))
    tracking = await harbour.track(preferences=wishes)
    await catch_up(harbour.engine.releases, tracking.id)
    assert (await harbour.verdicts())["lh"] == "skip:not_the_best"
    known = replace(wishes, aliases={"LH": "LoliHouse"})
    await harbour.changed(replace(tracking, preferences=known))
    await record_decisions_again(harbour.engine.releases, tracking.id)
    assert (await harbour.verdicts())["lh"] == "upgrade:group"


async def test_what_is_held_is_not_told_again(harbour: Harbour) -> None:
    await harbour.follow(item("odd", "[ANi] Tides [1080P][CHT]"))
    tracking = await harbour.track()
    await catch_up(harbour.engine.releases, tracking.id)
    assert await harbour.verdicts() == {"odd": "hold:unsure"}
    await record_decisions_again(harbour.engine.releases, tracking.id)
    (held,) = await harbour.told("release_held")
    assert (held["title"], held["slots"]) == ("[ANi] Tides [1080P][CHT]", [])


async def test_a_damaged_entry_does_not_stop_the_others(harbour: Harbour) -> None:
    await harbour.follow(ani("01"), ani("02"))
    await harbour.run("UPDATE entries SET details = '[]' WHERE entry_uid = 'ani-01'")
    tracking = await harbour.track()
    await catch_up(harbour.engine.releases, tracking.id)
    assert (await harbour.verdicts())["ani-02"] == "fetch:missing"
    assert await waiting(harbour) == []


async def test_a_sink_that_had_to_be_made_again_means_looking_again(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track()
    upkeep = ReleaseUpkeep(harbour.engine.releases)
    await upkeep.once()
    await harbour.run("DELETE FROM sinks WHERE kind = 'releases'")
    await harbour.arrive(ani("01"))
    await upkeep.once()
    assert await harbour.verdicts() == {"ani-01": "fetch:missing"}
    assert len(await harbour.sinks()) == 1


async def test_nobody_waits_for_a_tracking_that_is_just_let_go(
    harbour: Harbour, monkeypatch: pytest.MonkeyPatch
) -> None:
    await harbour.follow(ani("01"))
    tracking = await harbour.track()
    read = list_undecided_entries

    async def let_go(*asked: Any) -> Any:
        found = await read(*asked)
        await harbour.run("DELETE FROM trackings WHERE id = ?", tracking.id)
        return found

    monkeypatch.setattr(catching_up, "list_undecided_entries", let_go)
    await ReleaseUpkeep(harbour.engine.releases).once()
    assert await harbour.decided() == []
