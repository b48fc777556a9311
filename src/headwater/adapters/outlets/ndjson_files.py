"""A folder of NDJSON files: appended to by one at a time, repaired before it is appended to."""

import fcntl
import os
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from headwater.adapters.blobs import Disk
from headwater.adapters.outlets.ndjson_lines import day_of, one_line_each, written
from headwater.adapters.outlets.ndjson_tails import Coding, Reading
from headwater.errors import StorageError
from headwater.merge.told.version import ENTRY_EVENTS
from headwater.ports import Parcel

SERIES = ("entries", "events")

_REMEMBERED = 50_000
"""Ids kept of one file. What was not acknowledged is a second's work at most."""

_STRANGERS = 1_000
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

    def look(self, coding: Coding, disk: Disk, first: int, replay: int) -> None:
        """Repairs the end, and learns which events from `first` on are there under `replay`."""
        state = _state(self.path)
        if state is None:
            self._ids = {}
        elif (state, replay) != (self._state, self._replay) or first < self._first:
            self._ids = _inspected(self.path, coding, disk, first, replay)
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


class NdjsonFolder:
    """The methods work on files and wait for disks: call them in a thread.

    Between `take` and `release` nobody else appends here, in this process or another. Whoever
    comes later sees from the files what is in them.
    """

    def __init__(self, root: Path, within: Path, coding: Coding, disk: Disk | None = None) -> None:
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
                    _inspected(path, self._coding, self.disk, first=0, replay=-1)

    def not_there_yet(self, parcels: Sequence[Parcel], replay: int) -> list[Parcel]:
        """In order. Looks at each file that these parcels belong into."""
        files: dict[tuple[str, str], DayFile] = {}
        fresh = []
        for parcel in parcels:
            place = _place(parcel)
            file = files.get(place)
            if file is None:
                file = files[place] = self._file(place)
                file.look(self._coding, self.disk, parcel.seq, replay)
            if not file.has(parcel.event_id):
                fresh.append(parcel)
        return fresh

    def append(self, parcels: Sequence[Parcel], lines: Sequence[bytes]) -> None:
        """Each line into its own file; all durable on return."""
        by_place: dict[tuple[str, str], list[int]] = {}
        for at, parcel in enumerate(parcels):
            by_place.setdefault(_place(parcel), []).append(at)
        for place, numbers in by_place.items():
            series, _ = place
            self.make_lasting(self.root / series)
            coded = self._coding.coded(one_line_each(b"".join([lines[at] for at in numbers])))
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


def _place(parcel: Parcel) -> tuple[str, str]:
    return "entries" if parcel.type in ENTRY_EVENTS else "events", day_of(parcel)


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size


def _inspected(path: Path, coding: Coding, disk: Disk, first: int, replay: int) -> dict[str, None]:
    """Cuts off what is torn; the ids of lines that are there, for redelivered events."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        file = Reading(descriptor, os.fstat(descriptor).st_size)
        end = coding.sound_end(file)
        _refuse_a_strangers_file(path, file.part(end, end + len(coding.begins)), coding)
        if end < file.size:
            os.ftruncate(descriptor, end)
            disk.sync_file(descriptor)
        return _ids_from_end(coding.lines_from_end(file, end), first, replay)
    finally:
        os.close(descriptor)


def _refuse_a_strangers_file(path: Path, rest: bytes, coding: Coding) -> None:
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
        said = written(line)
        if said is not None and said.replay == replay and said.seq >= first:
            ids.append(said.event_id)
            strangers = 0
        else:
            strangers += 1
        if strangers == _STRANGERS or len(ids) == _REMEMBERED:
            break
    return dict.fromkeys(reversed(ids))


def _write_all(descriptor: int, body: bytes) -> None:
    left = memoryview(body)
    while left:
        left = left[os.write(descriptor, left) :]
