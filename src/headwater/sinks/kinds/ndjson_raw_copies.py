"""Raw copies for NDJSON files: the raw bytes of entries, each once, complete or not there."""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import lru_cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import NamedTuple

import orjson

from headwater.core.durable_files import Disk
from headwater.events.event_json import WireEvent
from headwater.feeds.entries.entry_version import ENTRY_EVENTS
from headwater.feeds.raw.raw_rows import KeptBody
from headwater.sinks.kinds.ndjson_files import day_of

BYTES_AT_ONCE = 32 * 1024 * 1024
"""Raw bytes in memory while they are copied; a larger one is copied alone."""
FILES_AT_ONCE = 64

_REMEMBERED = 10_000
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
_FETCH_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class RawCopy(NamedTuple):
    """One raw fetch and the day of the event that names it: together the name of its file."""

    day: str
    fetch_id: str

    @property
    def file(self) -> str:
        """The path in lines, from the folder of the sink."""
        return f"raw/{self.day}/{self.fetch_id}.blob"


class RawReferences(dict[tuple[RawCopy, ...], bytes]):
    """References of lines to raw fetches, as JSON: the file, or a note why there is none.

    The entries of one document have the same references, so they are encoded once.
    """

    def __init__(self, notes: Mapping[RawCopy, str]) -> None:
        super().__init__()
        self._notes = notes

    def __missing__(self, raws: tuple[RawCopy, ...]) -> bytes:
        self[raws] = references = orjson.dumps([self._reference(each) for each in raws])
        return references

    def _reference(self, copy: RawCopy) -> dict[str, str | None]:
        note = self._notes.get(copy)
        file = copy.file if note is None else None
        return {"fetch_id": copy.fetch_id, "file": file, "note": note}


def raw_copies_of(event: WireEvent) -> tuple[RawCopy, ...]:
    """The raw copies of an event. Only a UUID becomes the name of a file."""
    refs = event.payload.get("raw_refs")
    if event.type not in ENTRY_EVENTS or not isinstance(refs, list):
        return ()
    ids = [ref.get("fetch_id") for ref in refs if isinstance(ref, dict)]
    return _cached_raw_copies(day_of(event), tuple(each for each in ids if isinstance(each, str)))


@lru_cache(maxsize=64)
def _cached_raw_copies(day: str, fetch_ids: tuple[str, ...]) -> tuple[RawCopy, ...]:
    """Cached, as the entries of one document have the same."""
    return tuple(RawCopy(day, each) for each in fetch_ids if _FETCH_ID.fullmatch(each))


def split_by_size(bodies: Mapping[RawCopy, KeptBody]) -> list[dict[RawCopy, KeptBody]]:
    """Groups of copies within the limits of memory and of open files."""
    groups: list[dict[RawCopy, KeptBody]] = [{}]
    room = BYTES_AT_ONCE
    for copy, body in bodies.items():
        if body.size > room or len(groups[-1]) == FILES_AT_ONCE:
            groups.append({})
            room = BYTES_AT_ONCE
        groups[-1][copy] = body
        room -= body.size
    return [group for group in groups if group]


class RawCopyFolder:
    """The folder of raw copies. Its methods wait for disks: call them in a thread, one at a time.

    They are copies, not links: a change of a file here must not change the archive. A file is
    written aside, synced and renamed, so a file with its final name is complete.

    The syncs of a batch overlap in a few threads. One after the other, each waits for the file
    system's journal by itself, and a busy disk makes that ten times as long. `syncfs`, one call
    for all of them, is as fast, but waits for all writes of anybody on that disk.
    """

    def __init__(self, root: Path, disk: Disk, pool: ThreadPoolExecutor, threads: int) -> None:
        """`threads` of the pool are free for it, beside the calling one."""
        self._root, self._disk, self._pool, self._threads = str(root), disk, pool, threads
        self._unfinished = os.path.join(self._root, ".unfinished")
        self._numbers = count()
        self._known: dict[RawCopy, None] = {}

    def sweep(self) -> None:
        """Delete files that a dead process never finished."""
        os.makedirs(self._unfinished, exist_ok=True)
        for entry in os.scandir(self._unfinished):
            os.unlink(entry.path)

    def missing(self, copies: Collection[RawCopy]) -> list[RawCopy]:
        unsure = [each for each in copies if each not in self._known]
        missing = [each for each in unsure if not os.path.exists(self._path(each))]
        self._remember(set(unsure) - set(missing))
        return missing

    def keep(self, bodies: Sequence[tuple[RawCopy, bytes, str]]) -> list[RawCopy]:
        """Write bodies, each with its SHA-256; returns the damaged ones, which are not written."""
        sound = [
            (each, body) for each, body, digest in bodies if sha256(body).hexdigest() == digest
        ]
        folders = {os.path.join(self._root, "raw", each.day) for each, _ in sound}
        is_new = [folder for folder in folders if not os.path.isdir(folder)]
        for folder in folders:
            os.makedirs(folder, exist_ok=True)
        self._write(sound)
        for folder in folders:
            self._disk.sync_folder(folder)
        if is_new:
            self._disk.sync_folder(os.path.join(self._root, "raw"))
            self._disk.sync_folder(self._root)
        there = {each for each, _ in sound}
        self._remember(there)
        return [each for each, _, _ in bodies if each not in there]

    def _write(self, sound: Sequence[tuple[RawCopy, bytes]]) -> None:
        with ExitStack() as stack:
            written = []
            for copy, body in sound:
                beside = os.path.join(self._unfinished, str(next(self._numbers)))
                descriptor = os.open(beside, _NEW_FILE, 0o644)
                stack.callback(os.close, descriptor)
                _write_all(descriptor, body)
                written.append((descriptor, beside, self._path(copy)))
            self._sync([descriptor for descriptor, _, _ in written])
            for _, beside, path in written:
                self._disk.move(beside, path)

    def _sync(self, descriptors: Sequence[int]) -> None:
        """Sync all files; returns only when every thread is done."""
        first, *others = (descriptors[at :: self._threads + 1] for at in range(self._threads + 1))
        waiting = [self._pool.submit(self._sync_each, part) for part in others if part]
        try:
            self._sync_each(first)
        finally:
            failures = [done.exception() for done in waiting]
        for failure in failures:
            if failure is not None:
                raise failure

    def _sync_each(self, descriptors: Sequence[int]) -> None:
        for descriptor in descriptors:
            self._disk.sync_file(descriptor)

    def _path(self, copy: RawCopy) -> str:
        return f"{self._root}/{copy.file}"

    def _remember(self, there: Collection[RawCopy]) -> None:
        self._known.update(dict.fromkeys(there))
        while len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]


def _write_all(descriptor: int, body: bytes) -> None:
    left = memoryview(body)
    while left:
        left = left[os.write(descriptor, left) :]
