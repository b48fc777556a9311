"""What the archive says when it is read again: entries made anew, and what a publisher changed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from headwater.entrypoints.cli.find import feed_meant, path_of
from headwater.entrypoints.cli.options import Json, session_of
from headwater.entrypoints.cli.render import plain, table, word
from headwater.entrypoints.cli.session import Api, Session
from headwater.schedule.words import counted

AT_ONCE = 25
SHOWN = 200
KEPT = 10_000
"""Differences that are told one by one: after a better parser there may be millions."""


@dataclass(slots=True)
class Sum:
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
        room = KEPT - len(self.differences)
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
    total = Sum(dry_run)
    with session.api(writes=not dry_run) as api:
        wanted = list(api.pages("/feeds", "feeds")) if feed is None else [feed_meant(api, feed)]
        for each in _with_progress(session, wanted):
            total.feeds += 1
            for page in _pages(api, each, dry_run=dry_run):
                total.take_in(page)
    if json:
        session.print_json({name: getattr(total, name) for name in Sum.__slots__})
        return
    if total.differences:
        session.out.print(_differences_table(total.differences[:SHOWN]))
    if more := total.cut + len(total.differences[SHOWN:]):
        session.out.print(plain(f"{more} more differ than are shown; --json tells of more."))
    for each in total.unread:
        session.out.print(plain(f"not read: {each['fetch_id']}  {each['error']}: {each['detail']}"))
    session.out.print(plain(_in_words(total)))


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
        session.out.print(plain(line))
    if said["entries"]:
        session.out.print(_differences_table(said["entries"]))


def _with_progress(session: Session, feeds: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    hidden = session.as_json or not session.err.is_terminal
    with Progress(*columns, console=session.err, disable=hidden, transient=True) as bar:
        yield from bar.track(feeds, description="reading again")


def _pages(api: Api, feed: dict[str, Any], *, dry_run: bool) -> Iterator[dict[str, Any]]:
    asked: dict[str, Any] = {"dry_run": dry_run, "limit": AT_ONCE}
    while True:
        page = api.post(path_of(feed, "reparse"), asked)
        yield page
        if page["next"] is None:
            return
        asked["after"] = page["next"]


def _differences_table(differences: list[dict[str, Any]]) -> Table:
    made = table("", "entry", "field", "before", "after", wide=("entry", "before", "after"))
    for each in differences:
        what = word("changed silently" if each["silent"] else each["kind"])
        name = plain(each["title"] or each["entry_uid"], 120)
        changes = each["fields"] or [{"name": "", "before": None, "after": None}]
        for place, change in enumerate(changes):
            made.add_row(
                *((what, name) if place == 0 else ("", "")),
                plain(change["name"]),
                plain(change["before"], 200),
                plain(change["after"], 200),
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


def _in_words(total: Sum) -> str:
    did = "would be" if total.dry_run else "were"
    return (
        f"{counted(total.payloads, 'payload', 'payloads')} of"
        f" {counted(total.feeds, 'feed', 'feeds')} read again:"
        f" {counted(total.same, 'entry says', 'entries say')} the same,"
        f" {total.changed} {did} changed, {total.added} {did} added,"
        f" {total.removed} are not found any more (kept), {len(total.unread)} payloads not read."
    )
