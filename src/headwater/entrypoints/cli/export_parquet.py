"""Export entries as Parquet: real lists, real moments, one row group for every page."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, BinaryIO

import orjson
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from headwater.entrypoints.cli.export_formats import COLUMNS, BaseRecordWriter
from headwater.entrypoints.cli.export_sources import PatientApi

_MOMENT = pa.timestamp("us", tz="UTC")
_PERSON = pa.struct([(name, pa.string()) for name in ("name", "email", "uri")])
_ENCLOSURE = pa.struct(
    [
        ("url", pa.string()),
        ("type", pa.string()),
        ("length", pa.int64()),
        ("duration", pa.int64()),
        ("title", pa.string()),
        ("medium", pa.string()),
    ]
)
_RAW_REF = pa.struct([("fetch_id", pa.string()), ("offset", pa.int64()), ("length", pa.int64())])
_TYPES = {
    "seq": pa.int64(),
    "authors": pa.list_(_PERSON),
    "categories": pa.list_(pa.string()),
    "enclosures": pa.list_(_ENCLOSURE),
    "published": _MOMENT,
    "updated": _MOMENT,
    "first_seen": _MOMENT,
    "raw_refs": pa.list_(_RAW_REF),
    "version": pa.int32(),
}
SCHEMA = pa.schema([(name, _TYPES.get(name, pa.string())) for name in COLUMNS])
_MOMENTS = ("published", "updated", "first_seen")


class ParquetEntryWriter(BaseRecordWriter):
    """Writes Parquet. `details` is JSON text, as every publisher has other ones."""

    def __init__(self, file: BinaryIO, _: PatientApi) -> None:
        super().__init__()
        self._writer = pq.ParquetWriter(file, SCHEMA, compression="zstd")

    def write(self, records: Sequence[dict[str, Any]]) -> Iterable[str]:
        if records:
            rows = [_row(record) for record in records]
            self._writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
            self.count += len(records)
        return ()

    def __exit__(self, *trouble: object) -> None:
        """Close the file: its last bytes make it readable. Half a file is thrown away."""
        self._writer.close()


def _row(record: dict[str, Any]) -> dict[str, Any]:
    moments = {name: _moment(record[name]) for name in _MOMENTS}
    return record | moments | {"details": orjson.dumps(record["details"]).decode()}


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
