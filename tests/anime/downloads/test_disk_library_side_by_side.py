"""What the library keeps apart: episodes that are copied at once, and folders that are not ours."""

import asyncio
import shutil
import threading
from decimal import Decimal
from pathlib import Path
from typing import IO

import pytest

from headwater.anime.downloads.disk_library import DiskMediaLibrary, LibraryFolders
from headwater.anime.naming.library_path import library_path_of
from headwater.anime.release import Release
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import Slot

TITLE = (
    "信じていた仲間達にダンジョン奥地で殺されかけたがギフト『無限ガチャ』でレベル9999の"
    "仲間達を手に入れて元パーティーメンバーと世界に復讐＆『ざまぁ！』します！"
)
BODIES = {number: bytes([number]) * (1 << 20) for number in (1, 2)}


def path(number: int) -> str:
    release = Release(groups=("ANi",))
    return library_path_of(Show(TITLE, 2025), [Slot(1, Decimal(number))], release, "x.mkv").path


@pytest.fixture
def library(tmp_path: Path) -> DiskMediaLibrary:
    for name in ("downloads", "library"):
        (tmp_path / name).mkdir()
    for number, body in BODIES.items():
        (tmp_path / "downloads" / f"{number}.mkv").write_bytes(body)
    return DiskMediaLibrary(
        LibraryFolders(tmp_path / "downloads", tmp_path / "library", None, "copy")
    )


async def test_an_episode_of_a_long_title_is_never_another_one(
    library: DiskMediaLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is copied; before it is done, the second begins, and is slower."""
    half, begun, first_done = threading.Event(), threading.Event(), threading.Event()
    whole = shutil.copyfileobj

    def copying(source: IO[bytes], copy: IO[bytes], size: int) -> None:
        if source.name.endswith("1.mkv"):
            begun.set()
            whole(source, copy, size)
            half.wait(5)
        else:
            copy.write(source.read(1 << 19))
            copy.flush()
            half.set()
            first_done.wait(5)
            whole(source, copy, size)

    monkeypatch.setattr(shutil, "copyfileobj", copying)
    first = asyncio.ensure_future(library.place("1.mkv", path(1)))
    await asyncio.to_thread(begun.wait, 5)
    second = asyncio.ensure_future(library.place("2.mkv", path(2)))
    await first
    first_done.set()
    await second
    for number, body in BODIES.items():
        assert (tmp_path / "library" / path(number)).read_bytes() == body


async def test_only_days_are_swept(tmp_path: Path) -> None:
    """The recycle folder may be one that people use for other things too."""
    for name in ("downloads", "library", "bin/100 Meters", "bin/2026-01-01", "bin/2026-02-01"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "film.mkv").write_bytes(b"film")
    folders = LibraryFolders(tmp_path / "downloads", tmp_path / "library", tmp_path / "bin")
    await DiskMediaLibrary(folders).sweep("2026-02-01")
    left = sorted(each.name for each in (tmp_path / "bin").iterdir())
    assert left == ["100 Meters", "2026-02-01"]
