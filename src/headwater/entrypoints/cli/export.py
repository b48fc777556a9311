"""Everything out: entries, payloads and events as files other tools read, whole or what is new."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from headwater.entrypoints.cli.exits import ExitCode
from headwater.entrypoints.cli.export_cursor import Cursor, cursor_from, keep_cursor
from headwater.entrypoints.cli.export_files import STDOUT, made_whole
from headwater.entrypoints.cli.export_rows import Rows, csv_rows, ndjson_rows
from headwater.entrypoints.cli.export_sources import Asking, Slice, slices_of
from headwater.entrypoints.cli.export_warc import WarcRows
from headwater.entrypoints.cli.find import feed_meant
from headwater.entrypoints.cli.options import Json, session_of
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.late import late
from headwater.errors import BadInput, BadSettings
from headwater.schedule.words import counted

Format = Literal["ndjson", "csv", "parquet"]
Kind = Literal["entries", "raw", "events"]

NOUNS = {
    "entries": ("entry", "entries"),
    "raw": ("raw fetch", "raw fetches"),
    "events": ("event", "events"),
}

export = typer.Typer(no_args_is_help=True, help="Everything that is kept, as files.")

Output = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE|-", help="Where to write; - is stdout.")
]
Since = Annotated[
    str | None,
    typer.Option(metavar="CURSOR", help="Only what came after an export that ended so."),
]
CursorFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Go on from there if it exists; the new cursor goes there."),
]
Feed = Annotated[str | None, typer.Option("--feed", "-f", help="Only of this feed.")]
Gzip = Annotated[
    bool | None,
    typer.Option("--gzip/--no-gzip", help="Pack each record; else if FILE ends in .gz."),
]


@dataclass(frozen=True, slots=True)
class Wish:
    """What one run of a command wants."""

    since: str | None
    cursor_file: Path | None
    feed: str | None
    json: bool

    def cursor(self, *kinds: str) -> Cursor:
        return cursor_from(self.since, self.cursor_file, kinds)


@export.command("entries")
def export_entries(
    ctx: typer.Context,
    output: Output = STDOUT,
    format: Annotated[
        Format | None, typer.Option(help="How to write; else as FILE ends, else ndjson.")
    ] = None,
    since: Since = None,
    cursor_file: CursorFile = None,
    feed: Feed = None,
    json: Json = False,
) -> None:
    """Every entry once, as it was told last."""
    make = _rows_of(format or _by_name(output))
    wish = Wish(since, cursor_file, feed, json)
    _one(ctx, "entries", output, make, wish)


@export.command("raw")
def export_raw(
    ctx: typer.Context,
    output: Output = STDOUT,
    gzip: Gzip = None,
    since: Since = None,
    cursor_file: CursorFile = None,
    feed: Feed = None,
    json: Json = False,
) -> None:
    """Every payload exactly as served, as a web archive (WARC 1.1)."""
    pack = output.endswith(".gz") if gzip is None else gzip
    _one(ctx, "raw", output, _warc(pack), Wish(since, cursor_file, feed, json))


@export.command("events")
def export_events(
    ctx: typer.Context,
    output: Output = STDOUT,
    since: Since = None,
    cursor_file: CursorFile = None,
    feed: Feed = None,
    json: Json = False,
) -> None:
    """The whole log, one event per line."""
    _one(ctx, "events", output, ndjson_rows, Wish(since, cursor_file, feed, json))


@export.command("all")
def export_all(
    ctx: typer.Context,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Made if it is not there.")
    ],
    since: Since = None,
    cursor_file: CursorFile = None,
    feed: Feed = None,
    json: Json = False,
) -> None:
    """All three into one folder: entries.ndjson, raw.warc.gz and events.ndjson."""
    session = session_of(ctx, as_json=json)
    wish = Wish(since, cursor_file, feed, json)
    cursor = wish.cursor("entries", "events", "raw")
    files: dict[Kind, tuple[str, Callable[..., Rows]]] = {
        "entries": ("entries.ndjson", ndjson_rows),
        "raw": ("raw.warc.gz", _warc(pack=True)),
        "events": ("events.ndjson", ndjson_rows),
    }
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as trouble:
        raise BadInput(f"{output} cannot be made: {trouble.strerror}.") from trouble
    reports = []
    with session.api() as api:
        for kind, (name, make) in files.items():
            reports.append(_written(session, api, kind, str(output / name), make, wish, cursor))
            cursor = cursor.moved(kind, reports[-1]["reached"])
    _finish(session, reports, cursor, wish)


def _one(
    ctx: typer.Context, kind: Kind, output: str, make: Callable[..., Rows], wish: Wish
) -> None:
    session = session_of(ctx, as_json=wish.json)
    if wish.json and output == STDOUT:
        raise BadInput("With --json the report goes to stdout: name a file with --output.")
    cursor = wish.cursor(kind)
    with session.api() as api:
        report = _written(session, api, kind, output, make, wish, cursor)
    _finish(session, [report], cursor.moved(kind, report["reached"]), wish)


def _written(
    session: Session,
    api: Api,
    kind: Kind,
    output: str,
    make: Callable[..., Rows],
    wish: Wish,
    cursor: Cursor,
) -> dict[str, Any]:
    """One file, whole or not at all; what became of it."""
    asking = Asking(api)
    feed_id = None if wish.feed is None else feed_meant(api, wish.feed)["id"]
    with made_whole(output, session.note) as file, make(file, asking) as rows, _bar(session) as bar:
        task = bar.add_task(f"exporting {kind}", total=None)
        reached, notes = cursor.part(kind), list[str]()
        for each in slices_of(kind, asking, reached, feed_id):
            _put(session, rows, each)
            bar.update(task, total=each.total, completed=each.done)
            reached = each.reached
            notes += each.notes
    return {
        "what": kind,
        "output": output,
        "count": rows.count,
        "left_out": rows.left_out,
        "problems": rows.problems,
        "reached": reached,
        "notes": notes,
    }


def _put(session: Session, rows: Rows, each: Slice) -> None:
    for warning in (*rows.write(each.records), *each.warnings):
        session.err.print(warning, markup=False)
        rows.problems += 1


def _finish(session: Session, reports: list[dict[str, Any]], cursor: Cursor, wish: Wish) -> None:
    """The cursor moves only when every file is whole and safe."""
    if wish.cursor_file is not None:
        keep_cursor(cursor, wish.cursor_file)
    if session.as_json:
        hidden = ("reached", "notes")
        shown = [{k: v for k, v in report.items() if k not in hidden} for report in reports]
        session.print_json({"exports": shown, "cursor": str(cursor)})
    for report in reports:
        where = "" if report["output"] == STDOUT else f" written to {report['output']}"
        session.note(f"{counted(report['count'], *NOUNS[report['what']])}{where}.")
        if report["left_out"]:
            gone = counted(report["left_out"], "payload", "payloads")
            session.note(f"{gone} left out: let go by retention.")
        for note in report["notes"]:
            session.note(note)
    if cursor.parts:
        session.note(f"cursor: {cursor}")
    if any(report["problems"] for report in reports):
        raise typer.Exit(ExitCode.PROBLEMS)


def _bar(session: Session) -> Progress:
    hidden = session.as_json or not session.err.is_terminal
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=session.err,
        disable=hidden,
        transient=True,
    )


def _rows_of(format: Format) -> Callable[..., Rows]:
    if format == "ndjson":
        return ndjson_rows
    if format == "csv":
        return csv_rows
    try:
        made: Callable[..., Rows] = late("headwater.entrypoints.cli.export_parquet:ParquetRows")
    except ImportError as trouble:
        raise BadSettings(
            "Parquet needs pyarrow: install Headwater's extra `parquet`."
        ) from trouble
    return made


def _warc(pack: bool) -> Callable[..., Rows]:
    def make(file: Any, asking: Asking) -> Rows:
        return WarcRows(file, asking, pack=pack, now=datetime.now(UTC))

    return make


def _by_name(output: str) -> Format:
    known: dict[str, Format] = {".csv": "csv", ".parquet": "parquet"}
    return known.get(Path(output).suffix, "ndjson")
