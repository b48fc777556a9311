"""Move files: each gets its name in one moment, never over another, and is found after a crash."""

import os
import shutil
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from headwater.anime.downloads.ports import PlacedFile, PlaceTaken

CHUNK = 1024 * 1024
_PART = ".headwater-part"


def file_mark(place: Path) -> str:
    """A mark that tells a file from another of its length: its inode, and when it was written. One
    of the two is enough to recognise it; not every file system has both."""
    status = place.stat()
    return f"{status.st_ino}-{status.st_mtime_ns}"


def is_placed_file(place: Path, old: PlacedFile) -> bool:
    """Whether it is a plain file of that length, and has the mark, or a part of it, if there is
    one."""
    if place.is_symlink() or not place.is_file() or place.stat().st_size != old.length:
        return False
    if not old.mark:
        return True
    inode, _, written = file_mark(place).partition("-")
    old_inode, _, old_written = old.mark.partition("-")
    return inode == old_inode or written == old_written


def link_file(there: Path, goal: Path) -> bool:
    """Hard-link a file. False when the two are on different file systems, or theirs has no
    links."""
    try:
        os.link(there, goal, follow_symlinks=False)
    except FileExistsError:
        check_same_file(there, goal)
    except OSError:
        if os.path.lexists(goal):
            raise
        return False
    return True


def copy_file(there: Path, goal: Path) -> None:
    """Copy a file under another name first. Its own name follows in one moment, if it is free."""
    if os.path.lexists(goal):
        check_same_file(there, goal)
        return
    part = part_path(goal)
    try:
        copy_to_part(there, part)
        try:
            os.link(part, goal)
        except FileExistsError:
            check_same_file(there, goal)
        except OSError:  # a file system without links
            part.rename(goal)
    finally:
        part.unlink(missing_ok=True)


def copy_to_part(there: Path, part: Path) -> None:
    part.unlink(missing_ok=True)
    with there.open("rb") as source, part.open("wb") as copy:
        shutil.copyfileobj(source, copy, CHUNK)
        copy.flush()
        os.fsync(copy.fileno())
    shutil.copystat(there, part)


def replace_file(there: Path, goal: Path, *, link: bool) -> None:
    """Replace a file in one moment. The old one is gone from there: it must be safe already."""
    part = part_path(goal)
    part.unlink(missing_ok=True)
    try:
        if not link or not link_file(there, part):
            copy_to_part(there, part)
        part.replace(goal)
    finally:
        part.unlink(missing_ok=True)


def check_same_file(there: Path, goal: Path) -> None:
    """PlaceTaken, unless it is the same file: an earlier try may have linked or copied it."""
    if goal.is_symlink() or not is_same_file(there, goal):
        raise PlaceTaken(f"{goal.name} is there already, and is another file.", path=str(goal))


def is_same_file(one: Path, other: Path) -> bool:
    if not one.is_file() or not other.is_file():
        return False
    if os.path.samefile(one, other):
        return True
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as left, other.open("rb") as right:
        while chunk := left.read(CHUNK):
            if chunk != right.read(CHUNK):
                return False
    return True


def part_path(goal: Path) -> Path:
    """A temporary name: short enough for any file system, the same at every try, and no other
    file's (episodes of a long title begin alike)."""
    name = goal.name.encode()
    digest = sha256(name).hexdigest()[:12]
    return goal.with_name(f".{name[:80].decode('utf-8', 'ignore')}.{digest}{_PART}")


def sync_folder(folder: Path) -> None:
    """Write the folder to the disk: the new name must be there before anything is removed for
    it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_empty_folders(folder: Path, root: Path) -> None:
    while folder != root and root in folder.parents:
        with suppress(OSError):
            folder.rmdir()
        if folder.exists():
            return
        folder = folder.parent
