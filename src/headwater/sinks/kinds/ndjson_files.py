"""NDJSON files in a folder: one process appends at a time, and a file is repaired first."""

import fcntl
import os
import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from headwater.core.durable_files import Disk
from headwater.core.errors import StorageError
from headwater.core.values.instant import EPOCH
from headwater.events.event_json import WireEvent
from headwater.feeds.entries.entry_version import ENTRY_EVENTS
from headwater.sinks.kinds.ndjson_file_ends import LineCoding, OpenFile

_DAY = 86_400_000_000
_HEAD = re.compile(rb'\{"seq":(\d{1,19}),"id":"([!#-\[\]-~]{1,256})"')
# A line of a first delivery ends with two brackets or `null}`, never with a number.
_REPLAY = re.compile(rb',"replay":(\d{1,9})\}\Z')
_LONGEST_REPLAY = 24
# JSON texts may have these as they are, but many readers take them for line ends.
_UNICODE_LINE_BREAKS = (
    ("\u0085".encode(), rb"\u0085"),
    ("\u2028".encode(), rb"\u2028"),
    ("\u2029".encode(), rb"\u2029"),
)


class LineIdentity(NamedTuple):
    """The identity of a line in a file."""

    seq: int
    event_id: str
    replay: int


def day_of(event: WireEvent) -> str:
    """The event's own UTC date."""
    return _day(event.at // _DAY)


@lru_cache(maxsize=64)
def _day(number: int) -> str:
    return (EPOCH + timedelta(days=number)).date().isoformat()


def encode_line(event: WireEvent, entry: bytes | None, raw: bytes | None, replay: int) -> bytes:
    """One line.

    `entry` and `raw` are JSON; None leaves the field out, and so does a replay of 0.
    """
    parts = (
        event.body[:-1],
        b"" if entry is None else b',"entry":',
        entry or b"",
        b"" if raw is None else b',"raw":',
        raw or b"",
        b',"replay":%d}\n' % replay if replay else b"}\n",
    )
    line = b"".join(parts)
    if line.find(b"\n") == len(line) - 1 and b"\r" not in line:
        return line
    # A line break between the parts of JSON may be a space; texts in JSON have none.
    return line[:-1].replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"


def escape_line_breaks(lines: bytes) -> bytes:
    """The same lines with other line breaks escaped, so that no reader takes one for two."""
    if lines.isascii():
        return lines
    for mark, spelled in _UNICODE_LINE_BREAKS:
        if mark in lines:
            lines = lines.replace(mark, spelled)
    return lines


def parse_line_identity(line: bytes) -> LineIdentity | None:
    """None for a line that is not ours. `line` has no line end."""
    head = _HEAD.match(line)
    if head is None:
        return None
    replay = _REPLAY.search(line, max(0, len(line) - _LONGEST_REPLAY))
    return LineIdentity(int(head[1]), head[2].decode(), int(replay[1]) if replay else 0)


SERIES = ("entries", "events")

_REMEMBERED = 50_000
"""Ids kept of one file. Events that were not acknowledged are at most a second's work."""

_MOST_OTHER_LINES = 1_000
"""After so many other lines in a row the search ends: no more matches are expected."""
_NEWEST = 2
_FILES_KNOWN = 16


class DayFile:
    """One file as we know it; read again as soon as another process has changed it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state: tuple[int, int] | None = None
        self._replay, self._first = -1, 0
        self._ids: dict[str, None] = {}

    def look(self, coding: LineCoding, disk: Disk, first: int, replay: int) -> None:
        """Repair the end, and read which events from `first` on are there under `replay`."""
        state = _state(self.path)
        if state is None:
            self._ids = {}
        elif (state, replay) != (self._state, self._replay) or first < self._first:
            self._ids = _repair_file(self.path, coding, disk, first, replay)
            self._first = first
        self._state, self._replay = _state(self.path), replay

    def has(self, event_id: str) -> bool:
        return event_id in self._ids

    def append(self, lines: bytes, event_ids: Iterable[str], disk: Disk) -> bool:
        """Append lines; True when the file is new.

        The lines are durable on return, the name is not.
        """
        descriptor = os.open(
            self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644
        )
        try:
            before = os.fstat(descriptor).st_size
            try:
                _write_all(descriptor, lines)
                disk.sync_file(descriptor)
            except OSError:
                os.ftruncate(descriptor, before)  # the disk may be full: leave no half line
                raise
            self._state = _state(self.path)
        finally:
            os.close(descriptor)
        self._ids.update(dict.fromkeys(event_ids))
        if len(self._ids) > 2 * _REMEMBERED:
            self._ids = dict(islice(self._ids.items(), _REMEMBERED, None))
        return before == 0


def _state(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size


def _repair_file(
    path: Path, coding: LineCoding, disk: Disk, first: int, replay: int
) -> dict[str, None]:
    """Cut off a torn end; the ids of lines that are there, for redelivered events."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        file = OpenFile(descriptor, os.fstat(descriptor).st_size)
        end = coding.sound_end(file)
        _check_is_ours(path, file.part(end, end + len(coding.begins)), coding)
        if end < file.size:
            os.ftruncate(descriptor, end)
            disk.sync_file(descriptor)
        return _ids_from_end(coding.lines_from_end(file, end), first, replay)
    finally:
        os.close(descriptor)


def _check_is_ours(path: Path, rest: bytes, coding: LineCoding) -> None:
    """StorageError when the end is not ours: a torn batch of ours has its first bytes, then perhaps
    zeros. Anything else is left alone."""
    if not coding.begins.startswith(rest.partition(b"\0")[0]):
        raise StorageError(
            f"{path.name} ends with something that is not from here; move it away.",
            reason="foreign",
        )


def _ids_from_end(lines: Iterable[bytes], first: int, replay: int) -> dict[str, None]:
    """Ids of the last lines.

    Lines are in the order of events, but a retried dead letter may be late.
    """
    ids: list[str] = []
    other_lines = 0
    for line in lines:
        identity = parse_line_identity(line)
        if identity is not None and identity.replay == replay and identity.seq >= first:
            ids.append(identity.event_id)
            other_lines = 0
        else:
            other_lines += 1
        if other_lines == _MOST_OTHER_LINES or len(ids) == _REMEMBERED:
            break
    return dict.fromkeys(reversed(ids))


def _write_all(descriptor: int, body: bytes) -> None:
    left = memoryview(body)
    while left:
        left = left[os.write(descriptor, left) :]


class NdjsonFolder:
    """A folder of files. Its methods wait for disks: call them in a thread.

    Between `take` and `release` nobody else appends here, in this process or another. A later
    process reads from the files which events they have.
    """

    def __init__(
        self, root: Path, within: Path, coding: LineCoding, disk: Disk | None = None
    ) -> None:
        """`root` must be inside `within`, also after links are followed."""
        self.root = root
        self._within, self._coding, self.disk = within, coding, disk or Disk()
        self._lock: int | None = None
        self._files: dict[tuple[str, str], DayFile] = {}
        self._lasting: set[Path] = set()

    def take(self) -> None:
        """Lock the folder; BlockingIOError while another process has it."""
        descriptor = self._open_lock_file()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(descriptor)
            raise
        self._lock = descriptor

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def repair(self) -> None:
        """Repair the newest files; any other is repaired before something is appended to it."""
        for series in SERIES:
            folder = self.root / series
            if folder.is_dir():
                paths = sorted(folder.glob(f"*{self._coding.suffix}"))[-_NEWEST:]
                for path in paths:
                    _repair_file(path, self._coding, self.disk, first=0, replay=-1)

    def not_there_yet(self, events: Sequence[WireEvent], replay: int) -> list[WireEvent]:
        """The events that are not in their files, in order."""
        files: dict[tuple[str, str], DayFile] = {}
        fresh = []
        for event in events:
            place = _series_and_day(event)
            file = files.get(place)
            if file is None:
                file = files[place] = self._file(place)
                file.look(self._coding, self.disk, event.seq, replay)
            if not file.has(event.event_id):
                fresh.append(event)
        return fresh

    def append(self, events: Sequence[WireEvent], lines: Sequence[bytes]) -> None:
        """Append each line to its file; all are durable on return."""
        by_place: dict[tuple[str, str], list[int]] = {}
        for at, event in enumerate(events):
            by_place.setdefault(_series_and_day(event), []).append(at)
        for place, numbers in by_place.items():
            series, _ = place
            self.make_lasting(self.root / series)
            coded = self._coding.coded(escape_line_breaks(b"".join([lines[at] for at in numbers])))
            ids = [events[at].event_id for at in numbers]
            if self._file(place).append(coded, ids, self.disk):
                self.disk.sync_folder(str(self.root / series))

    def make_lasting(self, folder: Path) -> None:
        """Make a folder so that it is there also after a power cut."""
        if folder in self._lasting and folder.is_dir():
            return
        folder.mkdir(parents=True, exist_ok=True)
        above = folder
        while above != self._within.parent:
            above = above.parent
            if os.access(above, os.R_OK):  # a parent that is not ours existed before
                self.disk.sync_folder(str(above))
        self._lasting.add(folder)

    def _file(self, place: tuple[str, str]) -> DayFile:
        file = self._files.pop(place, None)
        if file is None:
            series, day = place
            file = DayFile(self.root / series / f"{day}{self._coding.suffix}")
        self._files[place] = file  # the last one used stays longest
        while len(self._files) > _FILES_KNOWN:
            del self._files[next(iter(self._files))]
        return file

    def _open_lock_file(self) -> int:
        self._within.mkdir(parents=True, exist_ok=True)
        if not self.root.resolve().is_relative_to(self._within.resolve()):
            raise StorageError("A link leads out of the folder for sinks.", reason="outside")
        self.make_lasting(self.root)
        return os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _series_and_day(event: WireEvent) -> tuple[str, str]:
    return "entries" if event.type in ENTRY_EVENTS else "events", day_of(event)
