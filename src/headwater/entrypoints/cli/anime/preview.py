"""`headwater track preview|backfill|missing|calendar`: what would be done, and what is awaited."""

import sys
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from headwater.core.values.instant import rfc3339
from headwater.entrypoints.cli.anime.tracking_options import tracking_body, with_tracking_options
from headwater.entrypoints.cli.anime.tracking_tables import slots_in_words
from headwater.entrypoints.cli.api_caller import ApiRequest
from headwater.entrypoints.cli.errors import ExitCode
from headwater.entrypoints.cli.lookup import api_path, lookup_tracking
from headwater.entrypoints.cli.options import Json, Limit, local_now, session_of
from headwater.entrypoints.cli.render import Record, details_table, safe_text, table
from headwater.entrypoints.cli.session import Api
from headwater.entrypoints.cli.times import local_time, parse_moment
from headwater.feeds.schedule.durations import format_count

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


def preview_table(entries: Iterable[Record], now: datetime) -> Table:
    made = table("when", "what", "by", "episode", "title", "why", wide=("title", "why"))
    for each in entries:
        made.add_row(
            local_time(each["published"], now),
            Text(each["action"], style=_COLOURS.get(each["action"], "")),
            safe_text(each["rule"]),
            safe_text(slots_in_words(each["slots"])),
            safe_text(each["title"], 160),
            safe_text(each["reason"], 300),
        )
    return made


def episodes_table(shows: Iterable[Record]) -> Table:
    made = table(
        "show", "episode", "state", "release", "title", "why", wide=("show", "title", "why")
    )
    for show in shows:
        for each in show["episodes"]:
            made.add_row(
                safe_text(show["title"], 60),
                safe_text(each["slot"]["name"]),
                Text(each["state"], style=_COLOURS.get(each["state"], "")),
                safe_text(each["release_id"]),
                safe_text(each["title"], 120),
                safe_text(each["reason"], 200),
            )
    return made


def calendar_table(airings: Iterable[Record], now: datetime) -> Table:
    made = table("day", "at", "episode", "show", "state", wide=("show",))
    for each in airings:
        clock = local_time(each["moment"], now)[-5:] if each["moment"] else None
        made.add_row(
            each["day"],
            safe_text(clock),
            safe_text(each["slot"]["name"]),
            safe_text(each["title"], 100),
            Text(each["state"], style=_COLOURS.get(each["state"], "")),
        )
    return made


TrackingArgument = Annotated[
    str, typer.Argument(metavar="TRACKING", help="Its number, or the title of its show.")
]
OptionalTrackingArgument = Annotated[
    str | None,
    typer.Argument(metavar="[TRACKING]", help="Only its show.", show_default=False),
]


@with_tracking_options
def preview(
    ctx: typer.Context,
    tracking: TrackingArgument,
    action: Annotated[
        str | None, typer.Option("--action", help="Only fetch, upgrade, hold, skip or removed.")
    ] = None,
    limit: Limit = 50,
    json: Json = False,
    *,
    said: dict[str, Any],
) -> None:
    """What would be done with all that the feed keeps, and why; with options, as if they were
    set."""
    session = session_of(ctx, as_json=json)
    changes = tracking_body(said)
    with session.api() as api:
        where = api_path("trackings", lookup_tracking(api, tracking)["id"], "preview")
        found = api.post(where, changes) if changes else api.get(where)
    if json:
        session.print_json(found)
        return
    wanted = [each for each in found["entries"] if action in (None, each["action"])]
    session.out.print(preview_table(wanted[:limit], local_now()))
    counts = [(name, str(many)) for name, many in found["decided"].items()]
    counts += [(f"removed by {rule}", str(many)) for rule, many in found["removed"].items()]
    session.out.print(details_table(counts))
    if len(wanted) > limit:
        session.note(f"{len(wanted) - limit} more: --limit shows them.")
    if found["cut"]:
        session.note("The feed keeps more entries than were looked at.")


def backfill(
    ctx: typer.Context,
    tracking: TrackingArgument,
    since: Annotated[
        str | None, typer.Option(help="Only what came out later: 30d, 2026-03-01.")
    ] = None,
    json: Json = False,
) -> None:
    """Collect what came out before the tracking began, as far as it is kept."""
    session = session_of(ctx, as_json=json)
    body = {} if since is None else {"since": rfc3339(parse_moment(since, local_now()))}
    with session.api(writes=True) as api:
        found = lookup_tracking(api, tracking)
        done = api.post(api_path("trackings", found["id"], "backfill"), body)
    if json:
        session.print_json(done)
        return
    names = ("fetch", "upgrade", "hold", "skip", "removed")
    counts = [f"{name} {done[name]}" for name in names if done[name]]
    session.out.print(safe_text(f"{found['show']['title']}: {', '.join(counts) or 'nothing new'}."))


def missing(
    ctx: typer.Context, tracking: OptionalTrackingArgument = None, json: Json = False
) -> None:
    """Episodes that are neither here nor on their way, and why. Exit code 1 when there are any."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = api.get("/trackings/missing", show=_show_of(api, tracking))["shows"]
    if json:
        session.print_json(found)
    elif not found:
        session.out.print("Nothing is missing.")
    else:
        session.out.print(episodes_table(found))
        count = sum(each["missing"] for each in found)
        session.note(
            f"{format_count(count, 'episode is', 'episodes are')} missing."
            " `headwater releases take RELEASE` takes one that was seen."
        )
    if found:
        raise typer.Exit(ExitCode.PROBLEMS)


def calendar(
    ctx: typer.Context,
    tracking: OptionalTrackingArgument = None,
    days: Annotated[int, typer.Option(min=0, max=366, help="How far ahead.")] = 14,
    back: Annotated[int, typer.Option(min=0, max=366, help="How many days back.")] = 3,
    ics: Annotated[bool, typer.Option("--ics", help="As iCalendar, for other programs.")] = False,
    json: Json = False,
) -> None:
    """What came out lately, and what is expected."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        query = {"show": _show_of(api, tracking), "days": days, "back": back}
        if ics:
            written = api.ask(ApiRequest("GET", "/trackings/calendar.ics", query)).body
            sys.stdout.buffer.write(written)
            sys.stdout.buffer.flush()
            return
        found = api.get("/trackings/calendar", **query)["episodes"]
    if json:
        session.print_json(found)
    elif found:
        session.out.print(calendar_table(found, local_now()))
    else:
        session.out.print("Nothing came, and nothing is expected.")


def _show_of(api: Api, tracking: str | None) -> int | None:
    return None if tracking is None else int(lookup_tracking(api, tracking)["show"]["id"])
