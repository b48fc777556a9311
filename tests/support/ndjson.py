"""NDJSON sinks for tests: events as the log has them, outlets that are opened and killed, files."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import orjson
import zstandard

from headwater.adapters.blobs import FolderBlobs
from headwater.adapters.clock import SystemClock
from headwater.core.durable_files import Disk
from headwater.core.ports import Clock, Database, Sleeper
from headwater.core.values.instant import to_micros
from headwater.events.event_json import WireEvent, wire_event_of
from headwater.sinks.kinds.ndjson import NdjsonSink
from headwater.sinks.kinds.ndjson_file_ends import PlainLines, ZstdLines
from headwater.sinks.kinds.ndjson_files import NdjsonFolder

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
FEED = "01900000-0000-7000-8000-000000000001"

Coding = Literal["none", "zstd"]


def told(
    seq: int,
    type: str = "feed_failing",
    at: datetime = NOON,
    payload: dict[str, Any] | None = None,
    log: str = "a",
) -> WireEvent:
    """`log` tells apart events of two logs that have the same number."""
    said = orjson.dumps({"number": seq} if payload is None else payload).decode()
    return wire_event_of(seq, f"event-{log}-{seq:06}", type, to_micros(at), FEED, said)


def many(first: int, last: int, **facts: Any) -> list[WireEvent]:
    """With both ends."""
    return [told(seq, **facts) for seq in range(first, last + 1)]


class NoDatabase:
    """For outlets that are given nothing to look up."""

    clock: Clock = SystemClock()

    def woken(self, who: Sleeper) -> asyncio.Event:
        raise AssertionError("nobody waits for anything here")

    def read(self) -> Any:
        raise AssertionError("nothing of this is in a database")

    write = read


@asynccontextmanager
async def opened(
    root: Path,
    *,
    compress: Coding = "none",
    disk: Disk | None = None,
    database: Database | None = None,
    blobs: FolderBlobs | None = None,
    entries: bool = False,
    raw: bool = False,
    within: Path | None = None,
) -> AsyncIterator[NdjsonSink]:
    coding = ZstdLines() if compress == "zstd" else PlainLines()
    outlet = NdjsonSink(
        NdjsonFolder(root, within or root, coding, disk),
        database or NoDatabase(),
        blobs or FolderBlobs(root.parent / "no blobs"),
        with_entries=entries,
        with_raw=raw,
    )
    try:
        yield outlet
    finally:
        await outlet.close()


def contents(path: Path) -> bytes:
    """What a consumer reads: all frames of a compressed file, one after the other."""
    body = path.read_bytes()
    if path.suffix != ".zst":
        return body
    with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True) as stream:
        return stream.read()


def lines_of(root: Path, series: str = "events") -> list[bytes]:
    """Of every day, oldest first; each must end as a line does."""
    found: list[bytes] = []
    for path in sorted((root / series).glob("*.ndjson*")):
        text = contents(path)
        assert text.endswith(b"\n") or not text
        found += text.split(b"\n")[:-1]
    return found


def numbers(lines: Sequence[bytes]) -> list[int]:
    return [orjson.loads(line)["seq"] for line in lines]


def names_in(root: Path, pattern: str = "*") -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.glob(pattern))
