"""The library on a disk: check, place and recycle files, and never overwrite one."""

import asyncio
import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha1
from itertools import count
from pathlib import Path
from typing import Literal, TypeVar

from headwater.anime.downloads.file_moves import (
    copy_file,
    file_mark,
    is_placed_file,
    is_same_file,
    link_file,
    part_path,
    remove_empty_folders,
    replace_file,
    sync_folder,
)
from headwater.anime.downloads.ports import (
    FolderGone,
    LibraryTrouble,
    NoRoom,
    NotOurs,
    PlacedFile,
    PlaceTaken,
    SourceGone,
    SwitchedFile,
)
from headwater.anime.naming.safe_path import is_safe_relative_path
from headwater.anime.torrents.torrent_file import Torrent

_CHUNK = 1024 * 1024


def first_bad_piece(
    places: Sequence[Path | None],
    lengths: Sequence[int],
    piece_length: int,
    hashes: Sequence[bytes],
) -> int | None:
    """The number of the first piece with a wrong hash; None when all are right. A place of None is
    padding, which is zeros."""
    number, digest, left = 0, sha1(usedforsecurity=False), piece_length
    for chunk in _bytes_of(places, lengths):
        rest = memoryview(chunk)
        while rest:
            part = rest[:left]
            digest.update(part)
            rest, left = rest[len(part) :], left - len(part)
            if left == 0:
                if digest.digest() != hashes[number]:
                    return number
                number, digest, left = number + 1, sha1(usedforsecurity=False), piece_length
    if left < piece_length and digest.digest() != hashes[number]:
        return number
    return None


def _bytes_of(places: Sequence[Path | None], lengths: Sequence[int]) -> Iterator[bytes]:
    for place, length in zip(places, lengths, strict=True):
        if place is None:
            for start in range(0, length, _CHUNK):
                yield bytes(min(_CHUNK, length - start))
            continue
        with place.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk


T = TypeVar("T")
PlaceMethod = Literal["hardlink", "copy", "move"]
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

_IGNORE_FILE = ".ignore"
"""Media servers skip a folder that has a file of this name."""


@dataclass(frozen=True, slots=True)
class LibraryFolders:
    """`recycle` None: files that leave the library are deleted."""

    downloads: Path
    library: Path
    recycle: Path | None
    way: PlaceMethod = "hardlink"


class DiskMediaLibrary:
    """A `MediaLibrary` on a disk. Every access to the disk is made in a thread."""

    def __init__(self, folders: LibraryFolders) -> None:
        self._folders = folders

    async def lacks(self, folder: str, torrent: Torrent, *, pieces: bool) -> str | None:
        return await self._run(lambda: self._lacks(folder, torrent, pieces))

    async def place(self, source: str, target: str, *, keep: bool = False) -> str:
        return await self._run(lambda: self._place(source, target, keep))

    async def switch(
        self, source: str, old: PlacedFile, *, today: str, keep: bool = False
    ) -> SwitchedFile:
        return await self._run(lambda: self._switch(source, old, today, keep))

    async def write(self, target: str, body: bytes, *, over: Sequence[PlacedFile] = ()) -> str:
        return await self._run(lambda: self._write(target, body, over))

    async def recycle(self, old: PlacedFile, *, today: str) -> str | None:
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
        self._check_folder(self._folders.downloads)
        return shutil.disk_usage(self._folders.downloads).free

    def _lacks(self, folder: str, torrent: Torrent, pieces: bool) -> str | None:
        root = self._inside(self._folders.downloads, folder) if folder else self._folders.downloads
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
            if (size := place.stat().st_size) != file.length:
                return f"{shown} has {size} bytes, not {file.length}."
        if not pieces or not torrent.pieces:
            return None
        lengths = [file.length for file in torrent.files]
        bad = first_bad_piece(places, lengths, torrent.piece_length, torrent.pieces)
        return None if bad is None else f"Piece {bad} is not as it should be."

    def _place(self, source: str, target: str, keep: bool) -> str:
        there = self._inside(self._folders.downloads, source)
        goal = self._inside(self._folders.library, target)
        moves = self._folders.way == "move" and not keep
        goal.parent.mkdir(parents=True, exist_ok=True)
        if moves and goal.is_file() and not os.path.lexists(there):
            return file_mark(goal)  # an earlier step moved it, and died before it could say so
        self._check_source(there, source)
        if self._folders.way == "copy" or not link_file(there, goal):
            copy_file(there, goal)
        sync_folder(goal.parent)
        if moves:
            there.unlink()
        return file_mark(goal)

    def _switch(self, source: str, old: PlacedFile, today: str, keep: bool) -> SwitchedFile:
        """The old file gets a second name in the recycle folder before its first name is taken."""
        there = self._inside(self._folders.downloads, source)
        goal = self._inside(self._folders.library, old.path)
        if not os.path.lexists(goal) or self._was_switched(there, goal, old):
            mark = self._place(source, old.path, keep)
            return SwitchedFile(mark, self._find_recycled(old, today))
        self._check_source(there, source)
        if not self._is_ours(goal, old):
            raise PlaceTaken(f"{old.path} is not the file that we put there.", path=old.path)
        kept = self._link_into_recycle(goal, old, today)
        replace_file(there, goal, link=self._folders.way != "copy")
        sync_folder(goal.parent)
        if self._folders.way == "move" and not keep:
            there.unlink()
        return SwitchedFile(file_mark(goal), kept)

    def _was_switched(self, there: Path, goal: Path, old: PlacedFile) -> bool:
        """Whether an earlier try has switched it."""
        if os.path.lexists(there):
            return is_same_file(there, goal)
        return self._folders.way == "move" and not self._is_ours(goal, old)

    def _is_ours(self, goal: Path, old: PlacedFile) -> bool:
        if not is_placed_file(goal, old):
            return False
        if old.mark or not old.source:
            return True
        return is_same_file(self._inside(self._folders.downloads, old.source), goal)

    @staticmethod
    def _check_source(there: Path, source: str) -> None:
        if not os.path.lexists(there):
            raise SourceGone(f"{source} is not in the downloads any more.", path=source)
        if there.is_symlink() or not there.is_file():
            raise LibraryTrouble(f"{source} is no file in the downloads.", path=source)

    def _write(self, target: str, body: bytes, over: Sequence[PlacedFile]) -> str:
        goal = self._inside(self._folders.library, target)
        goal.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(goal):
            is_plain = goal.is_file() and not goal.is_symlink()
            if is_plain and goal.read_bytes() == body:
                return file_mark(goal)
            if not any(self._is_ours(goal, old) for old in over):
                raise PlaceTaken(f"{target} is there already.", path=target)
        part = part_path(goal)
        with part.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        part.replace(goal)
        return file_mark(goal)

    def _recycle(self, old: PlacedFile, today: str) -> str | None:
        goal = self._inside(self._folders.library, old.path)
        if not os.path.lexists(goal):
            return self._find_recycled(old, today)
        if not self._is_ours(goal, old):
            raise NotOurs(f"{old.path} is not the file that we put there.", path=old.path)
        kept = self._link_into_recycle(goal, old, today)
        goal.unlink()
        remove_empty_folders(goal.parent, self._folders.library)
        return kept

    def _link_into_recycle(self, goal: Path, old: PlacedFile, today: str) -> str | None:
        """Give the file a second name in the recycle folder, if there is one; it keeps one that it
        has."""
        if self._folders.recycle is None:
            return None
        for kept in self._names_in_recycle(old.path, today):
            if os.path.lexists(kept) and not is_same_file(kept, goal):
                continue
            kept.parent.mkdir(parents=True, exist_ok=True)
            (self._folders.recycle / _IGNORE_FILE).touch()
            if not link_file(goal, kept):  # it is on another disk
                copy_file(goal, kept)
            sync_folder(kept.parent)
            return str(kept)
        raise AssertionError("there is always a further name")

    def _find_recycled(self, old: PlacedFile, today: str) -> str | None:
        """The path in the recycle folder to which an earlier try has moved it, if its mark is
        there."""
        if self._folders.recycle is None or not old.mark:
            return None
        for kept in self._names_in_recycle(old.path, today):
            if not os.path.lexists(kept):
                return None
            if is_placed_file(kept, old):
                return str(kept)
        raise AssertionError("there is always a further name")

    def _names_in_recycle(self, path: str, today: str) -> Iterator[Path]:
        assert self._folders.recycle is not None
        first = self._inside(self._folders.recycle, f"{today}/{path}")
        yield first
        for number in count(2):
            yield first.with_name(f"{first.stem} ({number}){first.suffix}")

    def _discard(self, paths: Sequence[str]) -> None:
        for path in paths:
            place = self._inside(self._folders.downloads, path)
            place.unlink(missing_ok=True)
            remove_empty_folders(place.parent, self._folders.downloads)

    def _sweep(self, before: str) -> int:
        root, deleted = self._folders.recycle, 0
        if root is None or not root.is_dir():
            return 0
        for day in sorted(root.iterdir()):
            if _DAY.fullmatch(day.name) and day.name < before and day.is_dir():
                deleted += sum(len(names) for _, _, names in os.walk(day))
                shutil.rmtree(day)
        return deleted

    def _troubles(self) -> list[str]:
        troubles = []
        for name, folder in (
            ("downloads", self._folders.downloads),
            ("library", self._folders.library),
        ):
            if not folder.is_dir():
                troubles.append(f"The folder of the {name}, {folder}, is not there.")
            elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                troubles.append(f"The folder of the {name}, {folder}, cannot be written to.")
        if not troubles and self._folders.way == "hardlink":
            downloads = self._folders.downloads.stat().st_dev
            if downloads != self._folders.library.stat().st_dev:
                troubles.append("Downloads and library are on two file systems: files are copied.")
        return troubles

    @staticmethod
    def _check_folder(folder: Path) -> None:
        """FolderGone when the folder is not there. We do not make it: files that are written where
        a disk will be mounted cannot be seen once the disk is there."""
        if not folder.is_dir():
            raise FolderGone(f"The folder {folder} is not there.", path=str(folder))

    def _inside(self, root: Path, path: str) -> Path:
        """The full path. LibraryTrouble when it leaves the root, also by a link on the way."""
        if not is_safe_relative_path(path):
            raise LibraryTrouble(f"{path!r} would leave its folder.", path=path)
        if root == self._folders.library or root == self._folders.downloads:
            self._check_folder(root)
        place = root / path
        real_parent = os.path.realpath(place.parent)
        real_root = os.path.realpath(root)
        if real_parent != real_root and not real_parent.startswith(real_root.rstrip("/") + "/"):
            raise LibraryTrouble(f"{path!r} leads out of its folder.", path=path)
        return place
