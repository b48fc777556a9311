"""Shows tracked from the command line: from a URL in one command, with and without a service."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import count
from typing import Any

import pytest

from headwater.core.errors import BadInput
from headwater.entrypoints.cli.anime.tracking_options import show_body, tracking_body
from tests.entrypoints.cli.conftest import Shell
from tests.support.service import Origin
from tests.support.tracked_feed import item

_NUMBERS = count()
NOW = datetime.now(UTC)


def release(title: str, days_ago: int) -> str:
    """An item that came out so many days ago."""
    moment = format_datetime(NOW - timedelta(days=days_ago))
    return item(title, title).replace("</item>", f"<pubDate>{moment}</pubDate></item>")


def published(origin: Origin, *items: str, title: str = "A search") -> str:
    """A feed of its own for every test."""
    path = f"/releases-{next(_NUMBERS)}.xml"
    body = f"<rss version='2.0'><channel><title>{title}</title>{''.join(items)}</channel></rss>"
    origin.pages[path] = ("application/rss+xml", body.encode())
    return origin.url(path)


def tides(origin: Origin) -> str:
    return published(
        origin,
        *(release(f"[ANi] Tides - 0{n} [1080P][CHT]", 29 - 7 * n) for n in (4, 3, 1)),
        release("[LoliHouse] Tides - 01-12 [1080p]", 1),
    )


def test_a_show_is_tracked_from_a_url_in_one_command(alone: Shell, origin: Origin) -> None:
    assert "Nothing is tracked" in alone("track", "list").out
    made = alone("track", "add", tides(origin))
    assert made.code == 0, made.err
    assert "Tides" in made.out
    assert "4 earlier releases are left alone." in made.err
    assert "headwater track backfill 1" in made.err
    assert "headwater run" in made.err
    listed = alone("track", "list", "--json").json
    assert [(each["id"], each["show"]["title"]) for each in listed] == [(1, "Tides")]
    again = alone("track", "add", tides(origin), "--show", "1", "--json")
    assert again.json["show"]["id"] == 1


def test_a_feed_that_is_followed_is_named_as_people_name_feeds(
    alone: Shell, origin: Origin
) -> None:
    url = published(origin, release("[ANi] Tides - 01", 2), title="Mikan Project - 潮汐")
    feed = alone("add", url, "--json").json
    made = alone("track", "add", "潮汐", "--json").json
    assert (made["feed_id"], made["show"]["title"]) == (feed["id"], "潮汐")
    assert made["show"]["titles"] == []
    twice = alone("track", "add", url)
    assert twice.code == 3
    assert "already" in twice.err


def test_a_page_that_links_to_its_feed_leads_there(alone: Shell, origin: Origin) -> None:
    url = published(origin, release("[ANi] Tides - 01", 2))
    link = f'<link rel="alternate" type="application/rss+xml" href="{url}">'
    origin.pages["/a-page"] = ("text/html", f"<html><head>{link}</head></html>".encode())
    made = alone("track", "add", origin.url("/a-page"), "--yes", "--json")
    assert (made.code, made.json["show"]["title"]) == (0, "Tides")


def test_a_feed_of_many_shows_asks_for_a_title(alone: Shell, origin: Origin) -> None:
    url = published(origin, release("[ANi] Tides - 01", 2), release("[ANi] Dunes - 01", 2))
    refused = alone("track", "add", url)
    assert refused.code == 2
    assert "--title" in refused.err
    assert "Dunes" in refused.err
    made = alone("track", "add", url, "--title", "Dunes", "--year", "2024", "--json").json
    assert (made["show"]["title"], made["show"]["year"]) == ("Dunes", 2024)


def test_a_title_that_no_release_has_is_told(alone: Shell, origin: Origin) -> None:
    """The show may be one that is yet to come, so it is taken; a slip of the pen is seen."""
    url = published(origin, release("[ANi] Tides - 01", 2), release("[ANi] Dunes - 01", 2))
    made = alone("track", "add", url, "--title", "Nope", "--yes")
    assert made.code == 0
    assert "No release that the feed lists now is called Nope. It lists:" in made.err
    assert "Tides" in made.err
    assert "earlier" not in made.err
    meant = alone("track", "add", url, "--title", "Dunes", "--yes")
    assert "No release" not in meant.err


def test_every_show_of_a_feed_is_tracked_in_one_command(alone: Shell, origin: Origin) -> None:
    items = [release("[ANi] Tides - 01", 9), release("[ANi] Dunes S2 - 04", 9)]
    url = published(origin, *items, title="Mikan Project - 我的番组")
    made = alone("track", "add", url, "--each", "--group", "ANi", "--yes", "--json")
    assert made.code == 0
    named = [(each["show"]["title"], each["show"]["season"]) for each in made.json]
    assert sorted(named) == [("Dunes", 2), ("Tides", 1)]
    assert all(each["preferences"]["groups"] == ["ANi"] for each in made.json)
    again = alone("track", "add", url, "--each", "--yes")
    assert (again.code, "0 shows added, 2 tracked before." in again.err) == (0, True)
    assert len(alone("track", "list", "--json").json) == 2
    both = alone("track", "add", url, "--each", "--title", "Tides")
    assert both.code == 2


def test_wishes_are_set_shown_and_emptied(alone: Shell, origin: Origin) -> None:
    alone("track", "add", tides(origin), "--group", "LoliHouse", "--group", "ANi")
    changed = alone(
        *("track", "set", "tid", "--exclude", "HEVC", "--packs", "--since", "none"),
        *("--season", "2", "--weekday", "sunday", "--offset", "-12", "--disable", "--json"),
    ).json
    assert changed["preferences"]["groups"] == ["LoliHouse", "ANi"]
    assert (changed["exclude"], changed["packs"], changed["since"]) == (["HEVC"], True, None)
    assert changed["enabled"] is False
    show = changed["show"]
    assert (show["season"], show["air_weekday"], show["episode_offset"]) == (2, 6, -12)
    shown = alone("track", "show", "1").out
    for words in ("Tides (", "season 2", "LoliHouse > ANi", "HEVC", "everything", "paused"):
        assert words in shown
    emptied = alone("track", "set", "1", "--exclude", "none", "--group", "none", "--json").json
    assert (emptied["exclude"], emptied["preferences"]["groups"]) == ([], [])
    plain = alone("track", "set", "1", "--enable")
    assert "headwater releases decide --tracking 1" in plain.err
    nothing = alone("track", "set", "1")
    assert (nothing.code, "Say what is to change" in nothing.err) == (2, True)


def test_a_preview_shows_what_each_rule_removes(alone: Shell, origin: Origin) -> None:
    alone("track", "add", tides(origin), "--back-catalogue")
    found = alone("track", "preview", "Tides")
    assert found.code == 0
    assert "removed by pack" in found.out
    assert "It is a pack, and this tracking takes single episodes." in found.out
    what_if = alone("track", "preview", "1", "--exclude", "ANi", "--packs", "--json").json
    assert (what_if["removed"]["excluded_here"], what_if["removed"]["pack"]) == (3, 0)
    only = alone("track", "preview", "1", "--action", "fetch", "--limit", "1")
    assert "2 more" in only.err
    bad = alone("track", "preview", "1", "--exclude", "(")
    assert bad.code == 2


def test_what_is_missing_is_told_and_backfilled(alone: Shell, origin: Origin) -> None:
    singles = [release(f"[ANi] Tides - 0{n}", 29 - 7 * n) for n in (4, 3, 1)]
    url = published(origin, *singles, release("[ANi] Dunes - 09", 1))
    alone("track", "add", url, "--title", "Tides")
    done = alone("track", "backfill", "1", "--json").json
    assert (done["fetch"], done["skip"]) == (3, 1)
    missing = alone("track", "missing")
    assert missing.code == 1
    assert "S01E02" in missing.out
    assert "No release of it was seen." in missing.out
    assert "1 episode is missing." in missing.err
    told = alone("track", "missing", "1", "--json").json
    assert [each["slot"]["name"] for each in told[0]["episodes"]] == ["S01E02"]
    again = alone("track", "backfill", "1", "--since", "400d")
    assert again.out == "Tides: nothing new.\n"


def test_what_only_a_pack_has_is_missing_too(alone: Shell, origin: Origin) -> None:
    alone("track", "add", tides(origin), "--back-catalogue")
    alone("track", "backfill", "1")
    (told,) = alone("track", "missing", "--json").json
    names = [each["slot"]["name"] for each in told["episodes"]]
    assert names == ["S01E02", *(f"S01E{n:02}" for n in range(5, 13))]
    assert {each["reason"] for each in told["episodes"]} == {
        "It is a pack, and this tracking takes single episodes."
    }


def test_nothing_missing_is_fine(alone: Shell, origin: Origin) -> None:
    assert alone("track", "missing").out == "Nothing is missing.\n"


def test_the_calendar_is_shown_and_written(alone: Shell, origin: Origin) -> None:
    assert "nothing is expected" in alone("track", "calendar").out
    titles = (f"[ANi] Tides - 0{n} [1080P]" for n in (3, 2, 1))
    url = published(origin, *(release(each, 2 + 7 * at) for at, each in enumerate(titles)))
    alone("track", "add", url, "--back-catalogue")
    alone("track", "backfill", "1")
    found = alone("track", "calendar", "--days", "7", "--json").json
    states = [(each["slot"]["name"], each["state"]) for each in found]
    assert states == [("S01E03", "came"), ("S01E04", "expected")]
    assert "expected" in alone("track", "calendar", "Tides", "--days", "7").out
    assert "S01E04 on " in alone("track", "list").out
    written = alone("track", "calendar", "--ics", "--days", "7").raw
    assert written.startswith(b"BEGIN:VCALENDAR\r\n")
    assert written.count(b"BEGIN:VEVENT") == 2


def test_a_tracking_is_removed_and_its_files_stay(alone: Shell, origin: Origin) -> None:
    alone("track", "add", tides(origin))
    gone = alone("track", "remove", "Tides")
    assert (gone.code, "collected no more. Its files stay." in gone.out) == (0, True)
    assert alone("track", "show", "1").code == 4
    assert alone("track", "show", "Tides").code == 4
    alone("track", "add", tides(origin))
    refused = alone("track", "remove", "2", "--hard")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert alone("track", "remove", "2", "--hard", "--yes", "--json").json["history"] == "deleted"


def test_several_that_fit_are_named(alone: Shell, origin: Origin) -> None:
    alone("track", "add", tides(origin))
    alone("track", "add", tides(origin), "--title", "Tides Two")
    exact = alone("track", "show", "tides", "--json").json
    assert exact["id"] == 1
    several = alone("track", "show", "tide")
    assert several.code == 2
    assert "Tides Two" in several.err


def test_beside_a_service_the_same_commands_work(sh: Shell, origin: Origin) -> None:
    made = sh("track", "add", tides(origin), "--title", "Served", "--json")
    assert made.code == 0, made.err
    listed = sh("track", "list")
    assert "Served" in listed.out
    assert sh("track", "preview", str(made.json["id"]), "--packs").code == 0


@pytest.mark.parametrize(
    "said",
    [
        {"year": "soon"},
        {"weekday": "someday"},
        {"episodes": "x"},
        {"specials": ["12.5"]},
        {"specials": ["12.5=first"]},
    ],
)
def test_words_that_are_no_numbers_are_refused(said: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        show_body(said)


def test_only_what_was_said_is_sent() -> None:
    assert show_body({}) == {}
    assert tracking_body({}) == {}
    assert show_body({"kind": "movie", "names": ["-"], "year": "none"}) == {
        "kind": "Movie",
        "titles": [],
        "year": None,
    }
    numbers = {"specials": ["12.5=1", "OVA1 = 2"]}
    assert show_body(numbers) == {"specials": {"12.5": 1, "OVA1": 2}}
    said = {"aliases": ["a=B"], "stop_group": "B", "resolutions": ["1080p"]}
    assert tracking_body(said) == {
        "preferences": {
            "resolutions": ["1080p"],
            "aliases": {"a": "B"},
            "stop": {"group": "B"},
        }
    }
    assert tracking_body({"stop_subtitles": "none"}) == {"preferences": {"stop": None}}
    with pytest.raises(BadInput):
        tracking_body({"aliases": ["a"]})


def test_an_empty_name_means_no_tracking(alone: Shell, origin: Origin) -> None:
    """It is a part of every title, and must not remove the only one."""
    assert alone("track", "add", tides(origin)).code == 0
    refused = alone("track", "remove", "")
    assert refused.code == 2
    assert "an empty name means none" in refused.err
    assert alone("track", "list", "--json").json[0]["enabled"] is True
