"""A folder of NDJSON files: appended to by one at a time, repaired before it is appended to."""

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
# JSON may have these in its texts as they are, but many readers take them for the end of a line.
_UNICODE_LINE_BREAKS = (
    ("\u0085".encode(), rb"\u0085"),
    ("\u2028".encode(), rb"\u2028"),
    ("\u2029".encode(), rb"\u2029"),
)


class LineIdentity(NamedTuple):
    """What a line in a file says of itself."""

    seq: int
    event_id: str
    replay: int


def day_of(parcel: WireEvent) -> str:
    """The event's own UTC date."""
    return _day(parcel.at // _DAY)


@lru_cache(maxsize=64)
def _day(number: int) -> str:
    return (EPOCH + timedelta(days=number)).date().isoformat()


def encode_line(parcel: WireEvent, entry: bytes | None, raw: bytes | None, replay: int) -> bytes:
    """`entry` and `raw` are JSON; None leaves the field out. A first delivery names no replay."""
    parts = (
        parcel.body[:-1],
        b"" if entry is None else b',"entry":',
        entry or b"",
        b"" if raw is None else b',"raw":',
        raw or b"",
        b',"replay":%d}\n' % replay if replay else b"}\n",
    )
    line = b"".join(parts)
    if line.find(b"\n") == len(line) - 1 and b"\r" not in line:
        return line
    # Between the parts of JSON a line break is a space; inside its texts there are none.
    return line[:-1].replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"


def escape_line_breaks(lines: bytes) -> bytes:
    """The same lines, none of which any reader takes for two."""
    if lines.isascii():
        return lines
    for mark, spelled in _UNICODE_LINE_BREAKS:
        if mark in lines:
            lines = lines.replace(mark, spelled)
    return lines


def parse_line_identity(line: bytes) -> LineIdentity | None:
    """None for a line that is not ours. It comes without its end."""
    head = _HEAD.match(line)
    if head is None:
        return None
    found = _REPLAY.search(line, max(0, len(line) - _LONGEST_REPLAY))
    return LineIdentity(int(head[1]), head[2].decode(), int(found[1]) if found else 0)


SERIES = ("entries", "events")

_REMEMBERED = 50_000
"""Ids kept of one file. What was not acknowledged is a second's work at most."""

_MOST_OTHER_LINES = 1_000
"""So many older lines in a row: what is looked for does not come any more."""
_NEWEST = 2
_FILES_KNOWN = 16


class DayFile:
    """What we know of one file; void as soon as somebody else has changed it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state: tuple[int, int] | None = None
        self._replay, self._first = -1, 0
        self._ids: dict[str, None] = {}

    def look(self, coding: LineCoding, disk: Disk, first: int, replay: int) -> None:
        """Repairs the end, and learns which events from `first` on are there under `replay`."""
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
        """Whether the file was made for it. Durable on return, its name excepted."""
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
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size


def _repair_file(
    path: Path, coding: LineCoding, disk: Disk, first: int, replay: int
) -> dict[str, None]:
    """Cuts off what is torn; the ids of lines that are there, for redelivered events."""
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
    """What we left torn begins as all that is ours, then zeros perhaps. The rest we let be."""
    if not coding.begins.startswith(rest.partition(b"\0")[0]):
        raise StorageError(
            f"{path.name} ends with something that is not from here; move it away.",
            reason="foreign",
        )


def _ids_from_end(lines: Iterable[bytes], first: int, replay: int) -> dict[str, None]:
    """Lines are in the order of their events, but a letter that was dead may come late."""
    ids: list[str] = []
    strangers = 0
    for line in lines:
        said = parse_line_identity(line)
        if said is not None and said.replay == replay and said.seq >= first:
            ids.append(said.event_id)
            strangers = 0
        else:
            strangers += 1
        if strangers == _MOST_OTHER_LINES or len(ids) == _REMEMBERED:
            break
    return dict.fromkeys(reversed(ids))


def _write_all(descriptor: int, body: bytes) -> None:
    left = memoryview(body)
    while left:
        left = left[os.write(descriptor, left) :]


class NdjsonFolder:
    """The methods work on files and wait for disks: call them in a thread.

    Between `take` and `release` nobody else appends here, in this process or another. Whoever
    comes later sees from the files what is in them.
    """

    def __init__(
        self, root: Path, within: Path, coding: LineCoding, disk: Disk | None = None
    ) -> None:
        """`root` must be in `within`, wherever links lead."""
        self.root = root
        self._within, self._coding, self.disk = within, coding, disk or Disk()
        self._lock: int | None = None
        self._files: dict[tuple[str, str], DayFile] = {}
        self._lasting: set[Path] = set()

    def take(self) -> None:
        """BlockingIOError while somebody else has it."""
        made = self._lock_file_opened()
        try:
            fcntl.flock(made, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(made)
            raise
        self._lock = made

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def repair(self) -> None:
        """The newest files; any other is looked at before something is appended to it."""
        for series in SERIES:
            folder = self.root / series
            if folder.is_dir():
                paths = sorted(folder.glob(f"*{self._coding.suffix}"))[-_NEWEST:]
                for path in paths:
                    _repair_file(path, self._coding, self.disk, first=0, replay=-1)

    def not_there_yet(self, parcels: Sequence[WireEvent], replay: int) -> list[WireEvent]:
        """In order. Looks at each file that these parcels belong into."""
        files: dict[tuple[str, str], DayFile] = {}
        fresh = []
        for parcel in parcels:
            place = _series_and_day(parcel)
            file = files.get(place)
            if file is None:
                file = files[place] = self._file(place)
                file.look(self._coding, self.disk, parcel.seq, replay)
            if not file.has(parcel.event_id):
                fresh.append(parcel)
        return fresh

    def append(self, parcels: Sequence[WireEvent], lines: Sequence[bytes]) -> None:
        """Each line into its own file; all durable on return."""
        by_place: dict[tuple[str, str], list[int]] = {}
        for at, parcel in enumerate(parcels):
            by_place.setdefault(_series_and_day(parcel), []).append(at)
        for place, numbers in by_place.items():
            series, _ = place
            self.make_lasting(self.root / series)
            coded = self._coding.coded(escape_line_breaks(b"".join([lines[at] for at in numbers])))
            ids = [parcels[at].event_id for at in numbers]
            if self._file(place).append(coded, ids, self.disk):
                self.disk.sync_folder(str(self.root / series))

    def make_lasting(self, folder: Path) -> None:
        """There, and there after a power cut."""
        if folder in self._lasting and folder.is_dir():
            return
        folder.mkdir(parents=True, exist_ok=True)
        above = folder
        while above != self._within.parent:
            above = above.parent
            if os.access(above, os.R_OK):  # a parent that is not ours was there before us
                self.disk.sync_folder(str(above))
        self._lasting.add(folder)

    def _file(self, place: tuple[str, str]) -> DayFile:
        file = self._files.pop(place, None)
        if file is None:
            series, day = place
            file = DayFile(self.root / series / f"{day}{self._coding.suffix}")
        self._files[place] = file  # the last one used is the last one in the row
        while len(self._files) > _FILES_KNOWN:
            del self._files[next(iter(self._files))]
        return file

    def _lock_file_opened(self) -> int:
        self._within.mkdir(parents=True, exist_ok=True)
        if not self.root.resolve().is_relative_to(self._within.resolve()):
            raise StorageError("A link leads out of the folder for sinks.", reason="outside")
        self.make_lasting(self.root)
        return os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _series_and_day(parcel: WireEvent) -> tuple[str, str]:
    return "entries" if parcel.type in ENTRY_EVENTS else "events", day_of(parcel)
