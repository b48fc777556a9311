"""Export entries, payloads and events as files for other tools: all of them, or only new ones."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import typer

from headwater.core.errors import BadInput, BadSettings
from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.errors import ExitCode
from headwater.entrypoints.cli.export_formats import (
    STDOUT,
    RecordWriter,
    WarcWriter,
    csv_writer,
    ndjson_writer,
    open_whole_file,
)
from headwater.entrypoints.cli.export_sources import ExportBatch, PatientApi, read_batches
from headwater.entrypoints.cli.lookup import lookup_feed
from headwater.entrypoints.cli.progress import progress_bar
from headwater.entrypoints.cli.render import Record
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.lazy_import import lazy_import
from headwater.feeds.schedule.durations import format_count

_NUMBERED = ("entries", "events")
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ExportCursor:
    """The place that an export has reached, by kind. A missing kind begins at the beginning."""

    parts: Mapping[str, str]

    def part(self, kind: str) -> str | None:
        return self.parts.get(kind)

    def moved(self, kind: str, reached: str | None) -> "ExportCursor":
        return self if reached is None else ExportCursor({**self.parts, kind: reached})

    def __str__(self) -> str:
        return ",".join(f"{kind}={value}" for kind, value in sorted(self.parts.items()))


def cursor_from(since: str | None, file: Path | None, kinds: Iterable[str]) -> ExportCursor:
    """Use `--since`; else the cursor in the file, if there is one and it is not empty."""
    text = since
    if text is None and file is not None:
        text = _read_cursor(file)
    return _parse_cursor(text, tuple(kinds)) if text and text.strip() else ExportCursor({})


def save_cursor(cursor: ExportCursor, file: Path) -> None:
    """Save the cursor. Without one the next export begins at the beginning."""
    if not cursor.parts:
        return
    with open_whole_file(str(file), lambda _: None) as out:
        out.write(f"{cursor}\n".encode())


def _parse_cursor(text: str, kinds: tuple[str, ...]) -> ExportCursor:
    parts: dict[str, str] = {}
    for part in text.strip().split(","):
        kind, mark, value = part.strip().partition("=")
        if not mark and len(kinds) == 1:
            kind, value = kinds[0], kind
        if kind not in ("entries", "events", "raw") or not _is_cursor_part(kind, value):
            raise BadInput(f"{text[:200]!r} is not a cursor of an export.", given=text[:200])
        parts[kind] = value
    if not set(kinds) & set(parts):
        raise BadInput(
            f"This cursor is of another export: it says nothing of {' or '.join(kinds)}.",
            given=text[:200],
        )
    return ExportCursor(parts)


def _is_cursor_part(kind: str, value: str) -> bool:
    if kind in _NUMBERED:
        return value.isascii() and value.isdigit() and int(value[:20]) <= _LARGEST
    try:
        return str(UUID(value)) == value
    except ValueError:
        return False


def _read_cursor(file: Path) -> str | None:
    try:
        return file.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as trouble:
        raise BadInput(f"{file} cannot be read: {trouble}.") from trouble


Format = Literal["ndjson", "csv", "parquet"]
Kind = Literal["entries", "raw", "events"]
NOUNS = {
    "entries": ("entry", "entries"),
    "raw": ("raw fetch", "raw fetches"),
    "events": ("event", "events"),
}
Output = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE|-", help="Where to write; - is stdout.")
]
Since = Annotated[
    str | None,
    typer.Option(
        metavar="CURSOR", help="Only what came after the export that ended with this cursor."
    ),
]
CursorFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Go on from the cursor in it, if it exists; write the new cursor to it.",
    ),
]
FeedOption = Annotated[str | None, typer.Option("--feed", "-f", help="Only of this feed.")]
Gzip = Annotated[
    bool | None,
    typer.Option("--gzip/--no-gzip", help="Pack each record; else if FILE ends in .gz."),
]


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The options of all exports: where to go on, and which feed."""

    since: str | None
    cursor_file: Path | None
    feed: str | None

    def cursor(self, *kinds: str) -> ExportCursor:
        return cursor_from(self.since, self.cursor_file, kinds)


commands = Commands()
export = commands.family("export", help="All that is stored, as files.")


@export.command("entries")
def export_entries(
    session: Session,
    output: Output = STDOUT,
    format: Annotated[
        Format | None, typer.Option(help="How to write; else as FILE ends, else ndjson.")
    ] = None,
    since: Since = None,
    cursor_file: CursorFile = None,
    feed: FeedOption = None,
) -> None:
    """Every entry once, as its last event has it."""
    make = _writer_for(format or _format_by_suffix(output))
    _export_one(session, "entries", output, make, ExportOptions(since, cursor_file, feed))


@export.command("raw")
def export_raw(
    session: Session,
    output: Output = STDOUT,
    gzip: Gzip = None,
    since: Since = None,
    cursor_file: CursorFile = None,
    feed: FeedOption = None,
) -> None:
    """Every payload exactly as served, as a web archive (WARC 1.1)."""
    pack = output.endswith(".gz") if gzip is None else gzip
    _export_one(session, "raw", output, _warc(pack), ExportOptions(since, cursor_file, feed))


@export.command("events")
def export_events(
    session: Session,
    output: Output = STDOUT,
    since: Since = None,
    cursor_file: CursorFile = None,
    feed: FeedOption = None,
) -> None:
    """The whole log, one event per line."""
    options = ExportOptions(since, cursor_file, feed)
    _export_one(session, "events", output, ndjson_writer, options)


@export.command("all")
def export_all(
    session: Session,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Made if it is not there.")
    ],
    since: Since = None,
    cursor_file: CursorFile = None,
    feed: FeedOption = None,
) -> None:
    """All three into one folder: entries.ndjson, raw.warc.gz and events.ndjson."""
    options = ExportOptions(since, cursor_file, feed)
    cursor = options.cursor("entries", "events", "raw")
    files: dict[Kind, tuple[str, Callable[..., RecordWriter]]] = {
        "entries": ("entries.ndjson", ndjson_writer),
        "raw": ("raw.warc.gz", _warc(pack=True)),
        "events": ("events.ndjson", ndjson_writer),
    }
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as trouble:
        raise BadInput(f"{output} cannot be made: {trouble.strerror}.") from trouble
    reports = []
    with session.api() as api:
        for kind, (name, make) in files.items():
            file = str(output / name)
            reports.append(_export_file(session, api, kind, file, make, options.feed, cursor))
            cursor = cursor.moved(kind, reports[-1]["reached"])
    _finish(session, reports, cursor, options)


def _export_one(
    session: Session,
    kind: Kind,
    output: str,
    make: Callable[..., RecordWriter],
    options: ExportOptions,
) -> None:
    if session.as_json and output == STDOUT:
        raise BadInput("With --json the report goes to stdout: name a file with --output.")
    cursor = options.cursor(kind)
    with session.api() as api:
        report = _export_file(session, api, kind, output, make, options.feed, cursor)
    _finish(session, [report], cursor.moved(kind, report["reached"]), options)


def _export_file(
    session: Session,
    api: Api,
    kind: Kind,
    output: str,
    make: Callable[..., RecordWriter],
    feed: str | None,
    cursor: ExportCursor,
) -> Record:
    """Export one file, whole or not at all. Return the report about it."""
    patient = PatientApi(api)
    feed_id = None if feed is None else lookup_feed(api, feed)["id"]
    with (
        open_whole_file(output, session.note) as file,
        make(file, patient) as rows,
        progress_bar(session) as bar,
    ):
        task = bar.add_task(f"exporting {kind}", total=None)
        reached, notes = cursor.part(kind), list[str]()
        for batch in read_batches(kind, patient, reached, feed_id):
            _write_batch(session, rows, batch)
            bar.update(task, total=batch.total, completed=batch.done)
            reached = batch.reached
            notes += batch.notes
    return {
        "what": kind,
        "output": output,
        "count": rows.count,
        "left_out": rows.left_out,
        "problems": rows.problems,
        "reached": reached,
        "notes": notes,
    }


def _write_batch(session: Session, rows: RecordWriter, batch: ExportBatch) -> None:
    for warning in (*rows.write(batch.records), *batch.warnings):
        session.err.print(warning, markup=False)
        rows.problems += 1


def _finish(
    session: Session, reports: list[Record], cursor: ExportCursor, options: ExportOptions
) -> None:
    """Save the cursor, now that every file is whole and safe, and print the reports."""
    if options.cursor_file is not None:
        save_cursor(cursor, options.cursor_file)
    if session.as_json:
        hidden = ("reached", "notes")
        shown = [
            {name: value for name, value in report.items() if name not in hidden}
            for report in reports
        ]
        session.print_json({"exports": shown, "cursor": str(cursor)})
    for report in reports:
        where = "" if report["output"] == STDOUT else f" written to {report['output']}"
        session.note(f"{format_count(report['count'], *NOUNS[report['what']])}{where}.")
        if report["left_out"]:
            gone = format_count(report["left_out"], "payload", "payloads")
            session.note(f"{gone} left out: let go by retention.")
        for note in report["notes"]:
            session.note(note)
    if cursor.parts:
        session.note(f"cursor: {cursor}")
    if any(report["problems"] for report in reports):
        raise typer.Exit(ExitCode.PROBLEMS)


def _writer_for(format: Format) -> Callable[..., RecordWriter]:
    if format == "ndjson":
        return ndjson_writer
    if format == "csv":
        return csv_writer
    try:
        parquet_writer: Callable[..., RecordWriter] = lazy_import(
            "headwater.entrypoints.cli.export_parquet:ParquetEntryWriter"
        )
    except ImportError as trouble:
        raise BadSettings(
            "Parquet needs pyarrow: install Headwater's extra `parquet`."
        ) from trouble
    return parquet_writer


def _warc(pack: bool) -> Callable[..., RecordWriter]:
    def make(file: Any, api: PatientApi) -> RecordWriter:
        return WarcWriter(file, api, pack=pack, now=datetime.now(UTC))

    return make


def _format_by_suffix(output: str) -> Format:
    formats: dict[str, Format] = {".csv": "csv", ".parquet": "parquet"}
    return formats.get(Path(output).suffix, "ndjson")
