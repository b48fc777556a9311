"""Records as lines: NDJSON for programs, CSV for tables."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO, Protocol, Self

import orjson

from headwater.entrypoints.cli.export_sources import Asking

COLUMNS = (
    "seq", "entry_uid", "feed_id", "canonical_link", "title", "summary", "content", "authors",
    "categories", "enclosures", "published", "updated", "first_seen", "raw_refs", "content_hash",
    "version", "details",
)  # fmt: skip
"""Of an exported entry, in this order."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_BREAKS = (
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)


class Rows(Protocol):
    """A file being filled. `left_out` counts what has no bytes any more."""

    count: int
    left_out: int
    problems: int

    def write(self, records: Sequence[dict[str, Any]]) -> Iterable[str]:
        """What went wrong with some of them, in words."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *trouble: object) -> None: ...


class Lines:
    """What the kinds of rows here have in common."""

    def __init__(self) -> None:
        self.count = self.left_out = self.problems = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *trouble: object) -> None:
        return None


class NdjsonRows(Lines):
    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file

    def write(self, records: Sequence[dict[str, Any]]) -> Iterable[str]:
        self._file.writelines(ndjson_line(record) for record in records)
        self.count += len(records)
        return ()


class CsvRows(Lines):
    """With a header line; as Excel writes it, in UTF-8."""

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


def ndjson_rows(file: BinaryIO, _: Asking) -> Rows:
    return NdjsonRows(file)


def csv_rows(file: BinaryIO, _: Asking) -> Rows:
    return CsvRows(file)


def ndjson_line(record: dict[str, Any]) -> bytes:
    """One line, whichever characters a reader takes for the end of one."""
    line = orjson.dumps(record)
    for found, escaped in _BREAKS:
        line = line.replace(found, escaped)
    return line + b"\n"


def cell(value: Any) -> str:
    """Lists and objects as JSON. A text that a spreadsheet would run gets a quote in front."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return orjson.dumps(value).decode()
    return f"'{value}" if value.startswith(_FORMULA) else value
