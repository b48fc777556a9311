"""Render records for people: safe text, states in colour, tables, details."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from headwater.entrypoints.cli.terminal import one_line

Record = dict[str, Any]
_COLOURS = {
    "ok": "green",
    "active": "green",
    "added": "green",
    "warning": "yellow",
    "paused": "yellow",
    "already there": "yellow",
    "error": "red",
    "gone": "red",
    "failing": "red",
    "refused": "red",
}


def safe_text(value: object, most: int = 500) -> Text:
    """Text from outside, shown as it is: no markup, no control characters."""
    return Text("–" if value is None or value == "" else one_line(str(value), most))


def state_text(value: str) -> Text:
    """A state in its colour."""
    return Text(value, style=_COLOURS.get(value, ""))


def table(*columns: str, wide: Sequence[str] = ()) -> Table:
    """Make a table. Columns in `wide` may be folded; the others keep their width."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        made.add_column(
            name, no_wrap=name not in wide, overflow="fold" if name in wide else "ellipsis"
        )
    return made


def details_table(rows: Iterable[tuple[str, Text | str | None]]) -> Table:
    """Make a table of names and values. Empty values are shown, too."""
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(name, value if isinstance(value, Text) else safe_text(value))
    return made
