"""How it goes, in figures: one feed's visits, and what Headwater promises of itself."""

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.table import Table

from headwater.entrypoints.cli.errors import ExitCode
from headwater.entrypoints.cli.lookup import feed_path, lookup_feed
from headwater.entrypoints.cli.options import FeedName, Json, session_of
from headwater.entrypoints.cli.render import Record, details_table, safe_text, state_text, table
from headwater.feeds.schedule.durations import format_duration

Window = Annotated[str, typer.Option("--window", help="Days to look at, such as 7d, or all.")]


def stats(ctx: typer.Context, feed: FeedName, window: Window = "7d", json: Json = False) -> None:
    """How a feed's visits go: successes, 304s, errors, bytes, speed, news, day by day."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        meant = lookup_feed(api, feed)
        found = api.get(feed_path(meant, "stats"), window=window)
    if json:
        session.print_json(found)
        return
    session.out.print(feed_statistics_details(meant, found))
    if found["days"]:
        session.out.print(days_table(found["days"]))


def slo(
    ctx: typer.Context,
    window: Annotated[str, typer.Option("--window", help="Days to look at, such as 7d.")] = "1d",
    worst: Annotated[int, typer.Option("--worst", min=0, max=100, help="Feeds to name.")] = 5,
    json: Json = False,
) -> None:
    """What Headwater promises and whether it keeps it. Exit code 1 when a promise is broken."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = api.get("/slo", window=window, worst=worst)
    if json:
        session.print_json(found)
    else:
        session.out.print(levels_table(found["levels"]))
        for level in found["levels"]:
            if level["met"] is False and level["worst"]:
                session.out.print(safe_text(f"{level['name']}: the worst"))
                session.out.print(offenders_table(level))
    if not found["met"]:
        raise typer.Exit(ExitCode.PROBLEMS)


def feed_statistics_details(feed: Record, found: Record) -> Table:
    errors = ", ".join(f"{code} {many:,}" for code, many in found["error_code_counts"].items())
    ratio, ewma = found["compression_ratio"], found["ewma_interval_sec"]
    return details_table(
        [
            ("feed", safe_text(feed["title"] or feed["url"])),
            ("window", found["window"]),
            ("fetches", f"{found['fetch_count']:,}"),
            ("successes", _share(found["success_rate"])),
            ("not modified", _share(found["not_modified_rate"])),
            ("errors", safe_text(errors)),
            ("retries", f"{found['retry_count']:,}"),
            ("bytes in", f"{found['bytes_in']:,}"),
            ("bytes saved by 304s", f"{found['bytes_saved']:,}"),
            ("compression", "–" if ratio is None else f"{ratio:.1f} times smaller on the wire"),
            ("latency", _latency(found)),
            ("new entries", f"{found['new_entries']:,}"),
            ("new entries per fetch", _number(found["new_entries_per_fetch"])),
            ("interval chosen", format_duration(found["interval_chosen_sec"])),
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


def levels_table(levels: Iterable[Record]) -> Table:
    made = table(
        "", "promise", "target", "value", "measured", "beyond", "window", wide=("promise",)
    )
    for level in levels:
        made.add_row(
            state_text({True: "ok", False: "error", None: "–"}[level["met"]]),
            safe_text(level["promise"]),
            _figure(level["target"], level["unit"]),
            _figure(level["value"], level["unit"]),
            f"{level['measured']:,}",
            f"{level['beyond']:,}",
            level["window"],
        )
    return made


def offenders_table(level: Record) -> Table:
    made = table("feed", "value", "about", "url", wide=("url",))
    unit = "times" if level["name"] == "freshness" else level["unit"]
    for each in level["worst"]:
        made.add_row(
            each["feed_id"],
            _figure(each["value"], unit),
            safe_text(each["detail"]),
            safe_text(each["url"], 200),
        )
    return made


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    return {"share": f"{value:.1%}", "seconds": f"{value:.2f} s"}.get(unit, f"{value:.1f}")


def _share(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.1%}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _latency(found: Record) -> str:
    if found["average_latency_ms"] is None:
        return "–"
    mean, p99 = found["average_latency_ms"], found["p99_latency_ms"]
    return f"{mean:,.0f} ms on average" + ("" if p99 is None else f", 99 of 100 in {p99:,.0f} ms")
