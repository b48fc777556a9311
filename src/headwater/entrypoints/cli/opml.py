"""Lists of feeds in and out, as OPML."""

import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from headwater.core.errors import BadInput
from headwater.entrypoints.cli.errors import ApiError, ExitCode
from headwater.entrypoints.cli.feeds import NO_SERVICE_NOTE
from headwater.entrypoints.cli.options import Json, session_of
from headwater.entrypoints.cli.render import safe_text, state_text, table
from headwater.entrypoints.cli.session import Api, Session
from headwater.feeds.schedule.durations import format_count
from headwater.publish.opml import OpmlRow, parse_opml, render_opml

MOST_WAITS = 60
LONGEST_WAIT = 60.0
LONGEST_TITLE, LONGEST_CATEGORY, MOST_CATEGORIES = 1_024, 200, 64
"""What the API takes; a list from elsewhere may have more."""
NO_ADDRESS = "The list has no address for it."

opml = typer.Typer(no_args_is_help=True, help="Lists of feeds, in and out.")


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What became of one row."""

    url: str
    title: str | None
    result: Literal["added", "already there", "refused"]
    why: str | None = None
    feed_id: str | None = None


@opml.command("import")
def import_list(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="- is stdin.")],
    json: Json = False,
) -> None:
    """Follow every feed of a list; workers visit them soon."""
    session = session_of(ctx, as_json=json)
    rows = parse_opml(_read(file, session.settings.opml_max_bytes), session.settings.opml_max_bytes)
    reports: list[ImportResult] = []
    try:
        with session.api(writes=True) as api:
            served = api.is_service
            reports.extend(_follow_all(session, api, rows))
    finally:
        # Also when it ends half-way: what was done is done.
        _print_results(session, reports)
    if not served and any(report.result == "added" for report in reports):
        session.note(NO_SERVICE_NOTE)
    if any(report.result == "refused" for report in reports):
        raise typer.Exit(ExitCode.PROBLEMS)


@opml.command("export")
def export_list(
    ctx: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="Where to write it; else stdout.", show_default=False)
    ] = None,
) -> None:
    """All feeds as a list that other readers understand."""
    session = session_of(ctx)
    with session.api() as api:
        rows = [_row(feed) for feed in api.pages("/feeds", "feeds")]
    written = render_opml(rows, "Feeds of Headwater", datetime.now(UTC))
    if file is None:
        sys.stdout.buffer.write(written)
        sys.stdout.buffer.flush()
        return
    try:
        file.write_bytes(written)
    except OSError as trouble:
        raise BadInput(f"{file} cannot be written: {trouble.strerror}.") from trouble
    session.note(f"{format_count(len(rows), 'feed', 'feeds')} written to {file}.")


def _follow_all(session: Session, api: Api, rows: tuple[OpmlRow, ...]) -> Iterator[ImportResult]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    hidden = session.as_json or not session.err.is_terminal
    with Progress(
        *columns, TimeRemainingColumn(), console=session.err, disable=hidden, transient=True
    ) as bar:
        for row in bar.track(rows, description="following"):
            yield _follow_one(api, row)


def _follow_one(api: Api, row: OpmlRow) -> ImportResult:
    if not row.url:
        return ImportResult(row.url, row.title, "refused", NO_ADDRESS)
    try:
        feed = _post_patiently(api, _new_feed_body(row))
    except ApiError as refusal:
        if refusal.code == "duplicate_url":
            there = refusal.facts.get("feed_id")
            return ImportResult(row.url, row.title, "already there", feed_id=there)
        if refusal.status in {401, 403} or refusal.status >= 500:
            raise
        return ImportResult(row.url, row.title, "refused", refusal.message)
    return ImportResult(row.url, row.title, "added", feed_id=feed["id"])


def _post_patiently(api: Api, wish: dict[str, Any]) -> dict[str, Any]:
    """A long list may be more than the API takes in a minute: then we wait as it asks."""
    for _ in range(MOST_WAITS):
        try:
            feed: dict[str, Any] = api.post("/feeds", wish)
        except ApiError as refusal:
            if refusal.code != "rate_limited":
                raise
            time.sleep(min(LONGEST_WAIT, float(refusal.facts.get("retry_after_sec") or 1)))
        else:
            return feed
    raise BadInput("The service takes no more requests now; import the rest later.")


def _new_feed_body(row: OpmlRow) -> dict[str, Any]:
    wish: dict[str, Any] = {"url": row.url, "visit": "later"}
    if row.title:
        wish["title"] = row.title[:LONGEST_TITLE]
    names = dict.fromkeys(name[:LONGEST_CATEGORY] for name in row.categories)
    if names:
        wish["categories"] = list(names)[:MOST_CATEGORIES]
    return wish


def _row(feed: dict[str, Any]) -> OpmlRow:
    return OpmlRow(feed["url"], feed["title"], feed["home_link"], tuple(feed["categories"]))


def _read(file: str, most: int) -> bytes:
    try:
        if file == "-":
            return sys.stdin.buffer.read(most + 1)
        with Path(file).open("rb") as opened:
            return opened.read(most + 1)
    except OSError as trouble:
        raise BadInput(f"{file} cannot be read: {trouble.strerror}.", given=file) from trouble


def _print_results(session: Session, reports: list[ImportResult]) -> None:
    if session.as_json:
        session.print_json([asdict(report) for report in reports])
        return
    session.out.print(_reports_table(reports))
    counts = dict.fromkeys(("added", "already there", "refused"), 0)
    for report in reports:
        counts[report.result] += 1
    session.out.print(", ".join(f"{count} {result}" for result, count in counts.items()))


def _reports_table(reports: list[ImportResult]) -> Table:
    made = table("", "feed", "why", wide=("feed", "why"))
    for report in reports:
        made.add_row(
            state_text(report.result),
            safe_text(report.title or report.url, 200),
            safe_text(report.why),
        )
    return made
