"""Readers and their tokens as tables and short paragraphs for people."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from headwater.entrypoints.cli.moments import from_now, on_the_clock
from headwater.entrypoints.cli.render import facts, plain, table

Record = dict[str, Any]

_COLOURS = {"open": "green", "ending": "yellow", "ended": "red", "revoked": "red"}


def readers_table(readers: Iterable[Record], now: datetime) -> Table:
    made = table("id", "name", "follows", "since", wide=("name", "follows"))
    for each in readers:
        made.add_row(
            Text(each["id"], style="dim"),
            plain(each["name"]),
            plain(", ".join(each["categories"]), 2_000),
            on_the_clock(each["created_at"], now),
        )
    return made


def reader_facts(each: Record, now: datetime) -> Table:
    return facts(
        [
            ("reader", plain(each["name"])),
            ("follows", plain(", ".join(each["categories"]) or "nothing yet", 20_000)),
            ("since", on_the_clock(each["created_at"], now)),
            ("changed", on_the_clock(each["updated_at"], now)),
            ("id", plain(each["id"])),
        ]
    )


def reader_tokens_table(tokens: Iterable[Record], now: datetime) -> Table:
    made = table("id", "begins", "state", "made", "last used", "ends")
    for each in tokens:
        made.add_row(
            Text(each["id"], style="dim"),
            plain(f"{each['hint']}…"),
            Text(each["state"], style=_COLOURS.get(each["state"], "")),
            on_the_clock(each["created_at"], now),
            from_now(each["last_used_at"], now),
            on_the_clock(each["revoked_at"] or each["until"], now),
        )
    return made
