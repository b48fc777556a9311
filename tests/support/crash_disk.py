"""A disk that forgets what was not synced: what a power cut would leave of a folder."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from headwater.core.durable_files import Disk


class CrashDisk(Disk):
    """Knows which contents and which folder entries were synced, and drops the others.

    `lies` names kinds of syncs that are silently skipped (`file`, `folder`), and
    `folders_never_synced` single folders, to show that a test would notice.
    """

    def __init__(
        self, *, lies: Iterable[str] = (), folders_never_synced: Iterable[Path] = ()
    ) -> None:
        self._lies = frozenset(lies)
        self._never = {str(folder) for folder in folders_never_synced}
        self._whole: set[int] = set()
        self._entries: dict[str, dict[str, int]] = {}
        self.file_syncs = 0
        self.folder_syncs: list[str] = []

    def sync_file(self, descriptor: int) -> None:
        self.file_syncs += 1
        if "file" not in self._lies:
            self._whole.add(os.fstat(descriptor).st_ino)

    def sync_folder(self, folder: str) -> None:
        self.folder_syncs.append(folder)
        if "folder" not in self._lies and folder not in self._never:
            self._entries[folder] = {entry.name: entry.inode() for entry in os.scandir(folder)}

    def power_cut(self, folder: Path) -> None:
        """Leaves of a folder only the entries and the contents that had been synced."""
        kept = self._entries.get(str(folder), {})
        for entry in list(os.scandir(folder)):
            lost = kept.get(entry.name) != entry.inode()
            if entry.is_dir():
                if lost:
                    shutil.rmtree(entry.path)
                else:
                    self.power_cut(Path(entry.path))
            elif lost:
                os.unlink(entry.path)
            elif entry.inode() not in self._whole:
                os.truncate(entry.path, 0)
