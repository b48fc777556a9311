"""Tables and details of shows and trackings for people."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from headwater.entrypoints.cli.anime.tracking_options import weekday_in_words
from headwater.entrypoints.cli.render import Record, details_table, safe_text, state_text, table
from headwater.entrypoints.cli.times import local_time
from headwater.feeds.schedule.durations import format_count


def show_name(show: Mapping[str, Any]) -> str:
    """The name of the folder of the show, with the season when it is not the first."""
    year = f" ({show['year']})" if show["year"] else ""
    season = "" if show["season"] == 1 else f", season {show['season']}"
    return f"{show['title']}{year}{season}"


def trackings_table(
    trackings: Iterable[Record], expected: Mapping[int, Record], now: datetime
) -> Table:
    made = table("id", "show", "feed", "state", "next", "since", wide=("show", "feed"))
    for tracking in trackings:
        made.add_row(
            Text(str(tracking["id"]), style="dim"),
            safe_text(show_name(tracking["show"]), 100),
            safe_text(tracking["feed_title"] or tracking["feed_id"], 60),
            state_text(tracking_state(tracking)),
            safe_text(next_in_words(expected.get(tracking["show"]["id"]))),
            safe_text("all" if tracking["since"] is None else local_time(tracking["since"], now)),
        )
    return made


def shows_table(trackings: Iterable[Record]) -> Table:
    made = table("id", "show", "called", wide=("called",))
    for tracking in trackings:
        show = tracking["show"]
        made.add_row(
            str(tracking["id"]),
            safe_text(show_name(show)),
            safe_text(", ".join(show["titles"]), 300),
        )
    return made


def tracking_state(tracking: Record) -> str:
    if not tracking["enabled"]:
        return "paused"
    if tracking["feed_state"] is None:
        return "gone"
    return "active" if tracking["feed_state"] == "active" else f"feed {tracking['feed_state']}"


def next_in_words(airing: Record | None) -> str | None:
    if airing is None:
        return None
    late = " (late)" if airing["state"] == "late" else ""
    return f"{airing['slot']['name']} on {airing['day']}{late}"


def tracking_details(tracking: Record, now: datetime) -> Table:
    preferences = tracking["preferences"]
    counts = tracking.get("counts") or {}
    return details_table(
        [
            ("tracking", str(tracking["id"])),
            *show_rows(tracking["show"]),
            ("feed", safe_text(tracking["feed_title"] or tracking["feed_id"])),
            ("state", state_text(tracking_state(tracking))),
            ("collects", safe_text(_begins(tracking, now))),
            ("packs", "yes" if tracking["packs"] else "no"),
            ("groups", safe_text(" > ".join(preferences["groups"]) or "whoever is first")),
            ("subtitles", safe_text(" > ".join(preferences["subtitles"]))),
            ("then", safe_text(" > ".join(preferences["further"]))),
            ("include", safe_text("  ".join(tracking["include"]))),
            ("exclude", safe_text("  ".join(tracking["exclude"]))),
            ("folder", safe_text(tracking["save_path"])),
            *[(f"{name.replace(':', ' by ')}", str(count)) for name, count in counts.items()],
        ]
    )


def show_rows(show: Mapping[str, Any]) -> list[tuple[str, Text | str | None]]:
    offset = show["episode_offset"]
    specials = [f"{label} is S00E{number:02}" for label, number in show["specials"].items()]
    return [
        ("show", safe_text(show_name(show))),
        ("called", safe_text(", ".join(show["titles"]) or "whatever is in the feed", 2_000)),
        ("episodes", safe_text(show["episodes"])),
        ("offset", safe_text(f"{offset:+}" if offset else None)),
        ("specials", safe_text(", ".join(specials))),
        ("kind", safe_text(show["kind"])),
        ("airs on", safe_text(weekday_in_words(show.get("air_weekday")))),
    ]


def proposal_details(proposal: Record, show: Mapping[str, Any]) -> Table:
    """The proposed show and the reasons, and how many releases there are."""
    rows = show_rows(show)
    groups = [f"{group['name']} ({group['releases']})" for group in proposal["groups"]]
    because = [f"{name}: {why}" for name, why in proposal["because"].items()]
    return details_table(
        [
            *rows,
            ("releases", format_count(proposal["releases"], "entry", "entries")),
            ("groups there", safe_text(", ".join(groups), 2_000)),
            ("because", safe_text(" ".join(because), 2_000)),
        ]
    )


def slots_in_words(slots: list[Record]) -> str:
    """Format slots as `S01E03`, or as `S01E01 to S01E12` for many."""
    names = [str(slot["name"]) for slot in slots]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} to {names[-1]}"


def slot_range_in_words(slots: list[Record]) -> str:
    """Format the first and the last slot, for places with little room."""
    names = [str(slot["name"]) for slot in slots]
    return f"{names[0]} to {names[-1]}" if len(names) > 1 else "".join(names)


def _begins(tracking: Record, now: datetime) -> str:
    if tracking["since"] is None:
        return "everything"
    return f"what came out after {local_time(tracking['since'], now)}"
