"""Records as tables and short paragraphs for people."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from headwater.entrypoints.cli.moments import from_now, on_the_clock
from headwater.entrypoints.cli.terminal import one_line
from headwater.schedule.words import counted, duration

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


def plain(value: object, most: int = 500) -> Text:
    """Whatever came from outside, as itself: no markup, no control characters."""
    return Text("–" if value is None or value == "" else one_line(str(value), most))


def word(value: str) -> Text:
    """A state in its colour."""
    return Text(value, style=_COLOURS.get(value, ""))


def table(*columns: str, wide: Sequence[str] = ()) -> Table:
    """Columns in `wide` may be folded; the others keep their width."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        made.add_column(
            name, no_wrap=name not in wide, overflow="fold" if name in wide else "ellipsis"
        )
    return made


def facts(rows: Iterable[tuple[str, Text | str | None]]) -> Table:
    """Names on the left, what they are on the right; nothing is left out for being empty."""
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(name, value if isinstance(value, Text) else plain(value))
    return made


def feeds_table(feeds: Iterable[Record], now: datetime) -> Table:
    made = table("id", "title", "kind", "state", "last visit", "next visit", wide=("title",))
    for feed in feeds:
        made.add_row(
            Text(feed["id"], style="dim"),
            plain(feed.get("title") or feed["url"], 80),
            plain(feed["type"]),
            word(state_of(feed)),
            from_now(feed["stats"]["last_fetch_at"], now),
            from_now(feed["schedule"].get("next_visit_at"), now),
        )
    return made


def state_of(feed: Record) -> str:
    failures = feed["stats"]["consecutive_failures"]
    state = str(feed.get("state", "active"))
    return "failing" if state == "active" and failures >= 3 else state


def feed_facts(feed: Record, now: datetime) -> Table:
    schedule, hints, stats = feed["schedule"], feed["publisher_hints"], feed["stats"]
    return facts(
        [
            ("title", plain(feed.get("title"))),
            ("id", feed["id"]),
            ("url", plain(feed["url"], 2_000)),
            ("page", plain(feed.get("home_link"), 2_000)),
            ("kind", feed["type"]),
            ("state", word(state_of(feed))),
            ("categories", ", ".join(feed.get("categories") or [])),
            ("validators", _validators(feed["validators"])),
            ("hints", plain(hints_in_words(hints))),
            ("next visit", _when(schedule.get("next_visit_at"), now)),
            ("interval", duration(schedule["interval_sec"])),
            ("reason", plain(schedule.get("reason"))),
            ("last visit", _when(stats["last_fetch_at"], now)),
            ("last success", _when(stats["last_success_at"], now)),
            ("new last time", str(stats["new_entries_last_fetch"])),
            ("posts every", _maybe_duration(stats.get("ewma_interarrival_sec"))),
            ("failures in a row", str(stats["consecutive_failures"])),
            *_own_settings(feed),
        ]
    )


def hints_in_words(hints: Record) -> str:
    """What the publisher asked for, in one line."""
    said = []
    if hints.get("ttl_minutes"):
        said.append(f"ttl {duration(hints['ttl_minutes'] * 60)}")
    if hints.get("skip_hours"):
        said.append("not at " + ", ".join(f"{hour}:00" for hour in hints["skip_hours"]) + " UTC")
    if hints.get("skip_days"):
        said.append("not on " + ", ".join(hints["skip_days"]))
    known = {"ttl_minutes", "skip_hours", "skip_days"}
    said += [f"{name} {value}" for name, value in hints.items() if name not in known and value]
    return "; ".join(said) or "none"


def visits_table(visits: Iterable[Record], now: datetime) -> Table:
    """Few columns, so that the id of a payload stands in one line on eighty of them."""
    made = table("when", "outcome", "what", wide=("what",))
    for visit in visits:
        why = visit.get("error_detail") or visit.get("error") or visit.get("reason")
        lines = [plain(why, 200), Text(_figures(visit))]
        if visit.get("fetch_id"):
            lines.append(Text(visit["fetch_id"], style="dim"))
        outcome = word(str(visit["outcome"]))
        if visit.get("status"):
            outcome.append(f" {visit['status']}")
        made.add_row(on_the_clock(visit["started_at"], now), outcome, Text("\n").join(lines))
    return made


def _figures(visit: Record) -> str:
    said = [
        f"{visit[count]:,} {name}"
        for count, name in (("new_entries", "new"), ("updated_entries", "edited"))
        if visit.get(count)
    ]
    took = f"{visit.get('latency_ms') or 0:,.0f} ms"
    return ", ".join([*said, f"{visit.get('bytes_in') or 0:,} bytes", took])


def schedule_table(decisions: Iterable[Record], now: datetime) -> Table:
    made = table("when", "before", "after", "next visit", "why", wide=("why",))
    for decision in decisions:
        made.add_row(
            on_the_clock(decision.get("decided_at"), now),
            _maybe_duration(decision.get("interval_before")),
            _maybe_duration(decision.get("interval_after")),
            on_the_clock(decision.get("next_at"), now),
            plain(decision.get("reason")),
        )
    return made


def entries_table(entries: Iterable[Record], now: datetime) -> Table:
    made = table("when", "title", "link", wide=("title", "link"))
    for entry in entries:
        made.add_row(
            on_the_clock(entry.get("published") or entry["first_seen"], now),
            plain(entry.get("title") or entry["entry_uid"], 120),
            plain(entry.get("canonical_link"), 500),
        )
    return made


def added_lines(feed: Record, count: int | None, now: datetime) -> Table:
    entries = None if count is None else counted(count, "entry", "entries")
    return facts(
        [
            ("title", plain(feed.get("title") or "not visited yet")),
            ("kind", feed["type"]),
            ("entries", entries),
            ("next visit", _when(feed["schedule"].get("next_visit_at"), now)),
            ("reason", plain(feed["schedule"].get("reason"))),
            ("id", feed["id"]),
        ]
    )


def _validators(validators: Record) -> Text:
    said = [f"ETag {validators['etag']}"] if validators.get("etag") else []
    if validators.get("last_modified"):
        said.append(f"Last-Modified {validators['last_modified']}")
    return plain(", ".join(said) or "none: every visit brings the whole document")


def _when(moment: str | None, now: datetime) -> str:
    return f"{on_the_clock(moment, now)} ({from_now(moment, now)})" if moment else "never"


def _maybe_duration(seconds: float | None) -> str:
    return "–" if seconds is None else duration(seconds)


def _own_settings(feed: Record) -> list[tuple[str, Text | str | None]]:
    usual = {None, False} | {feed["title"]}
    said = [
        f"{name}={value}"
        for name, value in feed["overrides"].items()
        if (value not in usual if name != "verify_tls" else not value)
    ]
    return [("own settings", plain(", ".join(said)))] if said else []
