"""Formats of exports: NDJSON, CSV and WARC, and files that are whole or not there."""

import csv
import io
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self
from uuid import uuid4

import orjson

from headwater import __version__
from headwater.core.errors import BadInput
from headwater.entrypoints.cli.errors import ApiError
from headwater.entrypoints.cli.export_sources import PatientApi
from headwater.publish.warc import Capture, gzip_record, render_request, render_response, warcinfo

COLUMNS = (
    "seq", "entry_uid", "feed_id", "canonical_link", "title", "summary", "content", "authors",
    "categories", "enclosures", "published", "updated", "first_seen", "raw_refs", "content_hash",
    "version", "details",
)  # fmt: skip
"""The columns of an exported entry, in this order."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_BREAKS = (
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)


class RecordWriter(Protocol):
    """Writes records to a file. `left_out` counts fetches whose bytes are gone."""

    count: int
    left_out: int
    problems: int

    def write(self, records: Sequence[dict[str, Any]]) -> Iterable[str]:
        """Write them; return warnings about those that could not be written."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *trouble: object) -> None: ...


class BaseRecordWriter:
    """The base of all writers, with their counters."""

    def __init__(self) -> None:
        self.count = self.left_out = self.problems = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *trouble: object) -> None:
        return None


class NdjsonWriter(BaseRecordWriter):
    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file

    def write(self, records: Sequence[dict[str, Any]]) -> Iterable[str]:
        self._file.writelines(ndjson_line(record) for record in records)
        self.count += len(records)
        return ()


class CsvWriter(BaseRecordWriter):
    """Writes CSV as Excel does, with a header line, in UTF-8."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        self._rows = csv.writer(self._text)
        self._rows.writerow(COLUMNS)

    def write(self, records: Sequence[dict[str, Any]]) -> Iterable[str]:
        self._rows.writerows([cell(record.get(name)) for name in COLUMNS] for record in records)
        self.count += len(records)
        return ()

    def __exit__(self, *trouble: object) -> None:
        self._text.detach()


def ndjson_writer(file: BinaryIO, _: PatientApi) -> RecordWriter:
    return NdjsonWriter(file)


def csv_writer(file: BinaryIO, _: PatientApi) -> RecordWriter:
    return CsvWriter(file)


def ndjson_line(record: dict[str, Any]) -> bytes:
    """Make one line without any character that a reader may take for the end of a line."""
    line = orjson.dumps(record)
    for character, escaped in _BREAKS:
        line = line.replace(character, escaped)
    return line + b"\n"


def cell(value: Any) -> str:
    """Lists and objects become JSON. A text that a spreadsheet would run gets a quote in front."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return orjson.dumps(value).decode()
    return f"'{value}" if value.startswith(_FORMULA) else value


STDOUT = "-"


@contextmanager
def open_whole_file(output: str, say: Callable[[str], None]) -> Iterator[BinaryIO]:
    """Open a file to write. If anything fails, the file from before stays as it was.

    A pipe or a device cannot do that: bytes that were written stay written.
    """
    path = Path(output)
    if output == STDOUT:
        with _broken_pipe_as_error():
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    if path.exists() and not path.is_file():
        if path.is_dir():
            raise BadInput(f"{path} is a folder.")
        with _os_error_as_bad_input(path), path.open("wb") as device:
            yield device
        return
    with _sigterm_as_interrupt(), _os_error_as_bad_input(path):
        yield from _replace_when_complete(path.resolve(), say)


def _replace_when_complete(path: Path, say: Callable[[str], None]) -> Iterator[BinaryIO]:
    part = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    try:
        with part.open("xb") as file:
            if path.exists():
                # If the former file was private, the new one must be private, too.
                shutil.copymode(path, part)
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _sync_folder(path.parent)
    except BaseException as trouble:
        part.unlink(missing_ok=True)
        if isinstance(trouble, KeyboardInterrupt):
            state = "as it was" if path.exists() else "not there"
            say(f"Interrupted: nothing was written, {path} is {state}.")
        raise


def _sync_folder(folder: Path) -> None:
    """Sync the folder: the new name, too, must survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _broken_pipe_as_error() -> Iterator[None]:
    """Handle a closed stdout: Python must not write to it again, even at the end."""
    try:
        yield
    except BrokenPipeError as trouble:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise BadInput("stdout was closed before the end.") from trouble


@contextmanager
def _os_error_as_bad_input(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as trouble:
        raise BadInput(f"{path} cannot be written: {trouble.strerror or trouble}.") from trouble


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Let SIGTERM tidy up as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


ABOUT = "Raw fetches of feeds, payloads exactly as served"


class WarcWriter(BaseRecordWriter):
    """Writes a warcinfo record, then a response and its request for every fetch that has bytes."""

    def __init__(self, file: BinaryIO, api: PatientApi, *, pack: bool, now: datetime) -> None:
        super().__init__()
        self._file = file
        self._api = api
        self._pack = pack
        self._put(warcinfo(f"Headwater/{__version__}", now, ABOUT))

    def write(self, records: Sequence[dict[str, Any]]) -> Iterable[str]:
        warnings = []
        for record in records:
            try:
                payload = self._payload(record)
            except ApiError as refusal:
                if refusal.code not in ("blob_damaged", "not_found"):
                    raise
                warnings.append(f"{record['fetch_id']} is left out: {refusal.message}")
                continue
            if payload is not None:
                capture = _capture(record, payload)
                self._put(render_response(capture))
                self._put(render_request(capture))
                self.count += 1
        return warnings

    def _payload(self, record: dict[str, Any]) -> bytes | None:
        """Get the payload; None when retention has deleted it, before or just now."""
        if record["expired_at"] is not None:
            self.left_out += 1
            return None
        try:
            payload = self._api.payload(record["fetch_id"])
        except ApiError as refusal:
            if refusal.code != "raw_expired":
                raise
            self.left_out += 1
            return None
        if sha256(payload).hexdigest() != record["body_sha256"]:
            facts = {"error": "blob_damaged", "message": "The bytes changed on their way here."}
            raise ApiError(500, facts)
        return payload

    def _put(self, record: bytes) -> None:
        self._file.write(gzip_record(record) if self._pack else record)


def _capture(record: dict[str, Any], payload: bytes) -> Capture:
    return Capture(
        fetch_id=record["fetch_id"],
        feed_id=record["feed_id"],
        fetched_at=datetime.fromisoformat(record["fetched_at"]),
        url=record["url"],
        status=record["http_status"],
        request_headers=tuple((name, value) for name, value in record["request_headers"]),
        response_headers=tuple((name, value) for name, value in record["response_headers"]),
        payload=payload,
        truncated=record["truncated"],
        error=record["error"],
    )
