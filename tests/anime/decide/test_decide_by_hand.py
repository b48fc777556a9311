"""A person takes or refuses a release, whatever was decided of it."""

from decimal import Decimal

import pytest

from headwater.anime.decide.decide_again import catch_up, record_decisions_again
from headwater.anime.decide.decide_by_hand import refuse_release, take_release
from headwater.anime.shows.show import Show
from headwater.core.errors import BadInput, ConflictError, NotFound
from tests.support.releases import slot
from tests.support.tracked_feed import Harbour, ani, item, loli

ODD = item("odd", "[ANi] Tides [1080P][CHT]")


async def kept(harbour: Harbour, *items: str, show: Show | None = None) -> int:
    """All of these are decided; the tracking's number."""
    await harbour.follow(*items)
    tracking = await harbour.track(show=show)
    await catch_up(harbour.engine.releases, tracking.id)
    return tracking.id


async def test_a_worse_one_takes_the_place_of_what_is_held(harbour: Harbour) -> None:
    await kept(harbour, loli("01"), ani("01"))
    (first,) = await harbour.downloads()
    taken = await take_release(harbour.engine.database, (await harbour.row("ani-01")).id)
    assert (taken.action, taken.rule, taken.reason) == ("upgrade", "by_hand", "A person took it.")
    _, second = await harbour.downloads()
    assert second.state == "intended"
    assert [(loss.download_id, loss.is_whole) for loss in second.replaces] == [(first.id, True)]
    assert len(await harbour.told("release_found")) == 2


async def test_taking_twice_is_taking_once(harbour: Harbour) -> None:
    await kept(harbour, loli("01"))
    row = await harbour.row("loli-01")
    assert await take_release(harbour.engine.database, row.id) == row
    assert len(await harbour.downloads()) == 1


async def test_what_was_held_needs_to_know_its_episode(harbour: Harbour) -> None:
    await kept(harbour, ODD)
    row = await harbour.row("odd")
    assert row.action == "hold"
    with pytest.raises(BadInput, match="which episode"):
        await take_release(harbour.engine.database, row.id)
    taken = await take_release(harbour.engine.database, row.id, [Decimal(5), Decimal(5)])
    assert (taken.action, taken.slots) == ("fetch", (slot(5),))
    (download,) = await harbour.downloads()
    assert download.slots == (slot(5),)


async def test_what_the_filter_removed_goes_where_its_title_says(harbour: Harbour) -> None:
    await kept(harbour, item("pack", "[LoliHouse] Tides [01-03][1080p][CHS]"))
    row = await harbour.row("pack")
    assert (row.rule, row.slots) == ("pack", ())
    taken = await take_release(harbour.engine.database, row.id)
    assert taken.slots == (slot(1), slot(2), slot(3))


async def test_another_season_has_its_place_there(harbour: Harbour) -> None:
    await kept(harbour, item("two", "[ANi] Tides S2 - 04 [1080P][CHT]"))
    row = await harbour.row("two")
    assert row.rule == "other_season"
    assert (await take_release(harbour.engine.database, row.id)).slots == (slot(4, season=2),)


async def test_what_cannot_be_fetched_cannot_be_taken(harbour: Harbour) -> None:
    await kept(harbour, item("bare", "[ANi] Tides - 03 [1080P][CHT]", torrent=False))
    with pytest.raises(BadInput, match="neither a torrent nor a magnet link"):
        await take_release(harbour.engine.database, (await harbour.row("bare")).id)


async def test_a_failed_one_begins_anew_when_it_is_taken(harbour: Harbour) -> None:
    await kept(harbour, ani("01"))
    (first,) = await harbour.downloads()
    await harbour.end(first, "failed")
    await take_release(harbour.engine.database, (await harbour.row("ani-01")).id)
    (again,) = await harbour.downloads()
    assert (again.id, again.state, again.attempts) == (first.id, "intended", 0)
    assert again.fence > first.fence


async def test_what_is_leaving_must_be_gone_first(harbour: Harbour) -> None:
    await kept(harbour, ani("01"))
    (first,) = await harbour.downloads()
    await harbour.end(first, "retiring")
    with pytest.raises(ConflictError, match="on its way out"):
        await take_release(harbour.engine.database, (await harbour.row("ani-01")).id)


async def test_what_is_refused_never_comes_from_any_feed(harbour: Harbour) -> None:
    tracking = await kept(harbour, item("odd", "[ANi] Tides [1080P]", infohash="ab" * 20))
    row = await harbour.row("odd")
    refused = await refuse_release(harbour.engine.database, row.id)
    assert (refused.action, refused.rule) == ("refused", "by_hand")
    assert await refuse_release(harbour.engine.database, row.id) == refused
    await harbour.arrive(item("twin", "[LoliHouse] Tides - 01 [1080p]", infohash="ab" * 20))
    await harbour.deliver()
    assert (await harbour.row("twin")).reason == "A person does not want it."
    await record_decisions_again(harbour.engine.releases, tracking)
    assert await harbour.verdicts() == {"odd": "refused:by_hand", "twin": "skip:refused"}
    assert await harbour.downloads() == []


async def test_what_is_refused_may_be_taken_after_all(harbour: Harbour) -> None:
    await kept(harbour, loli("01"), ani("01"))
    row = await harbour.row("ani-01")
    await refuse_release(harbour.engine.database, row.id)
    assert (await take_release(harbour.engine.database, row.id)).action == "upgrade"


@pytest.mark.parametrize("state", ["intended", "added", "done"])
async def test_what_is_on_its_way_must_be_dropped_first(harbour: Harbour, state: str) -> None:
    await kept(harbour, ani("01"))
    (download,) = await harbour.downloads()
    await harbour.end(download, state)
    with pytest.raises(ConflictError, match="drop its download") as refused:
        await refuse_release(harbour.engine.database, (await harbour.row("ani-01")).id)
    assert refused.value.facts == {"download_id": download.id, "state": state}
    await harbour.end(download, "dropped")
    assert (
        await refuse_release(harbour.engine.database, (await harbour.row("ani-01")).id)
    ).action == "refused"


async def test_nobody_takes_what_is_not_there(harbour: Harbour) -> None:
    with pytest.raises(NotFound):
        await take_release(harbour.engine.database, 7)
    with pytest.raises(NotFound):
        await refuse_release(harbour.engine.database, 7)
