"""Tables and details of feeds for people."""

from collections.abc import Iterable
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headwater.entrypoints.cli.render import Record, details_table, safe_text, state_text, table
from headwater.entrypoints.cli.times import local_time, relative_time
from headwater.feeds.schedule.durations import format_count, format_duration


def feeds_table(feeds: Iterable[Record], now: datetime) -> Table:
    made = table("id", "title", "kind", "state", "last visit", "next visit", wide=("title",))
    for feed in feeds:
        made.add_row(
            Text(feed["id"], style="dim"),
            safe_text(feed.get("title") or feed["url"], 80),
            safe_text(feed["type"]),
            state_text(feed_state(feed)),
            relative_time(feed["stats"]["last_fetch_at"], now),
            relative_time(feed["schedule"].get("next_visit_at"), now),
        )
    return made


def feeds_and_count(feeds: list[Record], now: datetime) -> RenderableType:
    return Group(feeds_table(feeds, now), format_count(len(feeds), "feed", "feeds"))


def feed_state(feed: Record) -> str:
    failures = feed["stats"]["consecutive_failures"]
    state = str(feed.get("state", "active"))
    return "failing" if state == "active" and failures >= 3 else state


def feed_details(feed: Record, now: datetime) -> Table:
    schedule, hints, stats = feed["schedule"], feed["publisher_hints"], feed["stats"]
    return details_table(
        [
            ("title", safe_text(feed.get("title"))),
            ("id", feed["id"]),
            ("url", safe_text(feed["url"], 2_000)),
            ("page", safe_text(feed.get("home_link"), 2_000)),
            ("kind", feed["type"]),
            ("state", state_text(feed_state(feed))),
            ("categories", ", ".join(feed.get("categories") or [])),
            ("validators", _validators(feed["validators"])),
            ("hints", safe_text(hints_in_words(hints))),
            ("next visit", _when(schedule.get("next_visit_at"), now)),
            ("interval", format_duration(schedule["interval_sec"])),
            ("reason", safe_text(schedule.get("reason"))),
            ("last visit", _when(stats["last_fetch_at"], now)),
            ("last success", _when(stats["last_success_at"], now)),
            ("new last time", str(stats["new_entries_last_fetch"])),
            ("posts every", _maybe_duration(stats.get("ewma_interarrival_sec"))),
            ("failures in a row", str(stats["consecutive_failures"])),
            *_own_settings(feed),
        ]
    )


def feed_and_visits(feed: Record, now: datetime) -> RenderableType:
    details = feed_details(feed, now)
    return Group(details, visits_table(feed["visits"], now)) if feed["visits"] else details


def hints_in_words(hints: Record) -> str:
    """The wishes of the publisher, in one line."""
    parts = []
    if hints.get("ttl_minutes"):
        parts.append(f"ttl {format_duration(hints['ttl_minutes'] * 60)}")
    if hints.get("skip_hours"):
        parts.append("not at " + ", ".join(f"{hour}:00" for hour in hints["skip_hours"]) + " UTC")
    if hints.get("skip_days"):
        parts.append("not on " + ", ".join(hints["skip_days"]))
    shown = {"ttl_minutes", "skip_hours", "skip_days"}
    parts += [f"{name} {value}" for name, value in hints.items() if name not in shown and value]
    return "; ".join(parts) or "none"


def visits_table(visits: Iterable[Record], now: datetime) -> Table:
    """A table with few columns, so that the id of a payload fits on a line of eighty letters."""
    made = table("when", "outcome", "what", wide=("what",))
    for visit in visits:
        why = visit.get("error_detail") or visit.get("error") or visit.get("reason")
        lines = [safe_text(why, 200), Text(_figures(visit))]
        if visit.get("fetch_id"):
            lines.append(Text(visit["fetch_id"], style="dim"))
        outcome = state_text(str(visit["outcome"]))
        if visit.get("status"):
            outcome.append(f" {visit['status']}")
        made.add_row(local_time(visit["started_at"], now), outcome, Text("\n").join(lines))
    return made


def _figures(visit: Record) -> str:
    parts = [
        f"{visit[count]:,} {name}"
        for count, name in (("new_entries", "new"), ("updated_entries", "edited"))
        if visit.get(count)
    ]
    took = f"{visit.get('latency_ms') or 0:,.0f} ms"
    return ", ".join([*parts, f"{visit.get('bytes_in') or 0:,} bytes", took])


def schedule_table(decisions: Iterable[Record], now: datetime) -> Table:
    made = table("when", "before", "after", "next visit", "why", wide=("why",))
    for decision in decisions:
        made.add_row(
            local_time(decision.get("decided_at"), now),
            _maybe_duration(decision.get("interval_before")),
            _maybe_duration(decision.get("interval_after")),
            local_time(decision.get("next_at"), now),
            safe_text(decision.get("reason")),
        )
    return made


def added_feed_details(feed: Record, count: int | None, now: datetime) -> Table:
    entries = None if count is None else format_count(count, "entry", "entries")
    return details_table(
        [
            ("title", safe_text(feed.get("title") or "not visited yet")),
            ("kind", feed["type"]),
            ("entries", entries),
            ("next visit", _when(feed["schedule"].get("next_visit_at"), now)),
            ("reason", safe_text(feed["schedule"].get("reason"))),
            ("id", feed["id"]),
        ]
    )


def _validators(validators: Record) -> Text:
    parts = [f"ETag {validators['etag']}"] if validators.get("etag") else []
    if validators.get("last_modified"):
        parts.append(f"Last-Modified {validators['last_modified']}")
    return safe_text(", ".join(parts) or "none: every visit brings the whole document")


def _when(moment: str | None, now: datetime) -> str:
    return f"{local_time(moment, now)} ({relative_time(moment, now)})" if moment else "never"


def _maybe_duration(seconds: float | None) -> str:
    return "–" if seconds is None else format_duration(seconds)


def _own_settings(feed: Record) -> list[tuple[str, Text | str | None]]:
    usual = {None, False} | {feed["title"]}
    parts = [
        f"{name}={value}"
        for name, value in feed["overrides"].items()
        if (value not in usual if name != "verify_tls" else not value)
    ]
    return [("own settings", safe_text(", ".join(parts)))] if parts else []


def statistics_and_days(statistics: Record, feed: Record) -> RenderableType:
    details = feed_statistics_details(feed, statistics)
    return Group(details, days_table(statistics["days"])) if statistics["days"] else details


def feed_statistics_details(feed: Record, statistics: Record) -> Table:
    errors = ", ".join(
        f"{code} {count:,}" for code, count in statistics["error_code_counts"].items()
    )
    ratio, ewma = statistics["compression_ratio"], statistics["ewma_interval_sec"]
    per_fetch = statistics["new_entries_per_fetch"]
    return details_table(
        [
            ("feed", safe_text(feed["title"] or feed["url"])),
            ("window", statistics["window"]),
            ("fetches", f"{statistics['fetch_count']:,}"),
            ("successes", _share(statistics["success_rate"])),
            ("not modified", _share(statistics["not_modified_rate"])),
            ("errors", safe_text(errors)),
            ("retries", f"{statistics['retry_count']:,}"),
            ("bytes in", f"{statistics['bytes_in']:,}"),
            ("bytes saved by 304s", f"{statistics['bytes_saved']:,}"),
            ("compression", "–" if ratio is None else f"{ratio:.1f} times smaller on the wire"),
            ("latency", _latency(statistics)),
            ("new entries", f"{statistics['new_entries']:,}"),
            ("new entries per fetch", "–" if per_fetch is None else f"{per_fetch:.2f}"),
            ("interval chosen", format_duration(statistics["interval_chosen_sec"])),
            ("usual gap of posts", "–" if ewma is None else format_duration(ewma)),
        ]
    )


def days_table(days: Iterable[Record]) -> Table:
    made = table(
        "day", "fetches", "failed", "304", "retries", "new", "bytes in", "saved", "mean ms"
    )
    for day in days:
        made.add_row(
            day["day"] or "older",
            f"{day['fetch_count']:,}",
            f"{day['failures']:,}",
            f"{day['not_modified']:,}",
            f"{day['retry_count']:,}",
            f"{day['new_entries']:,}",
            f"{day['bytes_in']:,}",
            f"{day['bytes_saved']:,}",
            f"{day['average_latency_ms']:.0f}",
        )
    return made


def _share(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.1%}"


def _latency(statistics: Record) -> str:
    if statistics["average_latency_ms"] is None:
        return "–"
    mean, p99 = statistics["average_latency_ms"], statistics["p99_latency_ms"]
    return f"{mean:,.0f} ms on average" + ("" if p99 is None else f", 99 of 100 in {p99:,.0f} ms")
