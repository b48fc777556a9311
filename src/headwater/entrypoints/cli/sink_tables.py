"""Tables and details of sinks for people."""

from collections.abc import Iterable
from datetime import datetime

from rich.table import Table
from rich.text import Text

from headwater.entrypoints.cli.render import Record, details_table, safe_text, state_text, table
from headwater.entrypoints.cli.times import local_time, relative_time

_COLOURS = {"waiting": "yellow", "stopped": "red"}


def sinks_table(sinks: Iterable[Record], now: datetime) -> Table:
    made = table(
        "name", "kind", "state", "behind", "delivered", "dead", "last", "trouble", wide=("trouble",)
    )
    for sink in sinks:
        made.add_row(
            safe_text(sink["name"]),
            safe_text(sink["kind"]),
            _state(sink),
            f"{sink['lag']:,}",
            f"{sink['delivered']:,}",
            f"{sink['dead_letters']:,}",
            relative_time(sink["last_delivered_at"], now),
            safe_text(_trouble(sink, now), 200),
        )
    return made


def sink_details(sink: Record, now: datetime) -> Table:
    attempts = sink["max_attempts"]
    options = ", ".join(f"{name}={value}" for name, value in sink["options"].items())
    return details_table(
        [
            ("sink", safe_text(sink["name"])),
            ("kind", safe_text(sink["kind"])),
            ("made by", _maker(sink)),
            ("state", _state(sink)),
            ("why stopped", safe_text(sink["stopped"])),
            ("options", safe_text(options, 2_000)),
            ("secrets", "held" if sink["has_secrets"] else "none"),
            ("events", safe_text(event_filter_in_words(sink["wanted"]), 2_000)),
            ("tries", "until it is taken" if attempts is None else f"{attempts:,} for each event"),
            ("has come to", f"{sink['cursor']:,}"),
            ("behind", f"{sink['lag']:,}"),
            ("delivered", f"{sink['delivered']:,}"),
            ("last delivered", local_time(sink["last_delivered_at"], now)),
            ("dead letters", f"{sink['dead_letters']:,}"),
            ("replays", f"{sink['replays']:,}"),
            ("failures in a row", f"{sink['failures']:,}"),
            ("failing since", local_time(sink["failing_since"], now)),
            ("last error", safe_text(_error(sink))),
            ("next try", local_time(sink["next_try_at"], now)),
            ("since", local_time(sink["created_at"], now)),
        ]
    )


def _maker(sink: Record) -> str:
    if sink["kind"] == "personal":
        return "Headwater itself, for personal feeds"
    return "the settings" if sink["origin"] == "settings" else "a person"


def event_filter_in_words(event_filter: Record) -> str:
    parts = [f"{name} {', '.join(values)}" for name, values in event_filter.items() if values]
    return "; ".join(parts) or "all"


def dead_letters_table(letters: Iterable[Record], now: datetime) -> Table:
    made = table("event", "type", "tries", "died", "error", "retry", wide=("error",))
    for letter in letters:
        made.add_row(
            str(letter["seq"]),
            safe_text(letter["type"]),
            str(letter["attempts"]),
            local_time(letter["died_at"], now),
            safe_text(
                f"{letter['error']}: {letter['detail']}" if letter["detail"] else letter["error"]
            ),
            "asked for" if letter["retry_asked"] else "–",
        )
    return made


def _state(sink: Record) -> Text:
    state = str(sink["state"])
    return Text(state, style=_COLOURS[state]) if state in _COLOURS else state_text(state)


def _trouble(sink: Record, now: datetime) -> str | None:
    """Say what is wrong now; None when nothing is."""
    if sink["stopped"]:
        return str(sink["stopped"])
    if sink["state"] != "waiting":
        return None
    again = (
        f"; tried again {relative_time(sink['next_try_at'], now)}" if sink["next_try_at"] else ""
    )
    return f"{_error(sink)}{again}"


def _error(sink: Record) -> str | None:
    error, detail = sink["last_error"], sink["last_detail"]
    return f"{error}: {detail}" if error and detail else error
