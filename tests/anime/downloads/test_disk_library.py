"""Files come into the library whole and to a free place, and leave it into the recycle folder."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from headwater.anime.downloads.disk_library import PlaceMethod
from headwater.anime.downloads.ports import FolderGone, LibraryTrouble, PlacedFile, PlaceTaken
from headwater.anime.torrents.torrent_file import parse_torrent
from tests.support.library_folder import disk, folders_in
from tests.support.torrents import Made, made

BODY = bytes(range(256)) * 200
WAYS: tuple[PlaceMethod, ...] = ("hardlink", "copy", "move")
TODAY = "2026-02-03"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return folders_in(tmp_path)


def downloaded(root: Path, torrent: Made, folder: str = "") -> None:
    for path, body in torrent.files.items():
        place = root / "downloads" / folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(body)


async def test_a_file_of_a_library_that_is_not_mounted_is_not_taken_for_gone(root: Path) -> None:
    library = disk(root)
    (root / "downloads" / "a.mkv").write_bytes(BODY)
    mark = await library.place("a.mkv", "a.mkv")
    (root / "library").rename(root / "away")
    with pytest.raises(FolderGone):
        await library.recycle(PlacedFile("a.mkv", len(BODY), mark), today=TODAY)
    (root / "away").rename(root / "library")
    assert await library.recycle(PlacedFile("a.mkv", len(BODY), mark), today=TODAY) is not None


async def test_a_folder_that_only_the_client_sees_is_told_with_what_may_be_wrong(
    root: Path,
) -> None:
    torrent = parse_torrent(made("a.mkv", BODY).torrent)
    lack = await disk(root).lacks("release-1", torrent, pieces=True)
    assert lack is not None
    assert "media_client_downloads" in lack


@pytest.mark.parametrize("way", WAYS)
async def test_a_file_comes_into_the_library(root: Path, way: PlaceMethod) -> None:
    (root / "downloads" / "a.mkv").write_bytes(BODY)
    await disk(root, way).place("a.mkv", "Show (2025)/Season 01/Show - S01E01.mkv")
    placed = root / "library" / "Show (2025)" / "Season 01" / "Show - S01E01.mkv"
    assert placed.read_bytes() == BODY
    assert [each.name for each in placed.parent.iterdir()] == ["Show - S01E01.mkv"]
    assert (root / "downloads" / "a.mkv").exists() is (way != "move")
    if way == "hardlink":
        assert placed.samefile(root / "downloads" / "a.mkv")


@pytest.mark.parametrize("way", WAYS)
async def test_placing_again_after_a_crash_is_placing_once(root: Path, way: PlaceMethod) -> None:
    (root / "downloads" / "a.mkv").write_bytes(BODY)
    for _ in range(2):
        await disk(root, way).place("a.mkv", "b.mkv")
    assert (root / "library" / "b.mkv").read_bytes() == BODY


@pytest.mark.parametrize("way", WAYS)
async def test_another_file_is_never_overwritten(root: Path, way: PlaceMethod) -> None:
    (root / "downloads" / "a.mkv").write_bytes(BODY)
    (root / "library" / "b.mkv").write_bytes(BODY[::-1])
    with pytest.raises(PlaceTaken):
        await disk(root, way).place("a.mkv", "b.mkv")
    assert (root / "library" / "b.mkv").read_bytes() == BODY[::-1]
    assert (root / "downloads" / "a.mkv").read_bytes() == BODY


async def test_a_link_to_nowhere_in_the_library_is_a_place_that_is_taken(root: Path) -> None:
    (root / "downloads" / "a.mkv").write_bytes(BODY)
    (root / "library" / "b.mkv").symlink_to(root / "nowhere")
    with pytest.raises(PlaceTaken):
        await disk(root).place("a.mkv", "b.mkv")
    assert not (root / "nowhere").exists()


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "a\\b", "", "a//b", "~x", "a\x00b"])
async def test_no_path_leads_out(root: Path, path: str) -> None:
    (root / "downloads" / "a.mkv").write_bytes(BODY)
    with pytest.raises(LibraryTrouble):
        await disk(root).place("a.mkv", path)
    with pytest.raises(LibraryTrouble):
        await disk(root).place(path, "b.mkv")
    with pytest.raises(LibraryTrouble):
        await disk(root).recycle(PlacedFile(path, 1), today=TODAY)
    with pytest.raises(LibraryTrouble):
        await disk(root).discard([path])
    with pytest.raises(LibraryTrouble):
        await disk(root).write(path, b"x")


@pytest.mark.parametrize("elsewhere", ["elsewhere", "library-of-others"])
async def test_a_folder_that_is_a_link_out_of_the_library_is_refused(
    root: Path, elsewhere: str
) -> None:
    (root / elsewhere).mkdir()
    (root / "library" / "Show").symlink_to(root / elsewhere)
    (root / "downloads" / "a.mkv").write_bytes(BODY)
    with pytest.raises(LibraryTrouble):
        await disk(root).place("a.mkv", "Show/b.mkv")
    assert list((root / elsewhere).iterdir()) == []


async def test_a_download_that_is_a_link_is_refused(root: Path) -> None:
    (root / "secret").write_bytes(b"key")
    (root / "downloads" / "a.mkv").symlink_to(root / "secret")
    with pytest.raises(LibraryTrouble):
        await disk(root).place("a.mkv", "b.mkv")
    assert list((root / "library").iterdir()) == []


async def test_what_leaves_the_library_is_kept_for_a_while(root: Path) -> None:
    place = root / "library" / "Show" / "Season 01" / "e.mkv"
    place.parent.mkdir(parents=True)
    place.write_bytes(BODY)
    kept = await disk(root).recycle(PlacedFile("Show/Season 01/e.mkv", len(BODY)), today=TODAY)
    expected = root / "library" / ".recycle" / TODAY / "Show" / "Season 01" / "e.mkv"
    assert kept == str(expected)
    assert expected.read_bytes() == BODY
    assert not (root / "library" / "Show").exists()


async def test_two_of_one_name_are_both_kept(root: Path) -> None:
    for body in (BODY, BODY[::-1]):
        (root / "library" / "e.mkv").write_bytes(body)
        await disk(root).recycle(PlacedFile("e.mkv", len(BODY)), today=TODAY)
    day = root / "library" / ".recycle" / TODAY
    assert (day / "e.mkv").read_bytes() == BODY
    assert (day / "e (2).mkv").read_bytes() == BODY[::-1]


async def test_what_is_gone_already_is_gone(root: Path) -> None:
    assert await disk(root).recycle(PlacedFile("e.mkv", 1), today=TODAY) is None


async def test_a_file_that_somebody_else_put_there_stays(root: Path) -> None:
    (root / "library" / "e.mkv").write_bytes(b"mine")
    with pytest.raises(LibraryTrouble, match="not the file"):
        await disk(root).recycle(PlacedFile("e.mkv", len(BODY)), today=TODAY)
    assert (root / "library" / "e.mkv").read_bytes() == b"mine"


async def test_without_a_recycle_folder_it_is_deleted(root: Path) -> None:
    (root / "library" / "e.mkv").write_bytes(BODY)
    assert (
        await disk(root, recycle=False).recycle(PlacedFile("e.mkv", len(BODY)), today=TODAY) is None
    )
    assert list((root / "library").iterdir()) == []


async def test_old_days_are_swept_and_nothing_else(root: Path) -> None:
    recycle = root / "library" / ".recycle"
    for day in ("2026-01-01", "2026-01-31", "2026-02-01", "notes"):
        (recycle / day / "Show").mkdir(parents=True)
        (recycle / day / "Show" / "e.mkv").write_bytes(b"x")
    assert await disk(root).sweep("2026-02-01") == 2
    assert sorted(each.name for each in recycle.iterdir()) == ["2026-02-01", "notes"]


async def test_what_is_discarded_leaves_no_empty_folder_and_nothing_of_others(root: Path) -> None:
    downloaded(root, made("Show", {"1.mkv": BODY, "sub/1.ass": b"x"}))
    (root / "downloads" / "Show" / "mine.txt").write_bytes(b"mine")
    await disk(root).discard(["Show/1.mkv", "Show/sub/1.ass", "Show/none.mkv"])
    assert [each.name for each in (root / "downloads" / "Show").iterdir()] == ["mine.txt"]


FOLDER = made("Show", {"1.mkv": BODY, "2.mkv": BODY[::-1], "empty.txt": b""})


async def test_a_complete_download_lacks_nothing(root: Path) -> None:
    downloaded(root, FOLDER, "here")
    torrent = parse_torrent(FOLDER.torrent)
    assert await disk(root).lacks("here", torrent, pieces=True) is None


async def test_a_changed_byte_is_found_by_its_piece(root: Path) -> None:
    downloaded(root, FOLDER)
    place = root / "downloads" / "Show" / "2.mkv"
    body = bytearray(place.read_bytes())
    body[-1] ^= 1
    place.write_bytes(bytes(body))
    torrent = parse_torrent(FOLDER.torrent)
    # Two files of 51,200 bytes are 6.25 pieces of 16 KiB: the last byte is in the seventh.
    assert await disk(root).lacks("", torrent, pieces=True) == "Piece 6 is not as it should be."
    assert await disk(root).lacks("", torrent, pieces=False) is None


async def test_a_missing_file_and_a_short_one_are_named(root: Path) -> None:
    downloaded(root, FOLDER)
    torrent = parse_torrent(FOLDER.torrent)
    os.truncate(root / "downloads" / "Show" / "1.mkv", 10)
    said = await disk(root).lacks("", torrent, pieces=True)
    assert said == "Show/1.mkv has 10 bytes, not 51200."
    (root / "downloads" / "Show" / "1.mkv").unlink()
    assert await disk(root).lacks("", torrent, pieces=True) == "Show/1.mkv is not there."


async def test_troubles_are_told_in_words(root: Path) -> None:
    assert await disk(root).troubles() == []
    (root / "library").rmdir()
    assert await disk(root).troubles() == [
        f"The folder of the library, {root / 'library'}, is not there."
    ]


async def test_what_the_disk_refuses_says_so(root: Path) -> None:
    """A file stands where a folder should be."""
    (root / "downloads" / "a.mkv").write_bytes(BODY)
    (root / "library" / "Show").write_bytes(b"")
    with pytest.raises(LibraryTrouble):
        await disk(root).place("a.mkv", "Show/b.mkv")
    assert await disk(root).free_bytes() > 0


NEW = BODY[::-1]


async def placed_old(root: Path, way: PlaceMethod) -> PlacedFile:
    """An old file in the library, and a new one in the downloads."""
    (root / "downloads" / "old.mkv").write_bytes(BODY)
    mark = await disk(root, way).place("old.mkv", "Show/e.mkv")
    (root / "downloads" / "new.mkv").write_bytes(NEW)
    return PlacedFile("Show/e.mkv", len(BODY), mark, "old.mkv")


@pytest.mark.parametrize("way", WAYS)
async def test_a_new_file_takes_the_very_place_of_an_old_one(root: Path, way: PlaceMethod) -> None:
    old = await placed_old(root, way)
    switched = await disk(root, way).switch("new.mkv", old, today=TODAY)
    kept = root / "library" / ".recycle" / TODAY / "Show" / "e.mkv"
    assert (root / "library" / "Show" / "e.mkv").read_bytes() == NEW
    assert (switched.kept, kept.read_bytes()) == (str(kept), BODY)
    assert [each.name for each in (root / "library" / "Show").iterdir()] == ["e.mkv"]
    assert (root / "downloads" / "new.mkv").exists() is (way != "move")


@pytest.mark.parametrize("way", WAYS)
async def test_switching_again_after_a_crash_is_switching_once(
    root: Path, way: PlaceMethod
) -> None:
    old = await placed_old(root, way)
    first = await disk(root, way).switch("new.mkv", old, today=TODAY)
    assert await disk(root, way).switch("new.mkv", old, today=TODAY) == first
    day = root / "library" / ".recycle" / TODAY / "Show"
    assert [each.name for each in day.iterdir()] == ["e.mkv"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", ["link", "fsync", "replace"])
async def test_dying_in_the_middle_of_a_switch_loses_neither(
    root: Path, way: PlaceMethod, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each call that changes a name, in turn: one of the two is in the place, the old one
    is somewhere, and the next try finishes."""
    old = await placed_old(root, way)
    whole: Any = getattr(os, call)
    for dies_at in range(1, 5):
        seen: list[int] = []

        def fatal(
            *given: object, _at: int = dies_at, _seen: list[int] = seen, **named: object
        ) -> Any:
            _seen.append(1)
            if len(_seen) == _at:
                raise KeyboardInterrupt
            return whole(*given, **named)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, fatal)
            with suppress(KeyboardInterrupt):
                disk(root, way)._switch("new.mkv", old, TODAY, keep=False)
        assert (root / "library" / "Show" / "e.mkv").read_bytes() in (BODY, NEW)
    await disk(root, way).switch("new.mkv", old, today=TODAY)
    everything = [p.read_bytes() for p in (root / "library").rglob("*.mkv") if p.is_file()]
    assert sorted(everything) == sorted([BODY, NEW])


async def test_what_somebody_put_in_the_place_of_ours_is_not_switched(root: Path) -> None:
    old = await placed_old(root, "hardlink")
    place = root / "library" / "Show" / "e.mkv"
    place.unlink()
    place.write_bytes(b"mine")
    with pytest.raises(PlaceTaken):
        await disk(root).switch("new.mkv", old, today=TODAY)
    assert place.read_bytes() == b"mine"


async def test_a_file_of_the_same_length_is_told_from_ours_by_its_mark(root: Path) -> None:
    old = await placed_old(root, "copy")
    place = root / "library" / "Show" / "e.mkv"
    other = place.with_name("other")
    other.write_bytes(BODY[1:] + b"x")
    other.replace(place)
    with pytest.raises(LibraryTrouble, match="not the file"):
        await disk(root).recycle(old, today=TODAY)
    assert place.read_bytes() == BODY[1:] + b"x"


async def test_what_is_somebody_elses_is_not_moved_away(root: Path) -> None:
    (root / "downloads" / "a.mkv").write_bytes(BODY)
    await disk(root, "move").place("a.mkv", "b.mkv", keep=True)
    assert (root / "downloads" / "a.mkv").read_bytes() == BODY


async def test_recycling_again_after_a_crash_finds_where_it_is(root: Path) -> None:
    old = await placed_old(root, "hardlink")
    kept = await disk(root).recycle(old, today=TODAY)
    assert await disk(root).recycle(old, today=TODAY) == kept


async def test_a_small_file_is_written_once_and_over_nobody(root: Path) -> None:
    mark = await disk(root).write("Show/e.nfo", b"ours")
    assert await disk(root).write("Show/e.nfo", b"ours") == mark
    with pytest.raises(PlaceTaken):
        await disk(root).write("Show/e.nfo", b"other")
    ours = PlacedFile("Show/e.nfo", 4, mark)
    await disk(root).write("Show/e.nfo", b"other", over=[ours])
    assert (root / "library" / "Show" / "e.nfo").read_bytes() == b"other"
    with pytest.raises(PlaceTaken):
        await disk(root).write("Show/e.nfo", b"third", over=[ours])
