"""Entries on the command line: list, watch, raw bytes, what changed, parse again."""

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from headwater.core.errors import HeadwaterError
from headwater.core.values.instant import rfc3339
from headwater.entrypoints.cli.api_caller import ApiRequest, ServiceUnreachable
from headwater.entrypoints.cli.errors import ApiError, ExitCode, exit_code_of
from headwater.entrypoints.cli.lookup import feed_path, lookup_feed
from headwater.entrypoints.cli.options import Json, Limit, local_now, session_of
from headwater.entrypoints.cli.render import Record, safe_text, state_text, table
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.times import local_time, parse_moment
from headwater.feeds.schedule.durations import format_count


def entries_table(entries: Iterable[Record], now: datetime) -> Table:
    made = table("when", "title", "link", wide=("title", "link"))
    for entry in entries:
        made.add_row(
            local_time(entry.get("published") or entry["first_seen"], now),
            safe_text(entry.get("title") or entry["entry_uid"], 120),
            safe_text(entry.get("canonical_link"), 500),
        )
    return made


POLL_SECONDS = 1.0
RETRY_SECONDS = 3.0
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
    now = local_now()
    asked: dict[str, str | None] = {
        "since": rfc3339(parse_moment(since, now)) if since is not None else None,
        "until": rfc3339(parse_moment(until, now)) if until is not None else None,
        "category": category,
        "q": search,
    }
    with session.api() as api:
        if feed is not None:
            asked["feed_id"] = lookup_feed(api, feed)["id"]
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
                after = _last_seq(api) if after is None else after
                while True:
                    for reached in _print_new_events(session, api, after):
                        after = reached
        except (ServiceUnreachable, ApiError) as trouble:
            if after is None or not _is_temporary(trouble):
                raise
            session.err.print(safe_text(f"{trouble.message} Trying again."))
            time.sleep(RETRY_SECONDS)


def _is_temporary(trouble: HeadwaterError) -> bool:
    """Also a refusal may be over soon: a proxy's, a service's without its database, or because
    so many entries came that their titles were too many questions for a minute."""
    return exit_code_of(trouble) is ExitCode.UNREACHABLE or trouble.code == "rate_limited"


def _last_seq(api: Api) -> int:
    return int(api.get("/events", after=0, limit=1)["last_seq"])


def _print_new_events(session: Session, api: Api, after: int) -> Iterator[int]:
    """Prints what came after that number; says after each how far the log was read, as the service
    may be gone before the next."""
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
    """Events are compact: the title is the entry's. One removed meanwhile still has its uid."""
    uid = str(payload["entry_uid"])
    try:
        found = api.get(f"/entries/{quote(uid, safe='')}", feed_id=payload["feed_id"])
    except ApiError as refusal:
        if exit_code_of(refusal) is not ExitCode.NOT_FOUND:
            raise
        return uid
    return str(found.get("title") or uid)


PAYLOADS_AT_ONCE = 25
DIFFERENCES_SHOWN = 200

DIFFERENCES_KEPT = 10_000
"""Differences that are told one by one: after a better parser there may be millions."""


@dataclass(slots=True)
class ReparseTotals:
    """What all pages of all feeds said together."""

    dry_run: bool
    feeds: int = 0
    payloads: int = 0
    same: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    cut: int = 0
    differences: list[dict[str, Any]] = field(default_factory=list)
    unread: list[dict[str, Any]] = field(default_factory=list)

    def take_in(self, page: dict[str, Any]) -> None:
        for name in ("payloads", "same", "added", "changed", "removed", "cut"):
            setattr(self, name, getattr(self, name) + page[name])
        found = [{"feed_id": page["feed_id"], **each} for each in page["differences"]]
        room = DIFFERENCES_KEPT - len(self.differences)
        self.differences += found[:room]
        self.cut += len(found[room:])
        self.unread += [{"feed_id": page["feed_id"], **each} for each in page["unread"]]


def reparse(
    ctx: typer.Context,
    feed: Annotated[
        str | None, typer.Option(help="Only this one: id, URL or part of a title.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    json: Json = False,
) -> None:
    """Make entries anew from the archive, without a request, and say what differs."""
    session = session_of(ctx, as_json=json)
    total = ReparseTotals(dry_run)
    with session.api(writes=not dry_run) as api:
        wanted = list(api.pages("/feeds", "feeds")) if feed is None else [lookup_feed(api, feed)]
        for each in _with_progress(session, wanted):
            total.feeds += 1
            for page in _pages(api, each, dry_run=dry_run):
                total.take_in(page)
    if json:
        session.print_json({name: getattr(total, name) for name in ReparseTotals.__slots__})
        return
    if total.differences:
        session.out.print(_differences_table(total.differences[:DIFFERENCES_SHOWN]))
    if more := total.cut + len(total.differences[DIFFERENCES_SHOWN:]):
        session.out.print(safe_text(f"{more} more differ than are shown; --json tells of more."))
    for each in total.unread:
        session.out.print(
            safe_text(f"not read: {each['fetch_id']}  {each['error']}: {each['detail']}")
        )
    session.out.print(safe_text(_in_words(total)))


def diff(
    ctx: typer.Context,
    fetch: Annotated[str, typer.Argument(metavar="FETCH", help="As `headwater visits` shows it.")],
    other: Annotated[
        str | None,
        typer.Argument(metavar="FETCH", help="Another payload; else the one before."),
    ] = None,
    json: Json = False,
) -> None:
    """What a publisher changed between two payloads of a feed."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        said = api.get(f"/raw/{quote(fetch, safe='')}/diff", **{"with": other})
    if json:
        session.print_json(said)
        return
    for line in _heading(said):
        session.out.print(safe_text(line))
    if said["entries"]:
        session.out.print(_differences_table(said["entries"]))


def _with_progress(session: Session, feeds: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    hidden = session.as_json or not session.err.is_terminal
    with Progress(*columns, console=session.err, disable=hidden, transient=True) as bar:
        yield from bar.track(feeds, description="reading again")


def _pages(api: Api, feed: dict[str, Any], *, dry_run: bool) -> Iterator[dict[str, Any]]:
    asked: dict[str, Any] = {"dry_run": dry_run, "limit": PAYLOADS_AT_ONCE}
    while True:
        page = api.post(feed_path(feed, "reparse"), asked)
        yield page
        if page["next"] is None:
            return
        asked["after"] = page["next"]


def _differences_table(differences: list[dict[str, Any]]) -> Table:
    made = table("", "entry", "field", "before", "after", wide=("entry", "before", "after"))
    for each in differences:
        what = state_text("changed silently" if each["silent"] else each["kind"])
        name = safe_text(each["title"] or each["entry_uid"], 120)
        changes = each["fields"] or [{"name": "", "before": None, "after": None}]
        for place, change in enumerate(changes):
            made.add_row(
                *((what, name) if place == 0 else ("", "")),
                safe_text(change["name"]),
                safe_text(change["before"], 200),
                safe_text(change["after"], 200),
            )
    return made


def _heading(said: dict[str, Any]) -> Iterator[str]:
    for name in ("before", "after"):
        payload = said[name]
        size = f"{payload['content_length']} bytes"
        yield f"{name:<7}{payload['fetch_id']}  {payload['fetched_at']}  {size}"
    if said["same_bytes"]:
        yield "The same bytes."
        return
    for change in said["feed"]:
        yield f"feed {change['name']}: {change['before']} → {change['after']}"
    if not said["feed"] and not said["entries"]:
        yield "The bytes differ; what they say does not."
    if said["cut"]:
        yield f"{said['cut']} more entries differ than are shown."


def _in_words(total: ReparseTotals) -> str:
    did = "would be" if total.dry_run else "were"
    return (
        f"{format_count(total.payloads, 'payload', 'payloads')} of"
        f" {format_count(total.feeds, 'feed', 'feeds')} read again:"
        f" {format_count(total.same, 'entry says', 'entries say')} the same,"
        f" {total.changed} {did} changed, {total.added} {did} added,"
        f" {total.removed} are not found any more (kept), {len(total.unread)} payloads not read."
    )


def raw(
    ctx: typer.Context,
    fetch_id: Annotated[
        str, typer.Argument(metavar="FETCH_ID", help="As `headwater visits` shows it.")
    ],
    meta: Annotated[bool, typer.Option("--meta", help="The record instead of the bytes.")] = False,
) -> None:
    """The exact bytes a server sent, on stdout."""
    session = session_of(ctx, as_json=meta)
    path = f"/raw/{quote(fetch_id, safe='')}"
    with session.api() as api:
        if meta:
            session.print_json(api.get(path, meta=1))
            return
        body = api.ask(ApiRequest("GET", path, headers={"accept": "*/*"})).body
    sys.stdout.buffer.write(body)
    sys.stdout.buffer.flush()
