"""The event log from the command line: what is in it, and telling it to a sink once more."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.table import Table

from headwater.entrypoints.cli.lookup import api_path, lookup_feed
from headwater.entrypoints.cli.options import Json, Limit, local_now, session_of
from headwater.entrypoints.cli.render import Record, safe_text, table
from headwater.entrypoints.cli.session import PAGE, Api
from headwater.entrypoints.cli.sinks import parse_start
from headwater.entrypoints.cli.times import local_time


def events_table(events: Iterable[Record], now: datetime) -> Table:
    made = table("event", "when", "type", "about", wide=("about",))
    for each in events:
        made.add_row(
            str(each["seq"]),
            local_time(each["at"], now),
            safe_text(each["type"]),
            safe_text(_about(each["payload"]), 200),
        )
    return made


def _about(payload: Record) -> str | None:
    """What an event is about, in the words that tell most."""
    for name in ("canonical_link", "entry_uid", "new_url", "source_url", "url", "feed_id"):
        if payload.get(name):
            return str(payload[name])
    return None


events = typer.Typer(invoke_without_command=True, help="The event log, and replaying it to a sink.")

_FURTHER = 8
"""How much further back each look goes while too few events were found."""


@events.callback()
def list_events(
    ctx: typer.Context,
    after: Annotated[
        int | None,
        typer.Option("--after", metavar="SEQ", min=0, help="What came after it, in order."),
    ] = None,
    type_: Annotated[str | None, typer.Option("--type", help="Only this type of event.")] = None,
    feed: Annotated[str | None, typer.Option("--feed", help="Only events of this feed.")] = None,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """The newest events, the last one at the end. `headwater watch` shows them as they come."""
    if ctx.invoked_subcommand is not None:
        return
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        asked: dict[str, str | int | None] = {"type": type_}
        if feed is not None:
            asked["feed_id"] = lookup_feed(api, feed)["id"]
        found = (
            _newest_events(api, limit, asked)
            if after is None
            else _between(api, after, None, asked, limit)
        )
    if json:
        session.print_json(found)
    elif found:
        session.out.print(events_table(found, local_now()))
    else:
        session.out.print("No events there.")


@events.command()
def replay(
    ctx: typer.Context,
    sink: Annotated[str, typer.Option("--sink", metavar="NAME", help="Which sink.")],
    start: Annotated[str, typer.Option("--from", help="beginning, an event's number, or a time.")],
    json: Json = False,
) -> None:
    """Deliver events to a sink once more, from a number or a time on. They keep their ids."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        done = api.post(api_path("sinks", sink, "replay"), {"from": parse_start(start)})
    if json:
        session.print_json(done)
    else:
        session.out.print(
            safe_text(
                f"{sink}: goes on after event {done['cursor']:,}, {done['lag']:,} to deliver."
            )
        )
        if done["state"] in ("stopped", "disabled"):
            session.note(f"It is {done['state']}: `headwater sinks enable {sink}` starts it again.")


def _newest_events(
    api: Api, limit: int, asked: dict[str, str | int | None]
) -> list[dict[str, Any]]:
    """Back from the end, further with each look, until there are enough."""
    last = int(api.get("/events", after=0, limit=1)["last_seq"])
    found: list[dict[str, Any]] = []
    before, width = last, limit
    while before > 0 and len(found) < limit:
        after = max(0, before - width)
        found = _between(api, after, before, asked, None) + found
        before, width = after, width * _FURTHER
    return found[-limit:]


def _between(
    api: Api,
    after: int,
    until: int | None,
    asked: dict[str, str | int | None],
    limit: int | None,
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while limit is None or len(found) < limit:
        size = PAGE if limit is None else min(PAGE, limit - len(found))
        page = api.get("/events", **asked, after=after, limit=size)
        found += [each for each in page["events"] if until is None or each["seq"] <= until]
        after = page["next"]
        if after >= (page["last_seq"] if until is None else until):
            break
    return found
