"""Entries of a tracked feed are decided by the engine's own sink: each once, all with a reason."""

from dataclasses import replace

import pytest

from headwater.anime.decide.policy import ReleasePolicy
from headwater.anime.decide.release_sink import (
    RELEASES,
    ReleaseDecisionSink,
    ensure_release_sink,
    release_kind,
    sync_release_sink,
)
from headwater.anime.shows.show import Show
from headwater.core.errors import BadInput, ConflictError
from headwater.sinks.ports import SinkConfig
from headwater.sinks.sink import SinkDefinition
from headwater.sinks.sink_commands import create_sink, remove_sink
from headwater.sinks.sink_kind import SinkKinds
from tests.support.clock import START
from tests.support.tracked_feed import Harbour, ani, item, loli

EXTRA = item("nc", "[ANi] Tides - NCOP [1080P]")


async def test_every_entry_gets_a_row_with_its_reason(harbour: Harbour) -> None:
    await harbour.follow()
    tracking = await harbour.track(exclude=("720p",))
    small = item("small", "[ANi] Tides - 01 [720P][CHT]")
    pack = item("pack", "[LoliHouse] Tides [01-12][1080p][CHS]")
    bare = item("bare", "[ANi] Tides - 03 [1080P][CHT]", torrent=False)
    await harbour.arrive(ani("01"), small, pack, bare, EXTRA)
    await harbour.deliver()
    assert await harbour.verdicts() == {
        "ani-01": "fetch:missing",
        "small": "removed:excluded_here",
        "pack": "removed:pack",
        "bare": "removed:nothing_to_fetch",
        "nc": "skip:extra",
    }
    row = await harbour.row("ani-01")
    assert (row.tracking_id, row.reason) == (tracking.id, "Nothing is held for S01E01.")
    assert (await harbour.row("small")).reason == "'720p' matches '720P'."


async def test_what_is_wanted_becomes_an_intent_and_is_told_once(harbour: Harbour) -> None:
    await harbour.follow()
    tracking = await harbour.track()
    await harbour.arrive(ani("01", infohash="ab" * 20))
    await harbour.deliver()
    await harbour.deliver()
    (download,) = await harbour.downloads()
    row = await harbour.row("ani-01")
    assert (download.state, download.release_id, download.infohash) == (
        "intended",
        row.id,
        "ab" * 20,
    )
    assert [str(slot) for slot in download.slots] == ["S01E01"]
    assert download.save_path == f"release-{row.id}"
    assert download.next_step_at == harbour.clock.now()
    (found,) = await harbour.told("release_found")
    assert (found["feed"], found["show"], found["tracking_id"]) == (
        harbour.feed_id,
        "Tides",
        tracking.id,
    )
    assert found["slots"] == [{"season": 1, "episode": 1, "name": "S01E01"}]
    assert (found["groups"], found["subtitles"]) == (["ANi"], ["CHT"])
    assert "https" not in str(found)


async def test_of_one_visit_the_best_is_chosen_however_it_is_told(harbour: Harbour) -> None:
    """A sink is told a few events at first: the rest of the visit is looked at with them."""
    await harbour.follow()
    await harbour.track()
    worse = [ani(f"{number:02}") for number in range(1, 31)]
    better = [loli(f"{number:02}") for number in range(1, 31)]
    await harbour.arrive(*worse, *better)
    await harbour.deliver()
    chosen = [row.candidate.uid for row in await harbour.decided(actions=("fetch", "upgrade"))]
    assert chosen == [f"loli-{number:02}" for number in range(1, 31)]
    assert (await harbour.row("ani-07")).rule == "not_the_best"


async def test_a_better_one_later_is_an_upgrade_of_the_first(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track()
    await harbour.arrive(ani("01"))
    await harbour.deliver()
    await harbour.arrive(loli("01"), ani("01"))
    await harbour.deliver()
    first, second = await harbour.downloads()
    assert (await harbour.verdicts())["loli-01"] == "upgrade:group"
    (loss,) = second.replaces
    assert (loss.download_id, loss.is_whole) == (first.id, True)
    assert first.state == "intended"


async def test_the_same_torrent_in_two_entries_is_fetched_once(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track()
    await harbour.arrive(ani("01", infohash="ab" * 20))
    await harbour.deliver()
    again = item("again", "[LoliHouse] Tides - 01 [1080p][CHS]", infohash="ab" * 20)
    await harbour.arrive(again, ani("01", infohash="ab" * 20))
    await harbour.deliver()
    assert (await harbour.verdicts())["again"] == "skip:known"
    assert len(await harbour.downloads()) == 1


async def test_what_was_replaced_never_comes_back(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track()
    await harbour.arrive(ani("01", infohash="ab" * 20))
    await harbour.deliver()
    (first,) = await harbour.downloads()
    await harbour.end(first, "retired")
    again = item("again", "[LoliHouse] Tides - 01 [1080p][CHS]", infohash="ab" * 20)
    await harbour.arrive(again)
    await harbour.deliver()
    assert (await harbour.verdicts())["again"] == "skip:refused"


async def test_replacements_of_a_day_are_limited_and_the_rest_waits(harbour: Harbour) -> None:
    engine = harbour.engine
    one_a_day = ReleasePolicy(replacements_per_day=1)
    kind = release_kind(engine.database, engine.clock, one_a_day)
    engine.outlets = SinkKinds({**engine.outlets.kinds, RELEASES: kind})
    await harbour.follow()
    await harbour.track()
    await harbour.arrive(ani("01"), ani("02"))
    await harbour.deliver()
    await harbour.arrive(loli("01"), loli("02"))
    await harbour.deliver()
    verdicts = await harbour.verdicts()
    assert sorted((verdicts["loli-01"], verdicts["loli-02"])) == ["hold:limit", "upgrade:group"]
    (held,) = await harbour.told("release_held")
    assert held["reason"] == "Enough was replaced for now."


async def test_two_shows_of_one_feed_decide_for_themselves(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track(show=Show("Tides", titles=("Tides",)))
    await harbour.track(show=Show("Waves", titles=("Waves",)))
    await harbour.arrive(ani("01"))
    await harbour.deliver()
    rows = await harbour.decided()
    assert sorted(f"{row.action}:{row.rule}" for row in rows) == [
        "fetch:missing",
        "skip:other_show",
    ]


async def test_nothing_is_there_where_nothing_is_tracked(harbour: Harbour) -> None:
    await sync_release_sink(harbour.engine.releases)
    assert await harbour.sinks() == []


async def test_a_feed_that_nobody_tracks_costs_the_sink_nothing(harbour: Harbour) -> None:
    await harbour.follow()
    tracking = await harbour.track()
    await harbour.changed(replace(tracking, enabled=False))
    (before,) = await harbour.sinks()
    await harbour.arrive(ani("01"))
    await harbour.deliver()
    assert (await harbour.sinks()) == [before]
    assert await harbour.decided() == []


async def test_the_sink_begins_at_the_end_of_the_log(harbour: Harbour) -> None:
    await harbour.follow(ani("01"), ani("02"))
    await harbour.track()
    await harbour.deliver()
    assert await harbour.decided() == []
    (sink,) = await harbour.sinks()
    assert (sink.name, sink.cursor, sink.delivered) == ("releases", 3, 0)


async def test_the_sink_is_there_once_and_only_as_long_as_it_is_needed(harbour: Harbour) -> None:
    await harbour.follow()
    tracking = await harbour.track()
    async with harbour.engine.database.write() as tx:
        assert not await ensure_release_sink(tx, harbour.engine.releases)
    await harbour.run("UPDATE sinks SET stopped = 'failing_too_long' WHERE kind = 'releases'")
    await sync_release_sink(harbour.engine.releases)
    (sink,) = await harbour.sinks()
    assert sink.state == "active"
    await harbour.run("DELETE FROM trackings WHERE id = ?", tracking.id)
    await sync_release_sink(harbour.engine.releases)
    assert await harbour.sinks() == []


async def test_its_name_gives_way_to_somebody_elses(harbour: Harbour) -> None:
    options = {"url": "https://hook.example/"}
    await create_sink(harbour.engine.sinks, SinkDefinition("releases", "webhook", options), most=5)
    await harbour.follow()
    await harbour.track()
    (sink,) = await harbour.sinks()
    assert sink.name == "releases-2"


async def test_nobody_makes_or_removes_one(harbour: Harbour) -> None:
    with pytest.raises(BadInput, match="Headwater's own"):
        await create_sink(harbour.engine.sinks, SinkDefinition("mine", "releases"), most=5)
    await harbour.follow()
    await harbour.track()
    with pytest.raises(ConflictError, match="decides on releases"):
        await remove_sink(harbour.engine.sinks, "releases")
    with pytest.raises(BadInput, match="unknown"):
        harbour.engine.outlets.checked(SinkConfig("releases", "releases", {"speed": 1}, {}))


async def test_a_damaged_entry_holds_up_nobody(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track()
    await harbour.arrive(ani("01"), ani("02"))
    await harbour.run("UPDATE entries SET enclosures = 'torn' WHERE entry_uid = 'ani-01'")
    for _ in range(4):
        await harbour.deliver()
        await harbour.clock.advance(60)
    assert await harbour.verdicts() == {"ani-02": "fetch:missing"}
    letters = await harbour.api.get("/sinks/releases/dead-letters")
    assert [(each["error"], each["attempts"]) for each in letters.json["dead_letters"]] == [
        ("bad_entry", 3)
    ]


async def test_a_tracking_that_is_gone_decides_nothing(harbour: Harbour) -> None:
    await harbour.follow()
    tracking = await harbour.track()
    await harbour.arrive(ani("01"))
    await harbour.run("DELETE FROM trackings WHERE id = ?", tracking.id)
    outlet = await harbour.engine.outlets.open(SinkConfig("releases", "releases", {}, {}))
    assert isinstance(outlet, ReleaseDecisionSink)
    await harbour.deliver()
    assert await harbour.decided() == []


async def test_what_came_out_before_the_tracking_is_not_collected(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track(since=START)
    await harbour.arrive(ani("02"), ani("01", day=30))
    await harbour.deliver()
    assert await harbour.verdicts() == {
        "ani-01": "removed:before_watermark",
        "ani-02": "fetch:missing",
    }
