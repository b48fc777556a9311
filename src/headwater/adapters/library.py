"""The downloads and the library on a disk: files looked at, linked, recycled, never overwritten."""

import asyncio
import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal, TypeVar

from headwater.adapters.library_moves import (
    bears,
    copied,
    linked,
    mark_of,
    part_of,
    put_over,
    same_file,
    synced,
    without_empty_folders,
)
from headwater.adapters.library_pieces import first_bad_piece
from headwater.collect.naming.inside import is_inside
from headwater.collect.torrent import Torrent
from headwater.media_ports import (
    FolderGone,
    LibraryTrouble,
    NoRoom,
    NotOurs,
    Placed,
    PlaceTaken,
    SourceGone,
    Switched,
)

T = TypeVar("T")

Way = Literal["hardlink", "copy", "move"]
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_UNSEEN = ".ignore"
"""Media servers pass by a folder that has a file of this name."""


@dataclass(frozen=True, slots=True)
class Folders:
    """`recycle` None: what leaves the library is deleted."""

    downloads: Path
    library: Path
    recycle: Path | None
    way: Way = "hardlink"


class DiskLibrary:
    """The Library port. Everything that touches a disk does so in a thread."""

    def __init__(self, folders: Folders) -> None:
        self._at = folders

    async def lacks(self, folder: str, torrent: Torrent, *, pieces: bool) -> str | None:
        return await self._run(lambda: self._lacks(folder, torrent, pieces))

    async def place(self, source: str, target: str, *, keep: bool = False) -> str:
        return await self._run(lambda: self._place(source, target, keep))

    async def switch(self, source: str, old: Placed, *, today: str, keep: bool = False) -> Switched:
        return await self._run(lambda: self._switch(source, old, today, keep))

    async def write(self, target: str, body: bytes, *, over: Sequence[Placed] = ()) -> str:
        return await self._run(lambda: self._write(target, body, over))

    async def recycle(self, old: Placed, *, today: str) -> str | None:
        return await self._run(lambda: self._recycle(old, today))

    async def discard(self, paths: Sequence[str]) -> None:
        await self._run(lambda: self._discard(paths))

    async def free_bytes(self) -> int:
        return await self._run(self._free_bytes)

    async def sweep(self, before: str) -> int:
        return await self._run(lambda: self._sweep(before))

    async def troubles(self) -> Sequence[str]:
        return await self._run(self._troubles)

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except OSError as trouble:
            where = str(trouble.filename or "")
            kind = NoRoom if trouble.errno in _FULL else LibraryTrouble
            raise kind(f"{trouble.strerror or trouble}: {where}", path=where) from trouble

    def _free_bytes(self) -> int:
        self._refuse_missing(self._at.downloads)
        return shutil.disk_usage(self._at.downloads).free

    def _lacks(self, folder: str, torrent: Torrent, pieces: bool) -> str | None:
        root = self._inside(self._at.downloads, folder) if folder else self._at.downloads
        if not root.is_dir():
            return (
                f"{folder} is not in the downloads. If the client calls that folder otherwise,"
                " media_client_downloads must say how."
            )
        places: list[Path | None] = []
        for file in torrent.files:
            shown = "/".join(file.path)
            place = self._inside(root, shown)
            places.append(None if file.is_padding else place)
            if file.is_padding:
                continue
            if place.is_symlink() or not place.is_file():
                return f"{shown} is not there."
            if (found := place.stat().st_size) != file.length:
                return f"{shown} has {found} bytes, not {file.length}."
        if not pieces or not torrent.pieces:
            return None
        lengths = [file.length for file in torrent.files]
        bad = first_bad_piece(places, lengths, torrent.piece_length, torrent.pieces)
        return None if bad is None else f"Piece {bad} is not as it should be."

    def _place(self, source: str, target: str, keep: bool) -> str:
        there = self._inside(self._at.downloads, source)
        goal = self._inside(self._at.library, target)
        moves = self._at.way == "move" and not keep
        goal.parent.mkdir(parents=True, exist_ok=True)
        if moves and goal.is_file() and not os.path.lexists(there):
            return mark_of(goal)  # moved before, by a step that did not live to say so
        self._refuse_odd_source(there, source)
        if self._at.way == "copy" or not linked(there, goal):
            copied(there, goal)
        synced(goal.parent)
        if moves:
            there.unlink()
        return mark_of(goal)

    def _switch(self, source: str, old: Placed, today: str, keep: bool) -> Switched:
        """The old one has a second name in the recycle folder before its first one is taken."""
        there = self._inside(self._at.downloads, source)
        goal = self._inside(self._at.library, old.path)
        if not os.path.lexists(goal) or self._is_there(there, goal, old):
            mark = self._place(source, old.path, keep)
            return Switched(mark, self._kept_before(old, today))
        self._refuse_odd_source(there, source)
        if not self._is_ours(goal, old):
            raise PlaceTaken(f"{old.path} is not the file that we put there.", path=old.path)
        kept = self._second_name(goal, old, today)
        put_over(there, goal, link=self._at.way != "copy")
        synced(goal.parent)
        if self._at.way == "move" and not keep:
            there.unlink()
        return Switched(mark_of(goal), kept)

    def _is_there(self, there: Path, goal: Path, old: Placed) -> bool:
        """An earlier try has switched it."""
        if os.path.lexists(there):
            return same_file(there, goal)
        return self._at.way == "move" and not self._is_ours(goal, old)

    def _is_ours(self, goal: Path, old: Placed) -> bool:
        if not bears(goal, old):
            return False
        if old.mark or not old.source:
            return True
        return same_file(self._inside(self._at.downloads, old.source), goal)

    @staticmethod
    def _refuse_odd_source(there: Path, source: str) -> None:
        if not os.path.lexists(there):
            raise SourceGone(f"{source} is not in the downloads any more.", path=source)
        if there.is_symlink() or not there.is_file():
            raise LibraryTrouble(f"{source} is no file in the downloads.", path=source)

    def _write(self, target: str, body: bytes, over: Sequence[Placed]) -> str:
        goal = self._inside(self._at.library, target)
        goal.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(goal):
            is_plain = goal.is_file() and not goal.is_symlink()
            if is_plain and goal.read_bytes() == body:
                return mark_of(goal)
            if not any(self._is_ours(goal, old) for old in over):
                raise PlaceTaken(f"{target} is there already.", path=target)
        part = part_of(goal)
        with part.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        part.replace(goal)
        return mark_of(goal)

    def _recycle(self, old: Placed, today: str) -> str | None:
        goal = self._inside(self._at.library, old.path)
        if not os.path.lexists(goal):
            return self._kept_before(old, today)
        if not self._is_ours(goal, old):
            raise NotOurs(f"{old.path} is not the file that we put there.", path=old.path)
        kept = self._second_name(goal, old, today)
        goal.unlink()
        without_empty_folders(goal.parent, self._at.library)
        return kept

    def _second_name(self, goal: Path, old: Placed, today: str) -> str | None:
        """In the recycle folder, where there is one; the one it has there if it has one."""
        if self._at.recycle is None:
            return None
        for kept in self._names_in_recycle(old.path, today):
            if os.path.lexists(kept) and not same_file(kept, goal):
                continue
            kept.parent.mkdir(parents=True, exist_ok=True)
            (self._at.recycle / _UNSEEN).touch()
            if not linked(goal, kept):  # it is on another disk
                copied(goal, kept)
            synced(kept.parent)
            return str(kept)
        raise AssertionError("there is always a further name")

    def _kept_before(self, old: Placed, today: str) -> str | None:
        """Where an earlier try has put it, as far as that can be told."""
        if self._at.recycle is None or not old.mark:
            return None
        for kept in self._names_in_recycle(old.path, today):
            if not os.path.lexists(kept):
                return None
            if bears(kept, old):
                return str(kept)
        raise AssertionError("there is always a further name")

    def _names_in_recycle(self, path: str, today: str) -> Iterator[Path]:
        assert self._at.recycle is not None
        first = self._inside(self._at.recycle, f"{today}/{path}")
        yield first
        for number in count(2):
            yield first.with_name(f"{first.stem} ({number}){first.suffix}")

    def _discard(self, paths: Sequence[str]) -> None:
        for path in paths:
            place = self._inside(self._at.downloads, path)
            place.unlink(missing_ok=True)
            without_empty_folders(place.parent, self._at.downloads)

    def _sweep(self, before: str) -> int:
        root, gone = self._at.recycle, 0
        if root is None or not root.is_dir():
            return 0
        for day in sorted(root.iterdir()):
            if _DAY.fullmatch(day.name) and day.name < before and day.is_dir():
                gone += sum(len(names) for _, _, names in os.walk(day))
                shutil.rmtree(day)
        return gone

    def _troubles(self) -> list[str]:
        found = []
        for name, folder in (("downloads", self._at.downloads), ("library", self._at.library)):
            if not folder.is_dir():
                found.append(f"The folder of the {name}, {folder}, is not there.")
            elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                found.append(f"The folder of the {name}, {folder}, cannot be written to.")
        if not found and self._at.way == "hardlink":
            one, other = self._at.downloads.stat().st_dev, self._at.library.stat().st_dev
            if one != other:
                found.append("Downloads and library are on two file systems: files are copied.")
        return found

    @staticmethod
    def _refuse_missing(folder: Path) -> None:
        """We do not make it: what is written below a place where a disk is to be mounted is not
        seen once the disk is there."""
        if not folder.is_dir():
            raise FolderGone(f"The folder {folder} is not there.", path=str(folder))

    def _inside(self, root: Path, path: str) -> Path:
        """Also when a folder on the way is a link that leads elsewhere."""
        if not is_inside(path):
            raise LibraryTrouble(f"{path!r} would leave its folder.", path=path)
        if root == self._at.library or root == self._at.downloads:
            self._refuse_missing(root)
        place = root / path
        real = os.path.realpath(place.parent)
        above = os.path.realpath(root)
        if real != above and not real.startswith(above.rstrip("/") + "/"):
            raise LibraryTrouble(f"{path!r} leads out of its folder.", path=path)
        return place
