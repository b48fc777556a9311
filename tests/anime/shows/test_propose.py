"""What a feed is about: proposed from its title and its releases, with a reason for each field."""

from datetime import UTC, datetime

from headwater.anime.candidate import Offer
from headwater.anime.release import ReleaseKind
from headwater.anime.shows.propose import propose_show
from headwater.anime.shows.show import Show
from headwater.anime.title import read_title
from tests.support.releases import NOON, candidate


def offers(*titles: str, published: datetime | None = None) -> list[Offer]:
    return [
        Offer(candidate(str(at), title, published=published), read_title(title).release)
        for at, title in enumerate(titles)
    ]


def test_a_site_that_lists_one_show_names_it() -> None:
    found = propose_show(
        "Mikan Project - 金牌得主 第二季",
        offers("[喵萌奶茶屋] 金牌得主 第二季 / Medalist S2 - 01 [1080p][简日]", "[ANi] 勋章 - 02"),
    )
    assert found.show == Show("金牌得主", season=2)
    assert found.because["title"] == "The feed is called so."
    assert found.groups == {"喵萌奶茶屋": 1, "ANi": 1}


def test_a_list_of_ones_own_is_no_show() -> None:
    found = propose_show("Mikan Project - 我的番组", offers("[A] Tides - 01", "[A] Dunes - 01"))
    assert found.show is None
    assert found.titles == {"Tides": 1, "Dunes": 1}


def test_every_show_of_a_list_of_ones_own_is_proposed_by_itself() -> None:
    found = propose_show(
        "Mikan Project - 我的番组",
        offers(
            "[A] 潮汐 / Tides - 01", "[B] Tides - 02", "[A] Dunes S2 - 05", "[C] 电影 Dawn [Movie]"
        ),
    )
    by_title = {show.title: show for show in found.shows}
    assert set(found.shows[0].titles) == {"潮汐", "Tides"}
    assert by_title["Dunes"].season == 2
    assert len(found.shows) == 3


def test_what_was_looked_for_is_no_show() -> None:
    found = propose_show("Mikan Project - 搜索结果", offers("[A] Tides - 01", "[A] Dunes - 01"))
    assert (found.show, found.titles) == (None, {"Tides": 1, "Dunes": 1})


def test_a_search_is_of_what_its_releases_are_called() -> None:
    found = propose_show(
        'Nyaa - "tides" - Torrent File RSS',
        offers("[A] Tides - 01 [1080p]", "[B] Tides - 02 [720p]", "[C] Tides - 02 [1080p]"),
    )
    assert found.show == Show("tides", titles=("tides",))
    assert found.because["titles"] == "Only releases of these names are of this show."


def test_any_feed_of_one_show_is_called_as_its_releases_are() -> None:
    found = propose_show("ACG.RIP", offers("[A] Tides - 01", "[B] Tides - 02", "[B] Tides - 03"))
    assert found.show == Show("Tides", titles=("Tides",))
    assert found.because["title"] == "Its releases are called so."


def test_releases_that_share_a_name_are_of_one_show() -> None:
    found = propose_show(
        None,
        offers("[A] 潮汐 / Tides - 01", "[B] Tides - 02", "[C] 潮汐 - 03"),
    )
    assert found.show is not None
    assert set(found.show.titles) == {"潮汐", "Tides"}
    assert found.releases == 3


def test_a_few_strangers_do_not_hide_the_show() -> None:
    many = [f"[A] Tides - {number:02}" for number in range(1, 10)]
    found = propose_show("x", offers(*many, "[B] Dunes - 01"))
    assert found.show == Show("Tides", titles=("Tides",))


def test_a_title_that_was_given_is_kept_and_finds_its_releases() -> None:
    found = propose_show("x", offers("[A] Tides S2 - 01", "[B] Dunes - 01"), "Tides")
    assert found.show == Show("Tides", season=2, titles=("Tides",))
    assert found.because["title"] == "It was given."
    assert found.groups == {"A": 1}
    unheard = propose_show("x", offers("[A] Tides - 01"), "Seas")
    assert unheard.show == Show("Seas", titles=("Seas",))


def test_a_feed_without_releases_proposes_nothing() -> None:
    assert propose_show("Tides", []).show is None
    assert propose_show(None, []).show is None


def test_a_season_that_few_titles_name_is_believed() -> None:
    found = propose_show("x", offers("[A] Tides S3 - 01", "[B] Tides - 01", "[C] Tides - 02"))
    assert found.show is not None
    assert found.show.season == 3
    assert found.because["season"] == "1 of the 3 newest releases say so."


def test_the_newest_releases_say_the_season() -> None:
    old = offers(
        *[f"[A] Tides S1 - {n:02}" for n in range(1, 30)],
        published=datetime(2024, 1, 1, tzinfo=UTC),
    )
    new = offers(*[f"[A] Tides S2 - {n:02}" for n in range(1, 25)], published=NOON)
    found = propose_show("x", [*old, *new])
    assert found.show is not None
    assert found.show.season == 2


def test_the_year_is_that_of_the_titles_or_of_the_first_episode() -> None:
    said = propose_show("x", offers("[A] Tides (2019) - 05"))
    assert said.show is not None
    assert said.show.year == 2019
    # In Japan it is January already.
    late = datetime(2025, 12, 31, 16, tzinfo=UTC)
    aired = propose_show("x", offers("[A] Tides - 01", published=late))
    assert aired.show is not None
    assert aired.show.year == 2026
    assert aired.because["year"] == "Its first episode came out then."
    middle = propose_show("x", offers("[A] Tides - 05", published=late))
    assert middle.show is not None
    assert middle.show.year is None
    sequel = propose_show("x", offers("[A] Tides S2 - 01", published=late))
    assert sequel.show is not None
    assert sequel.show.year is None


def test_two_numbers_that_agree_give_the_offset() -> None:
    found = propose_show("x", offers("[A] Tides - 01(13)", "[A] Tides - 02(14)"))
    assert found.show is not None
    assert found.show.episode_offset == -12
    apart = propose_show("x", offers("[A] Tides - 01(13)", "[A] Tides - 02(15)"))
    assert apart.show is not None
    assert apart.show.episode_offset == 0


def test_the_mark_of_the_last_episode_gives_their_number() -> None:
    found = propose_show("x", offers("[A] Tides - 12 END", "[A] Tides - 11"))
    assert found.show is not None
    assert found.show.episodes == 12
    beyond = propose_show("x", offers("[A] Tides - 12 END", "[A] Tides - 13"))
    assert beyond.show is not None
    assert beyond.show.episodes is None


def test_a_feed_of_a_film_proposes_a_film() -> None:
    found = propose_show("x", offers("[A] Tides Movie [1080p]", "[B] Tides Movie [BDRip]"))
    assert found.show is not None
    assert found.show.main_kind is ReleaseKind.MOVIE


def test_very_many_names_are_clustered_in_time() -> None:
    chain = [f"[A] n{n} / n{n + 1} - 01" for n in range(3_000)]
    found = propose_show("x", offers(*chain))
    assert found.show is not None
    assert len(found.show.titles) == 12
