"""Releases and what was decided of them, as tables and short paragraphs for people."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from headwater.entrypoints.cli.moments import on_the_clock
from headwater.entrypoints.cli.render import facts, plain, table
from headwater.schedule.words import counted

Record = dict[str, Any]

_COLOURS = {
    "fetch": "green",
    "upgrade": "green",
    "hold": "yellow",
    "removed": "dim",
    "skip": "dim",
    "refused": "red",
}


def releases_table(found: Iterable[Record], now: datetime) -> Table:
    made = table("id", "found", "what", "episode", "title", "why", wide=("title", "why"))
    for each in found:
        made.add_row(
            str(each["id"]),
            on_the_clock(each["found_at"], now),
            _action(each),
            plain(slots_in_words(each["slots"])),
            plain(each["title"], 200),
            plain(each["reason"], 300),
        )
    return made


def release_facts(each: Record, now: datetime) -> Table:
    said = each["release"]
    return facts(
        [
            ("release", str(each["id"])),
            ("title", plain(each["title"], 2_000)),
            ("tracking", str(each["tracking_id"])),
            ("decided", _action(each)),
            ("rule", plain(each["rule"])),
            ("why", plain(each["reason"], 2_000)),
            ("episode", plain(slots_in_words(each["slots"]))),
            ("download", plain(_download(each["download"]))),
            ("groups", plain(" & ".join(said["groups"]))),
            ("subtitles", plain(", ".join(said["subtitles"]))),
            ("resolution", plain(said["resolution"])),
            ("source", plain(said["source"])),
            ("version", plain(said["version"])),
            ("hash", plain(each["infohash"])),
            ("size", plain(_size(each["size"]))),
            ("seeders", plain(each["seeders"])),
            ("doubts", plain("; ".join(each["doubts"]), 2_000)),
            ("came out", on_the_clock(each["published"], now)),
            ("first seen", on_the_clock(each["first_seen"], now)),
            ("decided at", on_the_clock(each["decided_at"], now)),
        ]
    )


def outcome_in_words(outcome: Record) -> str:
    """What came of looking, for one line."""
    wanted = outcome["fetch"] + outcome["upgrade"]
    others = {"held": "hold", "skipped": "skip", "removed by the filter": "removed"}
    said = [f"{counted(wanted, 'release', 'releases')} wanted"]
    said += [f"{outcome[name]:,} {words}" for words, name in others.items()]
    return ", ".join(said) + "."


def slots_in_words(slots: list[Record]) -> str:
    """`S01E03`, or `S01E01 to S01E12` for many."""
    names = [str(slot["name"]) for slot in slots]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} to {names[-1]}"


def _action(each: Record) -> Text:
    action = str(each["action"])
    return Text(action, style=_COLOURS.get(action, ""))


def _download(taken: Record | None) -> str | None:
    return None if taken is None else f"{taken['id']}, {taken['state']}"


def _size(size: int | None) -> str | None:
    return None if size is None else f"{size / 1_048_576:,.0f} MiB"
