"""Entries: what is there, and what is new as it comes."""

import time
from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.text import Text

from headwater.entrypoints.cli.exits import ExitCode, Refused, exit_code_of
from headwater.entrypoints.cli.find import feed_meant
from headwater.entrypoints.cli.moments import moment, on_the_clock
from headwater.entrypoints.cli.options import Json, Limit, here_and_now, session_of
from headwater.entrypoints.cli.render import entries_table, plain
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.transport import Unreachable
from headwater.errors import HeadwaterError
from headwater.values.instant import rfc3339

GLANCE_SECONDS = 1.0
AGAIN_SECONDS = 3.0
PAGE = 200


def entries(
    ctx: typer.Context,
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
    json: Json = False,
) -> None:
    """Entries, newest first."""
    session = session_of(ctx, as_json=json)
    now = here_and_now()
    asked: dict[str, str | None] = {
        "since": rfc3339(moment(since, now)) if since is not None else None,
        "until": rfc3339(moment(until, now)) if until is not None else None,
        "category": category,
        "q": search,
    }
    with session.api() as api:
        if feed is not None:
            asked["feed_id"] = feed_meant(api, feed)["id"]
        found = api.some("/entries", "entries", limit, **asked)
    if json:
        session.print_json(found)
    elif found:
        session.out.print(entries_table(found, now))
    else:
        session.out.print("No entries there.")


def watch(
    ctx: typer.Context,
    start: Annotated[
        int | None, typer.Option("--from", metavar="SEQ", min=0, help="After this event number.")
    ] = None,
    json: Json = False,
) -> None:
    """New entries as they come (with --json: every event, one per line)."""
    session = session_of(ctx, as_json=json)
    after = start
    while True:
        try:
            with session.api() as api:
                if not api.is_service:
                    session.err.print("No service is running; start one with `headwater run`.")
                after = _last(api) if after is None else after
                while True:
                    for reached in _shown(session, api, after):
                        after = reached
        except (Unreachable, Refused) as trouble:
            if after is None or not _passes(trouble):
                raise
            session.err.print(plain(f"{trouble.message} Trying again."))
            time.sleep(AGAIN_SECONDS)


def _passes(trouble: HeadwaterError) -> bool:
    """Also a refusal may be over soon: a proxy's, a service's without its database, or because
    so many entries came that their titles were too many questions for a minute."""
    return exit_code_of(trouble) is ExitCode.UNREACHABLE or trouble.code == "rate_limited"


def _last(api: Api) -> int:
    return int(api.get("/events", after=0, limit=1)["last_seq"])


def _shown(session: Session, api: Api, after: int) -> Iterator[int]:
    """Prints what came after that number; says after each how far the log was read, as the service
    may be gone before the next."""
    page = api.get("/events", after=after, limit=PAGE)
    for event in page["events"]:
        _print_event(session, api, event)
        yield int(event["seq"])
    yield int(page["next"])
    if len(page["events"]) < PAGE:
        time.sleep(GLANCE_SECONDS)


def _print_event(session: Session, api: Api, event: dict[str, Any]) -> None:
    if session.as_json:
        session.print_line(event)
        return
    if event["type"] != "new_entry":
        return
    payload = event["payload"]
    line = Text(on_the_clock(event["at"], here_and_now()), style="dim")
    line.append("  ").append_text(plain(_title(api, payload), 120))
    if payload.get("canonical_link"):
        line.append("\n    ").append_text(plain(payload["canonical_link"], 500))
    session.out.print(line, soft_wrap=True)


def _title(api: Api, payload: dict[str, Any]) -> str:
    """Events are compact: the title is the entry's. One removed meanwhile still has its uid."""
    uid = str(payload["entry_uid"])
    try:
        found = api.get(f"/entries/{quote(uid, safe='')}", feed_id=payload["feed_id"])
    except Refused as refusal:
        if exit_code_of(refusal) is not ExitCode.NOT_FOUND:
            raise
        return uid
    return str(found.get("title") or uid)
