"""Reparse payloads of the archive: compare two of them, or make entries anew."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import quote

import typer
from rich.console import Group, RenderableType
from rich.table import Table

from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.lookup import feed_path, lookup_feed
from headwater.entrypoints.cli.progress import with_progress
from headwater.entrypoints.cli.render import Record, safe_text, state_text, table
from headwater.entrypoints.cli.session import Api, Session
from headwater.feeds.schedule.durations import format_count

PAYLOADS_AT_ONCE = 25
DIFFERENCES_SHOWN = 200

DIFFERENCES_KEPT = 10_000
"""So many differences are listed: after a better parser there may be millions."""


@dataclass(slots=True)
class ReparseTotals:
    """The sums over all pages of all feeds."""

    dry_run: bool
    feeds: int = 0
    payloads: int = 0
    same: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    cut: int = 0
    differences: list[Record] = field(default_factory=list)
    unread: list[Record] = field(default_factory=list)

    def add(self, page: Record) -> None:
        for name in ("payloads", "same", "added", "changed", "removed", "cut"):
            setattr(self, name, getattr(self, name) + page[name])
        feed_id = page["feed_id"]
        differences = [{"feed_id": feed_id, **item} for item in page["differences"]]
        room = DIFFERENCES_KEPT - len(self.differences)
        self.differences += differences[:room]
        self.cut += len(differences[room:])
        self.unread += [{"feed_id": feed_id, **item} for item in page["unread"]]


commands = Commands()


@commands.command()
def diff(
    session: Session,
    fetch: Annotated[str, typer.Argument(metavar="FETCH", help="As `headwater visits` shows it.")],
    other: Annotated[
        str | None,
        typer.Argument(metavar="FETCH", help="Another payload; else the one before."),
    ] = None,
) -> None:
    """Show the changes of a publisher between two payloads of a feed."""
    with session.api() as api:
        changes = api.get(f"/raw/{quote(fetch, safe='')}/diff", **{"with": other})
    session.emit(changes, diff_in_words)


@commands.command()
def reparse(
    session: Session,
    feed: Annotated[
        str | None, typer.Option(help="Only this one: id, URL or part of a title.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
) -> None:
    """Read the archive again without a request, make entries anew, and show the differences."""
    totals = ReparseTotals(dry_run)
    with session.api(writes=not dry_run) as api:
        feeds = list(api.pages("/feeds", "feeds")) if feed is None else [lookup_feed(api, feed)]
        for record in with_progress(session, feeds, "reading again"):
            totals.feeds += 1
            for page in _pages(api, record, dry_run=dry_run):
                totals.add(page)
    session.emit(totals, totals_in_words)


def _pages(api: Api, feed: Record, *, dry_run: bool) -> Iterator[Record]:
    body: Record = {"dry_run": dry_run, "limit": PAYLOADS_AT_ONCE}
    request = api.preview if dry_run else api.post
    while True:
        page = request(feed_path(feed, "reparse"), body)
        yield page
        if page["next"] is None:
            return
        body["after"] = page["next"]


def differences_table(differences: list[Record]) -> Table:
    made = table("", "entry", "field", "before", "after", wide=("entry", "before", "after"))
    for difference in differences:
        what = state_text("changed silently" if difference["silent"] else difference["kind"])
        name = safe_text(difference["title"] or difference["entry_uid"], 120)
        changes = difference["fields"] or [{"name": "", "before": None, "after": None}]
        for index, change in enumerate(changes):
            made.add_row(
                *((what, name) if index == 0 else ("", "")),
                safe_text(change["name"]),
                safe_text(change["before"], 200),
                safe_text(change["after"], 200),
            )
    return made


def diff_in_words(diff: Record) -> RenderableType:
    lines = [safe_text(line) for line in _diff_heading(diff)]
    return Group(*lines, differences_table(diff["entries"])) if diff["entries"] else Group(*lines)


def _diff_heading(diff: Record) -> Iterator[str]:
    for name in ("before", "after"):
        payload = diff[name]
        size = f"{payload['content_length']} bytes"
        yield f"{name:<7}{payload['fetch_id']}  {payload['fetched_at']}  {size}"
    if diff["same_bytes"]:
        yield "The same bytes."
        return
    for change in diff["feed"]:
        yield f"feed {change['name']}: {change['before']} → {change['after']}"
    if not diff["feed"] and not diff["entries"]:
        yield "The bytes differ; what they say does not."
    if diff["cut"]:
        yield f"{diff['cut']} more entries differ than are shown."


def totals_in_words(totals: ReparseTotals) -> RenderableType:
    parts: list[RenderableType] = []
    if totals.differences:
        parts.append(differences_table(totals.differences[:DIFFERENCES_SHOWN]))
    if more := totals.cut + len(totals.differences[DIFFERENCES_SHOWN:]):
        parts.append(safe_text(f"{more} more differ than are shown; --json tells of more."))
    for payload in totals.unread:
        line = f"not read: {payload['fetch_id']}  {payload['error']}: {payload['detail']}"
        parts.append(safe_text(line))
    return Group(*parts, safe_text(_sums_in_words(totals)))


def _sums_in_words(totals: ReparseTotals) -> str:
    verb = "would be" if totals.dry_run else "were"
    return (
        f"{format_count(totals.payloads, 'payload', 'payloads')} of"
        f" {format_count(totals.feeds, 'feed', 'feeds')} read again:"
        f" {format_count(totals.same, 'entry says', 'entries say')} the same,"
        f" {totals.changed} {verb} changed, {totals.added} {verb} added,"
        f" {totals.removed} are not found any more (kept), {len(totals.unread)} payloads not read."
    )
