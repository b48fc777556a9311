"""`headwater track preview|backfill|missing|calendar`: what would be done, and what is awaited."""

import sys
from typing import Annotated, Any

import typer

from headwater.entrypoints.cli.exits import ExitCode
from headwater.entrypoints.cli.meant import path
from headwater.entrypoints.cli.moments import moment
from headwater.entrypoints.cli.options import Json, Limit, here_and_now, session_of
from headwater.entrypoints.cli.render import facts, plain
from headwater.entrypoints.cli.session import Api
from headwater.entrypoints.cli.track_said import of_tracking, tracking_meant, tracking_said
from headwater.entrypoints.cli.track_tables import calendar_table, episodes_table, preview_table
from headwater.entrypoints.transport import Request
from headwater.schedule.words import counted
from headwater.values.instant import rfc3339

Which = Annotated[
    str, typer.Argument(metavar="TRACKING", help="Its number, or the title of its show.")
]
MaybeWhich = Annotated[
    str | None,
    typer.Argument(metavar="[TRACKING]", help="Only its show.", show_default=False),
]


@of_tracking
def preview(
    ctx: typer.Context,
    tracking: Which,
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
    changes = tracking_said(said)
    with session.api() as api:
        where = path("trackings", tracking_meant(api, tracking)["id"], "preview")
        found = api.post(where, changes) if changes else api.get(where)
    if json:
        session.print_json(found)
        return
    wanted = [each for each in found["entries"] if action in (None, each["action"])]
    session.out.print(preview_table(wanted[:limit], here_and_now()))
    counts = [(name, str(many)) for name, many in found["decided"].items()]
    counts += [(f"removed by {rule}", str(many)) for rule, many in found["removed"].items()]
    session.out.print(facts(counts))
    if len(wanted) > limit:
        session.note(f"{len(wanted) - limit} more: --limit shows them.")
    if found["cut"]:
        session.note("The feed keeps more entries than were looked at.")


def backfill(
    ctx: typer.Context,
    tracking: Which,
    since: Annotated[
        str | None, typer.Option(help="Only what came out later: 30d, 2026-03-01.")
    ] = None,
    json: Json = False,
) -> None:
    """Collect what came out before the tracking began, as far as it is kept."""
    session = session_of(ctx, as_json=json)
    body = {} if since is None else {"since": rfc3339(moment(since, here_and_now()))}
    with session.api(writes=True) as api:
        found = tracking_meant(api, tracking)
        done = api.post(path("trackings", found["id"], "backfill"), body)
    if json:
        session.print_json(done)
        return
    names = ("fetch", "upgrade", "hold", "skip", "removed")
    counts = [f"{name} {done[name]}" for name in names if done[name]]
    session.out.print(plain(f"{found['show']['title']}: {', '.join(counts) or 'nothing new'}."))


def missing(ctx: typer.Context, tracking: MaybeWhich = None, json: Json = False) -> None:
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
            f"{counted(count, 'episode is', 'episodes are')} missing."
            " `headwater releases take RELEASE` takes one that was seen."
        )
    if found:
        raise typer.Exit(ExitCode.PROBLEMS)


def calendar(
    ctx: typer.Context,
    tracking: MaybeWhich = None,
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
            written = api.ask(Request("GET", "/trackings/calendar.ics", query)).body
            sys.stdout.buffer.write(written)
            sys.stdout.buffer.flush()
            return
        found = api.get("/trackings/calendar", **query)["episodes"]
    if json:
        session.print_json(found)
    elif found:
        session.out.print(calendar_table(found, here_and_now()))
    else:
        session.out.print("Nothing came, and nothing is expected.")


def _show_of(api: Api, tracking: str | None) -> int | None:
    return None if tracking is None else int(tracking_meant(api, tracking)["show"]["id"])
