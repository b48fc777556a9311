"""Sinks, their dead letters and the event log as tables and short paragraphs for people."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from headwater.announce.sinks.wish import PERSONAL
from headwater.entrypoints.cli.moments import from_now, on_the_clock
from headwater.entrypoints.cli.render import facts, plain, table, word

Record = dict[str, Any]

_COLOURS = {"waiting": "yellow", "stopped": "red"}


def sinks_table(sinks: Iterable[Record], now: datetime) -> Table:
    made = table(
        "name", "kind", "state", "behind", "delivered", "dead", "last", "trouble", wide=("trouble",)
    )
    for each in sinks:
        made.add_row(
            plain(each["name"]),
            plain(each["kind"]),
            _state(each),
            f"{each['lag']:,}",
            f"{each['delivered']:,}",
            f"{each['dead_letters']:,}",
            from_now(each["last_delivered_at"], now),
            plain(_trouble(each, now), 200),
        )
    return made


def sink_facts(each: Record, now: datetime) -> Table:
    attempts = each["max_attempts"]
    return facts(
        [
            ("sink", plain(each["name"])),
            ("kind", plain(each["kind"])),
            ("made by", _maker(each)),
            ("state", _state(each)),
            ("why stopped", plain(each["stopped"])),
            ("options", plain(_said(each["options"]), 2_000)),
            ("secrets", "held" if each["has_secrets"] else "none"),
            ("events", plain(wanted_in_words(each["wanted"]), 2_000)),
            ("tries", "until it is taken" if attempts is None else f"{attempts:,} for each event"),
            ("has come to", f"{each['cursor']:,}"),
            ("behind", f"{each['lag']:,}"),
            ("delivered", f"{each['delivered']:,}"),
            ("last delivered", on_the_clock(each["last_delivered_at"], now)),
            ("dead letters", f"{each['dead_letters']:,}"),
            ("replays", f"{each['replays']:,}"),
            ("failures in a row", f"{each['failures']:,}"),
            ("failing since", on_the_clock(each["failing_since"], now)),
            ("last error", plain(_error(each))),
            ("next try", on_the_clock(each["next_try_at"], now)),
            ("since", on_the_clock(each["created_at"], now)),
        ]
    )


def _maker(each: Record) -> str:
    if each["kind"] == PERSONAL:
        return "Headwater itself, for personal feeds"
    return "the settings" if each["origin"] == "settings" else "a person"


def wanted_in_words(wanted: Record) -> str:
    said = [f"{name} {', '.join(chosen)}" for name, chosen in wanted.items() if chosen]
    return "; ".join(said) or "all"


def dead_letters_table(letters: Iterable[Record], now: datetime) -> Table:
    made = table("event", "type", "tries", "died", "error", "retry", wide=("error",))
    for each in letters:
        made.add_row(
            str(each["seq"]),
            plain(each["type"]),
            str(each["attempts"]),
            on_the_clock(each["died_at"], now),
            plain(f"{each['error']}: {each['detail']}" if each["detail"] else each["error"]),
            "asked for" if each["retry_asked"] else "–",
        )
    return made


def events_table(events: Iterable[Record], now: datetime) -> Table:
    made = table("event", "when", "type", "about", wide=("about",))
    for each in events:
        made.add_row(
            str(each["seq"]),
            on_the_clock(each["at"], now),
            plain(each["type"]),
            plain(_about(each["payload"]), 200),
        )
    return made


def _state(each: Record) -> Text:
    state = str(each["state"])
    return Text(state, style=_COLOURS[state]) if state in _COLOURS else word(state)


def _trouble(each: Record, now: datetime) -> str | None:
    """Only what is wrong now."""
    if each["stopped"]:
        return str(each["stopped"])
    if each["state"] != "waiting":
        return None
    again = f"; tried again {from_now(each['next_try_at'], now)}" if each["next_try_at"] else ""
    return f"{_error(each)}{again}"


def _error(each: Record) -> str | None:
    error, detail = each["last_error"], each["last_detail"]
    return f"{error}: {detail}" if error and detail else error


def _said(options: Record) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())


def _about(payload: Record) -> str | None:
    """What an event is about, in the words that tell most."""
    for name in ("canonical_link", "entry_uid", "new_url", "source_url", "url", "feed_id"):
        if payload.get(name):
            return str(payload[name])
    return None
