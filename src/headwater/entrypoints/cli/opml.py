"""Lists of feeds in and out, as OPML."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Group, RenderableType
from rich.progress import TimeRemainingColumn
from rich.table import Table

from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.errors import ApiError, ExitCode
from headwater.entrypoints.cli.files import read_input, write_output
from headwater.entrypoints.cli.progress import with_progress
from headwater.entrypoints.cli.render import safe_text, state_text, table
from headwater.entrypoints.cli.session import NO_SERVICE_NOTE, Api, Session
from headwater.feeds.schedule.durations import format_count
from headwater.publish.opml import OpmlRow, parse_opml, render_opml

LONGEST_TITLE, LONGEST_CATEGORY, MOST_CATEGORIES = 1_024, 200, 64
"""The limits of the API; a list from elsewhere may have more."""
NO_ADDRESS = "The list has no address for it."

commands = Commands()
opml = commands.family("opml", help="Lists of feeds, in and out.")


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The outcome of one row."""

    url: str
    title: str | None
    result: Literal["added", "already there", "refused"]
    why: str | None = None
    feed_id: str | None = None


@opml.command("import")
def import_list(
    session: Session,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="- is stdin.")],
) -> None:
    """Follow every feed of a list; workers visit them soon."""
    most = session.settings.opml_max_bytes
    rows = parse_opml(read_input(file, most), most)
    results: list[ImportResult] = []
    try:
        with session.api(writes=True) as api:
            served = api.is_service
            rows_to_follow = with_progress(session, rows, "following", TimeRemainingColumn())
            results.extend(_follow(api, row) for row in rows_to_follow)
    finally:
        # Also when the import ends half-way, as feeds may have been added.
        session.emit(results, results_and_counts)
    if not served and any(result.result == "added" for result in results):
        session.note(NO_SERVICE_NOTE)
    if any(result.result == "refused" for result in results):
        raise typer.Exit(ExitCode.PROBLEMS)


@opml.command("export", json=False)
def export_list(
    session: Session,
    file: Annotated[
        Path | None, typer.Argument(help="Where to write it; else stdout.", show_default=False)
    ] = None,
) -> None:
    """All feeds as a list that other readers understand."""
    with session.api() as api:
        rows = [
            OpmlRow(feed["url"], feed["title"], feed["home_link"], tuple(feed["categories"]))
            for feed in api.pages("/feeds", "feeds")
        ]
    write_output(render_opml(rows, "Feeds of Headwater", datetime.now(UTC)), file)
    if file is not None:
        session.note(f"{format_count(len(rows), 'feed', 'feeds')} written to {file}.")


def _follow(api: Api, row: OpmlRow) -> ImportResult:
    if not row.url:
        return ImportResult(row.url, row.title, "refused", NO_ADDRESS)
    try:
        feed = api.patiently(
            lambda: api.post("/feeds", _new_feed_body(row)),
            gave_up="The service takes no more requests now; import the rest later.",
        )
    except ApiError as refusal:
        if refusal.code == "duplicate_url":
            feed_id = refusal.facts.get("feed_id")
            return ImportResult(row.url, row.title, "already there", feed_id=feed_id)
        if refusal.status in {401, 403} or refusal.status >= 500:
            raise
        return ImportResult(row.url, row.title, "refused", refusal.message)
    return ImportResult(row.url, row.title, "added", feed_id=feed["id"])


def _new_feed_body(row: OpmlRow) -> dict[str, Any]:
    body: dict[str, Any] = {"url": row.url, "visit": "later"}
    if row.title:
        body["title"] = row.title[:LONGEST_TITLE]
    names = dict.fromkeys(name[:LONGEST_CATEGORY] for name in row.categories)
    if names:
        body["categories"] = list(names)[:MOST_CATEGORIES]
    return body


def results_and_counts(results: list[ImportResult]) -> RenderableType:
    counts = dict.fromkeys(("added", "already there", "refused"), 0)
    for result in results:
        counts[result.result] += 1
    words = ", ".join(f"{count} {result}" for result, count in counts.items())
    return Group(results_table(results), words)


def results_table(results: list[ImportResult]) -> Table:
    made = table("", "feed", "why", wide=("feed", "why"))
    for result in results:
        made.add_row(
            state_text(result.result),
            safe_text(result.title or result.url, 200),
            safe_text(result.why),
        )
    return made
