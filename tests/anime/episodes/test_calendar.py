"""When episodes are expected: by the weekday, or by those that came; and the calendar's bytes."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from headwater.anime.episodes.calendar import Airing, airings_of, render_ics
from headwater.anime.episodes.episodes import SeenRelease
from headwater.anime.release import ReleaseKind
from headwater.anime.shows.show import Show, TrackedShow
from tests.support.releases import slot

DAY = timedelta(days=1)
FIRST = datetime(2026, 10, 4, 15, 30, tzinfo=UTC)
"""A Sunday; in Japan it is Monday already, half past midnight."""


def show(weekday: int | None = None, **said: Any) -> TrackedShow:
    return TrackedShow(3, Show("Tides", **said), weekday, FIRST - 10 * DAY, FIRST)


def weekly(count: int, *, start: datetime = FIRST, every: timedelta = 7 * DAY) -> list[SeenRelease]:
    return [episode(at + 1, start + every * at) for at in range(count)]


def episode(number: float, moment: datetime, **said: Any) -> SeenRelease:
    return SeenRelease(int(number), "t", (slot(number),), moment, "fetch", "missing", "r", **said)


def told(found: Iterable[Airing]) -> list[tuple[str, str, date]]:
    return [(str(each.slot), each.state, each.day) for each in found]


def airings(
    of: TrackedShow, seen: Iterable[SeenRelease], now: datetime, **said: int
) -> list[Airing]:
    back, ahead = said.get("back", 7), said.get("ahead", 15)
    return airings_of(of, seen, now, back=back * DAY, ahead=ahead * DAY)


def test_what_came_every_week_is_expected_every_week() -> None:
    found = airings(show(), weekly(3), FIRST + 15 * DAY)
    assert told(found) == [
        ("S01E03", "came", date(2026, 10, 19)),
        ("S01E04", "expected", date(2026, 10, 26)),
        ("S01E05", "expected", date(2026, 11, 2)),
    ]
    assert found[1].moment == FIRST + 21 * DAY


def test_two_episodes_are_no_rhythm_yet() -> None:
    assert [each.state for each in airings(show(), weekly(2), FIRST + 8 * DAY)] == ["came"]


def test_a_week_without_an_episode_does_not_change_the_rhythm() -> None:
    seen = [*weekly(3), episode(4, FIRST + 28 * DAY), episode(5, FIRST + 35 * DAY)]
    (coming, *_) = airings(show(), seen, FIRST + 36 * DAY, back=0)
    assert (str(coming.slot), coming.moment) == ("S01E06", FIRST + 42 * DAY)


def test_what_does_not_come_is_late_and_at_last_not_waited_for() -> None:
    late = airings(show(), weekly(3), FIRST + 23 * DAY, back=0, ahead=7)
    assert told(late) == [
        ("S01E04", "late", date(2026, 10, 26)),
        ("S01E05", "expected", date(2026, 11, 2)),
    ]
    assert airings(show(), weekly(3), FIRST + 14 * DAY + 29 * DAY, back=0) == []


def test_a_weekday_needs_no_episodes() -> None:
    sundays = airings(show(6), [], FIRST - 3 * DAY, ahead=12)
    assert told(sundays) == [
        ("S01E01", "expected", date(2026, 10, 4)),
        ("S01E02", "expected", date(2026, 10, 11)),
    ]
    assert [each.moment for each in sundays] == [None, None]


def test_a_release_of_the_day_after_is_of_that_weekday() -> None:
    # It airs on Sundays, and its releases come on Mondays.
    found = airings(show(6), weekly(1), FIRST + DAY, back=0, ahead=8)
    assert told(found) == [("S01E02", "expected", date(2026, 10, 11))]
    early = airings(show(1), weekly(1), FIRST + DAY, back=0, ahead=9)
    assert told(early) == [("S01E02", "expected", date(2026, 10, 13))]


def test_a_season_ends_with_its_last_episode() -> None:
    found = airings(show(episodes=4), weekly(3), FIRST + 15 * DAY, back=0, ahead=60)
    assert [str(each.slot) for each in found] == ["S01E04"]
    ended = [*weekly(3), episode(4, FIRST + 21 * DAY, is_final=True)]
    assert airings(show(), ended, FIRST + 22 * DAY, back=0) == []


def test_packs_halves_and_other_seasons_are_no_episodes_of_the_rhythm() -> None:
    others = [
        episode(3, FIRST - 300 * DAY, is_pack=True),
        episode(2.5, FIRST + DAY),
        SeenRelease(9, "t", (slot(9, season=2),), FIRST, "skip", "r", "r"),
    ]
    found = airings(show(), [*weekly(3), *others], FIRST + 15 * DAY, back=0, ahead=7)
    assert [str(each.slot) for each in found] == ["S01E04"]


def test_the_first_of_several_releases_counts() -> None:
    later = [episode(n, FIRST + 7 * DAY * (n - 1) + 2 * DAY) for n in (1, 2, 3)]
    (came, *_) = airings(show(), [*later, *weekly(3)], FIRST + 15 * DAY, ahead=0)
    assert came.moment == FIRST + 14 * DAY


def test_a_film_is_not_in_the_calendar() -> None:
    assert airings(show(0, main_kind=ReleaseKind.MOVIE), weekly(1), FIRST) == []


def test_the_calendar_is_written_as_the_standard_says() -> None:
    day_only = Airing(3, "Tides", slot(2), "expected", date(2026, 10, 11), None, FIRST)
    timed = Airing(3, "Tides", slot(1), "came", date(2026, 10, 5), FIRST, FIRST)
    written = render_ics([timed, day_only], "Mine").decode()
    assert written.split("\r\n") == [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Headwater//Releases//EN",
        "CALSCALE:GREGORIAN",
        "METHOD:PUBLISH",
        "X-WR-CALNAME:Mine",
        "REFRESH-INTERVAL;VALUE=DURATION:PT1H",
        "X-PUBLISHED-TTL:PT1H",
        "BEGIN:VEVENT",
        "UID:show-3-s01e01@headwater",
        "DTSTAMP:20261004T153000Z",
        "DTSTART:20261004T153000Z",
        "DURATION:PT30M",
        "SUMMARY:Tides S01E01",
        "DESCRIPTION:It came out.",
        "STATUS:CONFIRMED",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
        "BEGIN:VEVENT",
        "UID:show-3-s01e02@headwater",
        "DTSTAMP:20261004T153000Z",
        "DTSTART;VALUE=DATE:20261011",
        "DTEND;VALUE=DATE:20261012",
        "SUMMARY:Tides S01E02",
        "DESCRIPTION:Expected.",
        "STATUS:TENTATIVE",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
        "END:VCALENDAR",
        "",
    ]


def test_a_hostile_title_stays_inside_its_line() -> None:
    title = "a;b,c\\d\r\nEND:VCALENDAR\u2028x\ud800" + "番" * 60
    written = render_ics([Airing(3, title, slot(1), "came", date(2026, 10, 5), FIRST, FIRST)], "x")
    lines = written.split(b"\r\n")
    assert max(map(len, lines)) <= 75
    assert written.count(b"END:VCALENDAR\r\n") == 1
    unfolded = written.replace(b"\r\n ", b"").decode()
    assert f"SUMMARY:a\\;b\\,c\\\\d  END:VCALENDAR x {'番' * 60} S01E01\r\n" in unfolded
