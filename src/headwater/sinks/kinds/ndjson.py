"""The kind of sink for NDJSON: events as lines in daily files, with the raw bytes beside them."""

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
    sink_options, sink_secrets = (
        SinkOptions("ndjson", options),
        SinkOptions("ndjson secret", secrets),
    )
    path = sink_options.text("path", ".", longest=_LONGEST_PATH).rstrip("/")
    if not _PATH.fullmatch(path):
        raise sink_options.refusal(
            "path", "must be plain names with slashes between them, inside the folder for sinks"
        )
    checked = {
        "path": path,
        "raw": sink_options.flag("raw", True),
        "compress": sink_options.choice("compress", "none", ("none", "zstd")),
        "entries": sink_options.choice("entries", "full", ("full", "compact")),
    }
    sink_options.refuse_others()
    sink_secrets.refuse_others()
    return checked, {}


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
    """One event that is not in its file yet, and the version and raw copies that its line names."""

    event: WireEvent
    version: VersionKey | None
    raws: tuple[RawCopy, ...]


class NdjsonSink:
    """Takes each batch as a whole: raw bytes first, then lines, then the result.

    The files themselves show which events they have. After a crash the next batch finds the lines
    that are there and adds the others, so each event has one line for each replay number.

    Visits come first: while they need the processor too, it rests between batches.
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

    async def deliver(self, events: Sequence[WireEvent], *, replay: int) -> DeliveryResult:
        await self._pace.begin()
        try:
            await self._in_thread(self._folder.take)
            return await self._deliver(events, replay)
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

    async def _deliver(self, events: Sequence[WireEvent], replay: int) -> DeliveryResult:
        pending, missing = await self._in_thread(self._find_missing, events, replay)
        if not pending:
            return DeliveryResult(len(events))
        versions, bodies = await self._read_rows(pending, missing)
        notes = await self._copy_bodies(missing, bodies)
        unwritable = await self._in_thread(self._write, pending, versions, notes, replay)
        if unwritable is None:
            return DeliveryResult(len(events))
        event, trouble = unwritable
        return DeliveryResult(events.index(event), "bad_entry", trouble, about="event")

    def _find_missing(
        self, events: Sequence[WireEvent], replay: int
    ) -> tuple[list[PendingLine], list[RawCopy]]:
        if not self._is_repaired:
            self._folder.repair()
            self._raws.sweep()
            self._is_repaired = True
        pending = [
            self._pending_line_of(event) for event in self._folder.not_there_yet(events, replay)
        ]
        raws = dict.fromkeys(each for item in pending for each in item.raws)
        return pending, self._raws.missing(raws)

    def _pending_line_of(self, event: WireEvent) -> PendingLine:
        version = version_key_of(event.type, event.payload) if self._with_entries else None
        return PendingLine(event, version, raw_copies_of(event) if self._with_raw else ())

    async def _read_rows(
        self, pending: Sequence[PendingLine], missing: Sequence[RawCopy]
    ) -> tuple[dict[VersionKey, KeptVersion], dict[str, KeptBody]]:
        """A few queries for the whole batch."""
        keys = [item.version for item in pending if item.version is not None]
        if not keys and not missing:
            return {}, {}
        async with self._database.read() as view:
            versions = await find_versions(view, keys)
            bodies = await find_bodies(view, [each.fetch_id for each in missing])
        return versions, bodies

    async def _copy_bodies(
        self, missing: Sequence[RawCopy], bodies: Mapping[str, KeptBody]
    ) -> dict[RawCopy, str]:
        """Copy missing bodies; a note for each that could not be copied, with the reason."""
        stored = {each: bodies[each.fetch_id] for each in missing if each.fetch_id in bodies}
        notes = dict.fromkeys((each for each in missing if each not in stored), "missing")
        notes |= dict.fromkeys((each for each, body in stored.items() if body.expired), "expired")
        for page in split_by_size(
            {each: body for each, body in stored.items() if not body.expired}
        ):
            contents = await asyncio.gather(
                *(self._blobs.get(body.blob_key) for body in page.values())
            )
            read = [
                (each, body, page[each].sha256)
                for each, body in zip(page, contents, strict=True)
                if body is not None
            ]
            damaged = await self._in_thread(self._raws.keep, read)
            notes |= dict.fromkeys(page.keys() - {each for each, _, _ in read}, "missing")
            notes |= dict.fromkeys(damaged, "damaged")
        return notes

    def _write(
        self,
        pending: Sequence[PendingLine],
        versions: Mapping[VersionKey, KeptVersion],
        notes: Mapping[RawCopy, str],
        replay: int,
    ) -> tuple[WireEvent, str] | None:
        """Write the lines up to the first event of which none can be made; that event, and why."""
        with self._pace.computing():
            lines, unwritable = self._encode_lines(pending, versions, notes, replay)
        self._folder.append([item.event for item in pending[: len(lines)]], lines)
        return unwritable

    def _encode_lines(
        self,
        pending: Sequence[PendingLine],
        versions: Mapping[VersionKey, KeptVersion],
        notes: Mapping[RawCopy, str],
        replay: int,
    ) -> tuple[list[bytes], tuple[WireEvent, str] | None]:
        raws = RawReferences(notes)
        lines: list[bytes] = []
        for item in pending:
            entry = raw = None
            try:
                if item.event.type in ENTRY_EVENTS and self._with_entries:
                    version = versions.get(item.version) if item.version else None
                    entry = _NOTHING if version is None else version_json(version)
                if item.event.type in ENTRY_EVENTS and self._with_raw:
                    raw = raws[item.raws]
            except (KeyError, TypeError, ValueError, OverflowError) as trouble:
                return lines, (item.event, f"Its entry is damaged: {trouble!r}")
            lines.append(encode_line(item.event, entry, raw, replay))
        return lines, None

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run in a thread, and end only when it has ended: after a cancel nothing may write on."""
        running = asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])
            running.exception()
            raise
