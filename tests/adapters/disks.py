"""A library on disk, in a folder of the test's own."""

from pathlib import Path

from headwater.adapters.library import DiskLibrary, Folders, Way


def folders_in(root: Path) -> Path:
    for name in ("downloads", "library"):
        (root / name).mkdir()
    return root


def disk(root: Path, way: Way = "hardlink", *, recycle: bool = True) -> DiskLibrary:
    kept = root / "library" / ".recycle" if recycle else None
    return DiskLibrary(Folders(root / "downloads", root / "library", kept, way))
