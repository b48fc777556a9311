"""Entries on the command line: list them, watch them come, and get their raw bytes."""

import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.table import Table
from rich.text import Text

from headwater.core.errors import HeadwaterError
from headwater.core.values.instant import rfc3339
from headwater.entrypoints.api_request import ApiRequest
from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.errors import ApiError, ExitCode, exit_code_of
from headwater.entrypoints.cli.files import write_output
from headwater.entrypoints.cli.http_connection import ServiceUnreachable
from headwater.entrypoints.cli.lookup import lookup_feed
from headwater.entrypoints.cli.options import Limit
from headwater.entrypoints.cli.render import Record, safe_text, table
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.times import local_now, local_time, parse_moment

POLL_SECONDS = 1.0
RETRY_SECONDS = 3.0
PAGE = 200

commands = Commands()


@commands.command()
def entries(
    session: Session,
    feed: Annotated[str | None, typer.Option("--feed", "-f", help="Only of this feed.")] = None,
    since: Annotated[
        str | None,
        typer.Option(help="First seen from then on: 2h, 3d, today, 2026-03-01, a full time."),
    ] = None,
    until: Annotated[str | None, typer.Option(help="First seen before then; same forms.")] = None,
    category: Annotated[
        str | None, typer.Option("--category", "-c", help="Only of this one.")
    ] = None,
    search: Annotated[
        str | None, typer.Option("--search", "-s", help="With all of these words.")
    ] = None,
    limit: Limit = 20,
) -> None:
    """Entries, newest first."""
    now = local_now()
    query: dict[str, str | None] = {
        "since": rfc3339(parse_moment(since, now)) if since is not None else None,
        "until": rfc3339(parse_moment(until, now)) if until is not None else None,
        "category": category,
        "q": search,
    }
    with session.api() as api:
        if feed is not None:
            query["feed_id"] = lookup_feed(api, feed)["id"]
        entries = api.first("/entries", "entries", limit, **query)
    session.emit(entries, entries_table, now, empty="No entries there.")


@commands.command()
def watch(
    session: Session,
    start: Annotated[
        int | None, typer.Option("--from", metavar="SEQ", min=0, help="After this event number.")
    ] = None,
) -> None:
    """New entries as they come (with --json: every event, one per line)."""
    after = start
    while True:
        try:
            with session.api() as api:
                if not api.is_service:
                    session.err.print("No service is running; start one with `headwater run`.")
                if after is None:
                    after = int(api.get("/events", after=0, limit=1)["last_seq"])
                while True:
                    for reached in _print_new_events(session, api, after):
                        after = reached
        except (ServiceUnreachable, ApiError) as trouble:
            if after is None or not _is_temporary(trouble):
                raise
            session.err.print(safe_text(f"{trouble.message} Trying again."))
            time.sleep(RETRY_SECONDS)


@commands.command(json=False)
def raw(
    session: Session,
    fetch_id: Annotated[
        str, typer.Argument(metavar="FETCH_ID", help="As `headwater visits` shows it.")
    ],
    meta: Annotated[bool, typer.Option("--meta", help="The record instead of the bytes.")] = False,
) -> None:
    """The exact bytes a server sent, on stdout."""
    session.as_json = meta
    path = f"/raw/{quote(fetch_id, safe='')}"
    with session.api() as api:
        if meta:
            session.print_json(api.get(path, meta=1))
            return
        body = api.ask(ApiRequest("GET", path, headers={"accept": "*/*"})).body
    write_output(body)


def _is_temporary(trouble: HeadwaterError) -> bool:
    """A refusal may be over soon, too: that of a proxy, of a service without its database, or of
    the rate limit, when the titles of many entries were too many requests for a minute."""
    return exit_code_of(trouble) is ExitCode.UNREACHABLE or trouble.code == "rate_limited"


def _print_new_events(session: Session, api: Api, after: int) -> Iterator[int]:
    """Print the events after that number. Yield the reached number after each event, as the service
    may be gone before the next one."""
    page = api.get("/events", after=after, limit=PAGE)
    for event in page["events"]:
        _print_event(session, api, event)
        yield int(event["seq"])
    yield int(page["next"])
    if len(page["events"]) < PAGE:
        time.sleep(POLL_SECONDS)


def _print_event(session: Session, api: Api, event: dict[str, Any]) -> None:
    if session.as_json:
        session.print_line(event)
        return
    if event["type"] != "new_entry":
        return
    payload = event["payload"]
    line = Text(local_time(event["at"], local_now()), style="dim")
    line.append("  ").append_text(safe_text(_entry_title(api, payload), 120))
    if payload.get("canonical_link"):
        line.append("\n    ").append_text(safe_text(payload["canonical_link"], 500))
    session.out.print(line, soft_wrap=True)


def _entry_title(api: Api, payload: dict[str, Any]) -> str:
    """Get the title of the entry, as events have none. A removed entry still has its uid."""
    uid = str(payload["entry_uid"])
    try:
        entry = api.get(f"/entries/{quote(uid, safe='')}", feed_id=payload["feed_id"])
    except ApiError as refusal:
        if exit_code_of(refusal) is not ExitCode.NOT_FOUND:
            raise
        return uid
    return str(entry.get("title") or uid)


def entries_table(entries: Iterable[Record], now: datetime) -> Table:
    made = table("when", "title", "link", wide=("title", "link"))
    for entry in entries:
        made.add_row(
            local_time(entry.get("published") or entry["first_seen"], now),
            safe_text(entry.get("title") or entry["entry_uid"], 120),
            safe_text(entry.get("canonical_link"), 500),
        )
    return made
