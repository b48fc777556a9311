"""A library on disk, in a folder of the test's own."""

from pathlib import Path

from headwater.anime.downloads.disk_library import DiskMediaLibrary, LibraryFolders, PlaceMethod


def folders_in(root: Path) -> Path:
    for name in ("downloads", "library"):
        (root / name).mkdir()
    return root


def disk(root: Path, way: PlaceMethod = "hardlink", *, recycle: bool = True) -> DiskMediaLibrary:
    kept = root / "library" / ".recycle" if recycle else None
    return DiskMediaLibrary(LibraryFolders(root / "downloads", root / "library", kept, way))
