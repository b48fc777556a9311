"""The event log from the command line: the events in it, and their replay to a sink."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import typer
from rich.table import Table

from headwater.entrypoints.api_request import Query
from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.lookup import api_path, lookup_feed
from headwater.entrypoints.cli.options import Limit
from headwater.entrypoints.cli.render import Record, safe_text, table
from headwater.entrypoints.cli.session import PAGE, Api, Session
from headwater.entrypoints.cli.times import local_now, local_time, parse_start

_WIDER = 8
"""How much further back each next request goes while there are too few events."""

commands = Commands()
events = commands.family("events", help="The event log, and replaying it to a sink.")


@events.default()
def list_events(
    session: Session,
    after: Annotated[
        int | None,
        typer.Option(
            "--after", metavar="SEQ", min=0, help="Only events after this number, in order."
        ),
    ] = None,
    type_: Annotated[str | None, typer.Option("--type", help="Only this type of event.")] = None,
    feed: Annotated[str | None, typer.Option("--feed", help="Only events of this feed.")] = None,
    limit: Limit = 20,
) -> None:
    """The newest events, the last one at the end. `headwater watch` shows them as they come."""
    with session.api() as api:
        query: dict[str, str | int | None] = {"type": type_}
        if feed is not None:
            query["feed_id"] = lookup_feed(api, feed)["id"]
        if after is None:
            events = _newest_events(api, limit, query)
        else:
            events = _events_between(api, after, None, query, limit)
    session.emit(events, events_table, local_now(), empty="No events there.")


@events.command()
def replay(
    session: Session,
    sink: Annotated[str, typer.Option("--sink", metavar="NAME", help="Which sink.")],
    start: Annotated[str, typer.Option("--from", help="beginning, an event's number, or a time.")],
) -> None:
    """Deliver events to a sink once more, from a number or a time on. They keep their ids."""
    with session.api(writes=True) as api:
        done = api.post(api_path("sinks", sink, "replay"), {"from": parse_start(start)})
    line = f"{sink}: goes on after event {done['cursor']:,}, {done['lag']:,} to deliver."
    session.emit_line(done, line)
    if done["state"] in ("stopped", "disabled"):
        session.note(f"It is {done['state']}: `headwater sinks enable {sink}` starts it again.")


def _newest_events(api: Api, limit: int, query: Query) -> list[Record]:
    """Read back from the end, further with each request, until there are enough."""
    last = int(api.get("/events", after=0, limit=1)["last_seq"])
    events: list[Record] = []
    before, width = last, limit
    while before > 0 and len(events) < limit:
        after = max(0, before - width)
        events = _events_between(api, after, before, query, None) + events
        before, width = after, width * _WIDER
    return events[-limit:]


def _events_between(
    api: Api,
    after: int,
    until: int | None,
    query: Query,
    limit: int | None,
) -> list[Record]:
    events: list[Record] = []
    while limit is None or len(events) < limit:
        size = PAGE if limit is None else min(PAGE, limit - len(events))
        page = api.get("/events", **query, after=after, limit=size)
        events += [event for event in page["events"] if until is None or event["seq"] <= until]
        after = page["next"]
        if after >= (page["last_seq"] if until is None else until):
            break
    return events


def events_table(events: Iterable[Record], now: datetime) -> Table:
    made = table("event", "when", "type", "about", wide=("about",))
    for event in events:
        made.add_row(
            str(event["seq"]),
            local_time(event["at"], now),
            safe_text(event["type"]),
            safe_text(_about(event["payload"]), 200),
        )
    return made


def _about(payload: Record) -> str | None:
    """The field of an event that tells most to people."""
    for name in ("canonical_link", "entry_uid", "new_url", "source_url", "url", "feed_id"):
        if payload.get(name):
            return str(payload[name])
    return None
