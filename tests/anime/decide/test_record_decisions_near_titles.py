"""A title that only holds the name of a show: it fills a gap, and makes way for the real one."""

from headwater.anime.shows.show import Show
from tests.support.tracked_feed import Harbour, item

TIDES = Show("Tides", titles=("Tides",))


async def come(harbour: Harbour, *items: str) -> None:
    await harbour.arrive(*items)
    await harbour.deliver()


async def test_the_real_episode_takes_its_place_from_one_of_a_title_that_is_near(
    harbour: Harbour,
) -> None:
    """Else an episode of a spin-off would keep the real one out for ever."""
    await harbour.follow()
    await harbour.track(show=TIDES)
    near = item("near", "[LoliHouse] Tides Gaiden - 05 [1080p][CHS]")
    await come(harbour, near)
    await come(harbour, item("real", "[ANi] Tides - 05 [1080P][CHT]"), near)
    assert await harbour.verdicts() == {"near": "fetch:unsure", "real": "upgrade:sure"}
    assert (await harbour.row("near")).reason == (
        "Nothing is held for S01E05. But: Its title 'Tides Gaiden' may be another show's."
    )
    wrong, right = await harbour.downloads()
    assert [loss.download_id for loss in right.replaces] == [wrong.id]
    assert (await harbour.row("real")).reason == (
        "What is held may be something else, and this is not."
    )


async def test_names_that_are_given_later_make_nothing_unsure(harbour: Harbour) -> None:
    await harbour.follow()
    tracking = await harbour.track(show=Show("Tides"))
    await come(harbour, item("held", "[LoliHouse] 潮汐 - 05 [1080p][CHS]"))
    await harbour.run("UPDATE shows SET titles = ? WHERE id = ?", '["Tides"]', tracking.show_id)
    await come(harbour, item("worse", "[ANi] Tides - 05 [1080P][CHT]"))
    assert await harbour.verdicts() == {"held": "fetch:missing", "worse": "skip:group"}


async def test_what_is_near_never_comes_back_for_what_is_sure(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track(show=TIDES)
    await come(harbour, item("real", "[ANi] Tides - 05 [1080P][CHT]"))
    await come(harbour, item("near", "[LoliHouse] Tides Gaiden - 05 [1080p][CHS]"))
    assert await harbour.verdicts() == {"real": "fetch:missing", "near": "hold:unsure"}


async def test_what_is_called_as_another_show_that_is_collected_is_not_this_one(
    harbour: Harbour,
) -> None:
    await harbour.follow()
    tides = await harbour.track(show=TIDES)
    gaiden = await harbour.track(show=Show("Tides Gaiden", titles=("Tides Gaiden",)))
    await come(harbour, item("g", "[ANi] Tides Gaiden - 05 [1080P][CHT]"))
    said = {row.tracking_id: f"{row.action}:{row.rule}" for row in await harbour.decided()}
    assert said == {tides.id: "skip:other_show", gaiden.id: "fetch:missing"}


async def test_another_season_of_the_same_name_is_no_other_show(harbour: Harbour) -> None:
    await harbour.follow()
    first = await harbour.track(show=TIDES)
    second = await harbour.track(show=Show("Tides", season=2, titles=("Tides",)))
    await come(harbour, item("x", "[ANi] Tides S2 - 05 [1080P][CHT]"))
    said = {row.tracking_id: f"{row.action}:{row.rule}" for row in await harbour.decided()}
    assert said == {first.id: "skip:other_season", second.id: "fetch:missing"}


async def test_what_names_no_season_is_of_the_first_that_is_collected(harbour: Harbour) -> None:
    """Else the second season would be filled with the first, and its own episodes kept out."""
    await harbour.follow()
    first = await harbour.track(show=TIDES)
    second = await harbour.track(show=Show("Tides", season=2, titles=("Tides",)))
    await come(harbour, item("x", "[ANi] Tides - 05 [1080P][CHT]"))
    await come(harbour, item("y", "[ANi] Tides S2 - 05 [1080P][CHT]"))
    said = {
        (row.tracking_id, row.candidate.uid): f"{row.action}:{row.rule}"
        for row in await harbour.decided()
    }
    assert said == {
        (first.id, "x"): "fetch:missing",
        (second.id, "x"): "skip:other_season",
        (first.id, "y"): "skip:other_season",
        (second.id, "y"): "fetch:missing",
    }
    assert [str(slot) for each in await harbour.downloads() for slot in each.slots] == [
        "S01E05",
        "S02E05",
    ]


async def test_a_second_season_alone_takes_what_names_no_season(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track(show=TIDES, enabled=False)
    second = await harbour.track(show=Show("Tides", season=2, titles=("Tides",)))
    await come(harbour, item("x", "[ANi] Tides - 05 [1080P][CHT]"))
    (row,) = await harbour.decided()
    assert (row.tracking_id, row.action) == (second.id, "fetch")


async def test_an_offset_says_which_numbers_are_of_the_second_season(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track(show=Show("Tides", episodes=12, titles=("Tides",)), exclude=("1[3-9]",))
    show = Show("Tides", season=2, episode_offset=-12, titles=("Tides",))
    second = await harbour.track(show=show)
    await come(
        harbour,
        item("old", "[ANi] Tides - 12 [1080P][CHT]"),
        item("new", "[ANi] Tides - 13 [1080P][CHT]"),
    )
    said = {row.candidate.uid: row for row in await harbour.decided(tracking_id=second.id)}
    assert (said["old"].action, said["old"].rule) == ("skip", "other_season")
    assert [str(slot) for slot in said["new"].slots] == ["S02E01"]


async def test_a_name_of_its_own_tells_the_second_season(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track(show=Show("Tides", titles=("潮汐", "Tides")))
    show = Show("Tides", season=2, titles=("潮汐", "Tides Again"))
    second = await harbour.track(show=show)
    await come(harbour, item("x", "[ANi] 潮汐 / Tides Again - 05 [1080P][CHT]"))
    (row,) = await harbour.decided(tracking_id=second.id)
    assert (row.action, [str(slot) for slot in row.slots]) == ("fetch", ["S02E05"])
