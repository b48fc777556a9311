"""Shows, trackings, previews and calendars as tables and short paragraphs for people."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from headwater.entrypoints.cli.moments import on_the_clock
from headwater.entrypoints.cli.render import facts, plain, table, word
from headwater.entrypoints.cli.track_said import weekday_in_words
from headwater.schedule.words import counted

Record = dict[str, Any]

_COLOURS = {
    "fetch": "green",
    "upgrade": "green",
    "hold": "yellow",
    "removed": "dim",
    "skip": "dim",
    "here": "green",
    "came": "green",
    "coming": "yellow",
    "late": "yellow",
    "missing": "red",
}


def named(show: Mapping[str, Any]) -> str:
    """As its folder is called, with the season where it is not the first."""
    year = f" ({show['year']})" if show["year"] else ""
    season = "" if show["season"] == 1 else f", season {show['season']}"
    return f"{show['title']}{year}{season}"


def trackings_table(
    trackings: Iterable[Record], expected: Mapping[int, Record], now: datetime
) -> Table:
    made = table("id", "show", "feed", "state", "next", "since", wide=("show", "feed"))
    for each in trackings:
        made.add_row(
            Text(str(each["id"]), style="dim"),
            plain(named(each["show"]), 100),
            plain(each["feed_title"] or each["feed_id"], 60),
            word(state_of(each)),
            plain(next_in_words(expected.get(each["show"]["id"]))),
            plain("all" if each["since"] is None else on_the_clock(each["since"], now)),
        )
    return made


def state_of(each: Record) -> str:
    if not each["enabled"]:
        return "paused"
    if each["feed_state"] is None:
        return "gone"
    return "active" if each["feed_state"] == "active" else f"feed {each['feed_state']}"


def next_in_words(airing: Record | None) -> str | None:
    if airing is None:
        return None
    late = " (late)" if airing["state"] == "late" else ""
    return f"{airing['slot']['name']} on {airing['day']}{late}"


def tracking_facts(each: Record, now: datetime) -> Table:
    wanted = each["preferences"]
    counts = each.get("counts") or {}
    return facts(
        [
            ("tracking", str(each["id"])),
            *show_rows(each["show"]),
            ("feed", plain(each["feed_title"] or each["feed_id"])),
            ("state", word(state_of(each))),
            ("collects", plain(_begins(each, now))),
            ("packs", "yes" if each["packs"] else "no"),
            ("groups", plain(" > ".join(wanted["groups"]) or "whoever is first")),
            ("subtitles", plain(" > ".join(wanted["subtitles"]))),
            ("then", plain(" > ".join(wanted["further"]))),
            ("include", plain("  ".join(each["include"]))),
            ("exclude", plain("  ".join(each["exclude"]))),
            ("folder", plain(each["save_path"])),
            *[(f"{name.replace(':', ' by ')}", str(many)) for name, many in counts.items()],
        ]
    )


def show_rows(show: Mapping[str, Any]) -> list[tuple[str, Text | str | None]]:
    offset = show["episode_offset"]
    return [
        ("show", plain(named(show))),
        ("called", plain(", ".join(show["titles"]) or "whatever is in the feed", 2_000)),
        ("episodes", plain(show["episodes"])),
        ("offset", plain(f"{offset:+}" if offset else None)),
        ("specials", plain(_specials(show["specials"]))),
        ("kind", plain(show["kind"])),
        ("airs on", plain(weekday_in_words(show.get("air_weekday")))),
    ]


def _specials(numbers: Mapping[str, int]) -> str | None:
    return ", ".join(f"{label} is S00E{number:02}" for label, number in numbers.items()) or None


def proposal_facts(proposal: Record, show: Mapping[str, Any]) -> Table:
    """What was proposed and why, and what was found."""
    rows = show_rows(show)
    groups = [f"{each['name']} ({each['releases']})" for each in proposal["groups"]]
    because = [f"{name}: {why}" for name, why in proposal["because"].items()]
    return facts(
        [
            *rows,
            ("releases", counted(proposal["releases"], "entry", "entries")),
            ("groups there", plain(", ".join(groups), 2_000)),
            ("because", plain(" ".join(because), 2_000)),
        ]
    )


def preview_table(entries: Iterable[Record], now: datetime) -> Table:
    made = table("when", "what", "by", "episode", "title", "why", wide=("title", "why"))
    for each in entries:
        made.add_row(
            on_the_clock(each["published"], now),
            Text(each["action"], style=_COLOURS.get(each["action"], "")),
            plain(each["rule"]),
            plain(slots_in_words(each["slots"])),
            plain(each["title"], 160),
            plain(each["reason"], 300),
        )
    return made


def slots_in_words(slots: list[Record]) -> str:
    names = [each["name"] for each in slots]
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}" if names else ""


def episodes_table(shows: Iterable[Record]) -> Table:
    made = table(
        "show", "episode", "state", "release", "title", "why", wide=("show", "title", "why")
    )
    for show in shows:
        for each in show["episodes"]:
            made.add_row(
                plain(show["title"], 60),
                plain(each["slot"]["name"]),
                Text(each["state"], style=_COLOURS.get(each["state"], "")),
                plain(each["release_id"]),
                plain(each["title"], 120),
                plain(each["reason"], 200),
            )
    return made


def calendar_table(airings: Iterable[Record], now: datetime) -> Table:
    made = table("day", "at", "episode", "show", "state", wide=("show",))
    for each in airings:
        clock = on_the_clock(each["moment"], now)[-5:] if each["moment"] else None
        made.add_row(
            each["day"],
            plain(clock),
            plain(each["slot"]["name"]),
            plain(each["title"], 100),
            Text(each["state"], style=_COLOURS.get(each["state"], "")),
        )
    return made


def _begins(each: Record, now: datetime) -> str:
    if each["since"] is None:
        return "everything"
    return f"what came out after {on_the_clock(each['since'], now)}"
