"""Events as lines of JSON in files of their own days, with the raw bytes beside them."""

import asyncio
import errno
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

from headwater.core.errors import DatabaseError, StorageError
from headwater.core.ports import Database
from headwater.events.event_json import WireEvent
from headwater.feeds.entries.entry_version import (
    ENTRY_EVENTS,
    KeptVersion,
    VersionKey,
    version_json,
    version_key_of,
)
from headwater.feeds.entries.entry_version_rows import find_versions
from headwater.feeds.ports import Blobs
from headwater.feeds.raw.raw_rows import KeptBody, find_bodies
from headwater.sinks.kinds.ndjson_file_ends import PlainLines, ZstdLines
from headwater.sinks.kinds.ndjson_files import NdjsonFolder, encode_line
from headwater.sinks.kinds.ndjson_pacing import BurstPacing
from headwater.sinks.kinds.ndjson_raw_copies import (
    RawCopy,
    RawCopyFolder,
    RawReferences,
    raw_copies_of,
    split_by_size,
)
from headwater.sinks.kinds.options import SinkOptions
from headwater.sinks.ports import DeliveryResult, SinkConfig
from headwater.sinks.sink_kind import CheckedOptions, SinkKind, SinkResources

T = TypeVar("T")

_PATH = re.compile(r"\.|[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_LONGEST_PATH = 200
_THREADS = 8
_NOTHING = b"null"


def ndjson_kind(resources: SinkResources) -> SinkKind:
    return SinkKind(check=check_ndjson_options, open=partial(open_ndjson_sink, resources=resources))


def check_ndjson_options(options: Mapping[str, Any], secrets: Mapping[str, str]) -> CheckedOptions:
    given, hidden = SinkOptions("ndjson", options), SinkOptions("ndjson secret", secrets)
    path = given.text("path", ".", longest=_LONGEST_PATH).rstrip("/")
    if not _PATH.fullmatch(path):
        raise given.refusal(
            "path", "must be plain names with slashes between them, inside the folder for sinks"
        )
    whole = {
        "path": path,
        "raw": given.flag("raw", True),
        "compress": given.choice("compress", "none", ("none", "zstd")),
        "entries": given.choice("entries", "full", ("full", "compact")),
    }
    given.refuse_others()
    hidden.refuse_others()
    return whole, {}


async def open_ndjson_sink(config: SinkConfig, resources: SinkResources) -> "NdjsonSink":
    options, out_dir = config.options, resources.out_dir.absolute()
    coding = ZstdLines() if options["compress"] == "zstd" else PlainLines()
    return NdjsonSink(
        NdjsonFolder(out_dir / options["path"], out_dir, coding),
        resources.database,
        resources.blobs,
        with_entries=options["entries"] == "full",
        with_raw=options["raw"],
    )


class PendingLine(NamedTuple):
    """One event that is not there yet, and what its line speaks of."""

    parcel: WireEvent
    version: VersionKey | None
    raws: tuple[RawCopy, ...]


class NdjsonSink:
    """Each batch is taken whole: raw bytes first, then lines, then the receipt.

    The files themselves say what is in them. After a crash the next batch finds the lines that
    are there already and adds the others, so each event has one line for each replay number.

    Visits come first: while they want the processor too, it rests between batches.
    """

    def __init__(
        self,
        folder: NdjsonFolder,
        database: Database,
        blobs: Blobs,
        *,
        with_entries: bool,
        with_raw: bool,
        pace: BurstPacing | None = None,
    ) -> None:
        self._pace = pace or BurstPacing()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="ndjson")
        self._folder, self._database, self._blobs = folder, database, blobs
        self._raws = RawCopyFolder(folder.root, folder.disk, self._pool, _THREADS - 1)
        self._with_entries, self._with_raw = with_entries, with_raw
        self._is_repaired = False

    async def deliver(self, parcels: Sequence[WireEvent], *, replay: int) -> DeliveryResult:
        await self._pace.begin()
        try:
            await self._in_thread(self._folder.take)
            return await self._deliver(parcels, replay)
        except BlockingIOError:
            return DeliveryResult(0, "folder_busy", "Another process writes into this folder.")
        except OSError as trouble:
            reason = errno.errorcode.get(trouble.errno or 0, type(trouble).__name__)
            return DeliveryResult(0, "storage_error", f"{trouble.strerror or trouble} ({reason})")
        except (StorageError, DatabaseError) as trouble:
            return DeliveryResult(0, trouble.code, trouble.message)
        finally:
            self._folder.release()
            self._pace.end()

    async def close(self) -> None:
        await asyncio.to_thread(self._pool.shutdown)

    async def _deliver(self, parcels: Sequence[WireEvent], replay: int) -> DeliveryResult:
        items, missing = await self._in_thread(self._begin, parcels, replay)
        if not items:
            return DeliveryResult(len(parcels))
        found, kept = await self._looked_up(items, missing)
        notes = await self._copied(missing, kept)
        unwritable = await self._in_thread(self._write, items, found, notes, replay)
        if unwritable is None:
            return DeliveryResult(len(parcels))
        parcel, trouble = unwritable
        return DeliveryResult(parcels.index(parcel), "bad_entry", trouble, about="event")

    def _begin(
        self, parcels: Sequence[WireEvent], replay: int
    ) -> tuple[list[PendingLine], list[RawCopy]]:
        if not self._is_repaired:
            self._folder.repair()
            self._raws.sweep()
            self._is_repaired = True
        items = [self._item(parcel) for parcel in self._folder.not_there_yet(parcels, replay)]
        wanted = dict.fromkeys(each for item in items for each in item.raws)
        return items, self._raws.missing(wanted)

    def _item(self, parcel: WireEvent) -> PendingLine:
        version = version_key_of(parcel.type, parcel.payload) if self._with_entries else None
        return PendingLine(parcel, version, raw_copies_of(parcel) if self._with_raw else ())

    async def _looked_up(
        self, items: Sequence[PendingLine], missing: Sequence[RawCopy]
    ) -> tuple[dict[VersionKey, KeptVersion], dict[str, KeptBody]]:
        """A few queries for the whole batch."""
        asked = [item.version for item in items if item.version is not None]
        if not asked and not missing:
            return {}, {}
        async with self._database.read() as view:
            found = await find_versions(view, asked)
            kept = await find_bodies(view, [each.fetch_id for each in missing])
        return found, kept

    async def _copied(
        self, missing: Sequence[RawCopy], kept: Mapping[str, KeptBody]
    ) -> dict[RawCopy, str]:
        """A note for each that is not there now: why."""
        there = {each: kept[each.fetch_id] for each in missing if each.fetch_id in kept}
        notes = dict.fromkeys((each for each in missing if each not in there), "missing")
        notes |= dict.fromkeys((each for each, body in there.items() if body.expired), "expired")
        for some in split_by_size({each: body for each, body in there.items() if not body.expired}):
            got = await asyncio.gather(*(self._blobs.get(body.blob_key) for body in some.values()))
            read = [
                (each, body, some[each].sha256)
                for each, body in zip(some, got, strict=True)
                if body is not None
            ]
            damaged = await self._in_thread(self._raws.keep, read)
            notes |= dict.fromkeys(some.keys() - {each for each, _, _ in read}, "missing")
            notes |= dict.fromkeys(damaged, "damaged")
        return notes

    def _write(
        self,
        items: Sequence[PendingLine],
        found: Mapping[VersionKey, KeptVersion],
        notes: Mapping[RawCopy, str],
        replay: int,
    ) -> tuple[WireEvent, str] | None:
        """The first event of which no line can be made, and why; those before it are written."""
        with self._pace.computing():
            lines, unwritable = self._lines(items, found, notes, replay)
        self._folder.append([item.parcel for item in items[: len(lines)]], lines)
        return unwritable

    def _lines(
        self,
        items: Sequence[PendingLine],
        found: Mapping[VersionKey, KeptVersion],
        notes: Mapping[RawCopy, str],
        replay: int,
    ) -> tuple[list[bytes], tuple[WireEvent, str] | None]:
        raws = RawReferences(notes)
        lines: list[bytes] = []
        for item in items:
            entry = raw = None
            try:
                if item.parcel.type in ENTRY_EVENTS and self._with_entries:
                    kept = found.get(item.version) if item.version else None
                    entry = _NOTHING if kept is None else version_json(kept)
                if item.parcel.type in ENTRY_EVENTS and self._with_raw:
                    raw = raws[item.raws]
            except (KeyError, TypeError, ValueError, OverflowError) as trouble:
                return lines, (item.parcel, f"Its entry is damaged: {trouble!r}")
            lines.append(encode_line(item.parcel, entry, raw, replay))
        return lines, None

    async def _in_thread(self, work: Callable[..., T], *given: Any) -> T:
        """Ends only when the thread has: whoever is told to stop must not write on behind us."""
        running = asyncio.get_running_loop().run_in_executor(self._pool, work, *given)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])
            running.exception()
            raise
