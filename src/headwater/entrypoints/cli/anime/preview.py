"""`headwater track preview|backfill|missing|calendar`: preview decisions, and expected episodes."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headwater.core.values.instant import rfc3339
from headwater.entrypoints.api_request import ApiRequest
from headwater.entrypoints.cli.anime.tracking_options import (
    TrackingArgument,
    tracking_body,
    with_tracking_options,
)
from headwater.entrypoints.cli.anime.tracking_tables import slot_range_in_words
from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.errors import ExitCode
from headwater.entrypoints.cli.files import write_output
from headwater.entrypoints.cli.lookup import api_path, lookup_tracking
from headwater.entrypoints.cli.options import Limit
from headwater.entrypoints.cli.render import Record, details_table, safe_text, table
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.times import local_now, local_time, parse_moment
from headwater.feeds.schedule.durations import format_count

OptionalTrackingArgument = Annotated[
    str | None,
    typer.Argument(metavar="[TRACKING]", help="Only its show.", show_default=False),
]
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

commands = Commands()
"""Commands of `headwater track`, whose module includes them."""


@commands.command()
@with_tracking_options
def preview(
    session: Session,
    tracking: TrackingArgument,
    action: Annotated[
        str | None, typer.Option("--action", help="Only fetch, upgrade, hold, skip or removed.")
    ] = None,
    limit: Limit = 50,
    *,
    options: Record,
) -> None:
    """Every decision on what the feed keeps, and why, without acting on it; with options, as if
    they were set."""
    changes = tracking_body(options)
    with session.api() as api:
        path = api_path("trackings", lookup_tracking(api, tracking)["id"], "preview")
        decisions = api.preview(path, changes) if changes else api.get(path)
    matching = [entry for entry in decisions["entries"] if action in (None, entry["action"])]
    session.emit(decisions, preview_and_counts, matching[:limit], local_now())
    if len(matching) > limit:
        session.note(f"{len(matching) - limit} more: --limit shows them.")
    if decisions["cut"]:
        session.note("The feed keeps more entries than were looked at.")


@commands.command()
def backfill(
    session: Session,
    tracking: TrackingArgument,
    since: Annotated[
        str | None, typer.Option(help="Only what came out later: 30d, 2026-03-01.")
    ] = None,
) -> None:
    """Collect what came out before the tracking began, as far as it is kept."""
    body = {} if since is None else {"since": rfc3339(parse_moment(since, local_now()))}
    with session.api(writes=True) as api:
        record = lookup_tracking(api, tracking)
        done = api.post(api_path("trackings", record["id"], "backfill"), body)
    names = ("fetch", "upgrade", "hold", "skip", "removed")
    counts = ", ".join(f"{name} {done[name]}" for name in names if done[name])
    session.emit_line(done, f"{record['show']['title']}: {counts or 'nothing new'}.")


@commands.command()
def missing(session: Session, tracking: OptionalTrackingArgument = None) -> None:
    """Episodes that are neither here nor on their way, and why. Exit code 1 when there are any."""
    with session.api() as api:
        shows = api.get("/trackings/missing", show=_show_of(api, tracking))["shows"]
    session.emit(shows, episodes_table, empty="Nothing is missing.")
    if not shows:
        return
    count = sum(show["missing"] for show in shows)
    session.note(
        f"{format_count(count, 'episode is', 'episodes are')} missing."
        " `headwater releases take RELEASE` takes one that was seen."
    )
    raise typer.Exit(ExitCode.PROBLEMS)


@commands.command()
def calendar(
    session: Session,
    tracking: OptionalTrackingArgument = None,
    days: Annotated[int, typer.Option(min=0, max=366, help="How far ahead.")] = 14,
    back: Annotated[int, typer.Option(min=0, max=366, help="How many days back.")] = 3,
    ics: Annotated[bool, typer.Option("--ics", help="As iCalendar, for other programs.")] = False,
) -> None:
    """Episodes that came out lately, and those that are expected."""
    with session.api() as api:
        query = {"show": _show_of(api, tracking), "days": days, "back": back}
        if ics:
            write_output(api.ask(ApiRequest("GET", "/trackings/calendar.ics", query)).body)
            return
        episodes = api.get("/trackings/calendar", **query)["episodes"]
    empty = "Nothing came, and nothing is expected."
    session.emit(episodes, calendar_table, local_now(), empty=empty)


def _show_of(api: Api, tracking: str | None) -> int | None:
    return None if tracking is None else int(lookup_tracking(api, tracking)["show"]["id"])


def preview_and_counts(decisions: Record, entries: list[Record], now: datetime) -> RenderableType:
    counts = [(name, str(count)) for name, count in decisions["decided"].items()]
    counts += [(f"removed by {rule}", str(count)) for rule, count in decisions["removed"].items()]
    return Group(preview_table(entries, now), details_table(counts))


def preview_table(entries: Iterable[Record], now: datetime) -> Table:
    made = table("when", "what", "by", "episode", "title", "why", wide=("title", "why"))
    for entry in entries:
        made.add_row(
            local_time(entry["published"], now),
            Text(entry["action"], style=_COLOURS.get(entry["action"], "")),
            safe_text(entry["rule"]),
            safe_text(slot_range_in_words(entry["slots"])),
            safe_text(entry["title"], 160),
            safe_text(entry["reason"], 300),
        )
    return made


def episodes_table(shows: Iterable[Record]) -> Table:
    made = table(
        "show", "episode", "state", "release", "title", "why", wide=("show", "title", "why")
    )
    for show in shows:
        for episode in show["episodes"]:
            made.add_row(
                safe_text(show["title"], 60),
                safe_text(episode["slot"]["name"]),
                Text(episode["state"], style=_COLOURS.get(episode["state"], "")),
                safe_text(episode["release_id"]),
                safe_text(episode["title"], 120),
                safe_text(episode["reason"], 200),
            )
    return made


def calendar_table(airings: Iterable[Record], now: datetime) -> Table:
    made = table("day", "at", "episode", "show", "state", wide=("show",))
    for airing in airings:
        clock = local_time(airing["moment"], now)[-5:] if airing["moment"] else None
        made.add_row(
            airing["day"],
            safe_text(clock),
            safe_text(airing["slot"]["name"]),
            safe_text(airing["title"], 100),
            Text(airing["state"], style=_COLOURS.get(airing["state"], "")),
        )
    return made
