"""What is no plain file, or not quite ours, is neither placed, nor switched, nor moved away."""

import errno
import os
from hashlib import sha1
from pathlib import Path

import pytest

from headwater.anime.downloads import file_moves
from headwater.anime.downloads.disk_library import first_bad_piece
from headwater.anime.downloads.ports import (
    LibraryTrouble,
    NoRoom,
    PlacedFile,
    PlaceTaken,
    SourceGone,
)
from headwater.anime.torrents.torrent_file import parse_torrent
from tests.support.library_folder import disk, folders_in
from tests.support.torrents import made

BODY = b"an episode" * 100
NEW = b"a better one" * 100
TODAY = "2026-02-03"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return folders_in(tmp_path)


async def test_a_download_that_is_a_link_is_not_there(root: Path) -> None:
    torrent = made("a.mkv", BODY)
    (root / "elsewhere").write_bytes(BODY)
    (root / "downloads" / "a.mkv").symlink_to(root / "elsewhere")
    lack = await disk(root).lacks("", parse_torrent(torrent.torrent), pieces=True)
    assert lack == "a.mkv is not there."


async def test_a_file_that_is_too_long_is_named(root: Path) -> None:
    torrent = made("a.mkv", BODY)
    (root / "downloads" / "a.mkv").write_bytes(BODY + b"!")
    lack = await disk(root).lacks("", parse_torrent(torrent.torrent), pieces=False)
    assert lack == "a.mkv has 1001 bytes, not 1000."


def test_padding_counts_as_the_zeros_it_stands_for(tmp_path: Path) -> None:
    """Two pieces of eight bytes: a file and its padding, and the file after it."""
    (tmp_path / "one").write_bytes(b"first")
    (tmp_path / "two").write_bytes(b"next")
    hashes = [sha1(each).digest() for each in (b"first\0\0\0", b"next")]  # noqa: S324
    places = [tmp_path / "one", None, tmp_path / "two"]
    assert first_bad_piece(places, [5, 3, 4], 8, hashes) is None
    (tmp_path / "two").write_bytes(b"nexT")
    assert first_bad_piece(places, [5, 3, 4], 8, hashes) == 1
    (tmp_path / "one").write_bytes(b"First")
    assert first_bad_piece(places, [5, 3, 4], 8, hashes) == 0


async def test_nothing_is_switched_for_what_is_gone_or_is_a_link(root: Path) -> None:
    (root / "downloads" / "old.mkv").write_bytes(BODY)
    mark = await disk(root).place("old.mkv", "e.mkv")
    old = PlacedFile("e.mkv", len(BODY), mark, "old.mkv")
    with pytest.raises(SourceGone):
        await disk(root).switch("new.mkv", old, today=TODAY)
    (root / "secret").write_bytes(b"key")
    (root / "downloads" / "new.mkv").symlink_to(root / "secret")
    with pytest.raises(LibraryTrouble, match="no file"):
        await disk(root).switch("new.mkv", old, today=TODAY)
    assert [each.name for each in (root / "library").iterdir()] == ["e.mkv"]
    assert (root / "library" / "e.mkv").read_bytes() == BODY


async def test_without_a_mark_the_same_bytes_tell_what_is_ours(root: Path) -> None:
    """Of one length, but not what was downloaded: somebody else's."""
    (root / "downloads" / "old.mkv").write_bytes(BODY)
    (root / "library" / "e.mkv").write_bytes(BODY[::-1])
    old = PlacedFile("e.mkv", len(BODY), "", "old.mkv")
    with pytest.raises(LibraryTrouble, match="not the file"):
        await disk(root).recycle(old, today=TODAY)
    (root / "library" / "e.mkv").write_bytes(BODY)
    assert await disk(root).recycle(old, today=TODAY) is not None


async def test_a_link_in_the_place_of_ours_is_not_ours(root: Path) -> None:
    (root / "elsewhere").write_bytes(BODY)
    (root / "library" / "e.mkv").symlink_to(root / "elsewhere")
    with pytest.raises(LibraryTrouble, match="not the file"):
        await disk(root).recycle(PlacedFile("e.mkv", len(BODY)), today=TODAY)
    assert (root / "library" / "e.mkv").is_symlink()


async def test_a_link_to_the_same_bytes_is_another_file(root: Path) -> None:
    (root / "downloads" / "a.mkv").write_bytes(BODY)
    (root / "library" / "b.mkv").symlink_to(root / "downloads" / "a.mkv")
    with pytest.raises(PlaceTaken):
        await disk(root).place("a.mkv", "b.mkv")
    (root / "note").write_bytes(b"ours")
    (root / "library" / "e.nfo").symlink_to(root / "note")
    with pytest.raises(PlaceTaken):
        await disk(root).write("e.nfo", b"ours")


async def test_a_file_that_came_while_ours_was_copied_is_not_overwritten(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = file_moves.copy_to_part

    def meanwhile(there: Path, part: Path) -> None:
        copy(there, part)
        (root / "library" / "b.mkv").write_bytes(b"mine")

    monkeypatch.setattr(file_moves, "copy_to_part", meanwhile)
    (root / "downloads" / "a.mkv").write_bytes(BODY)
    with pytest.raises(PlaceTaken):
        await disk(root, "copy").place("a.mkv", "b.mkv")
    assert {each.name: each.read_bytes() for each in (root / "library").iterdir()} == {
        "b.mkv": b"mine"
    }


async def test_ours_is_known_by_its_moment_where_numbers_of_files_change(root: Path) -> None:
    """As on a network disk that was mounted again; and by its number where moments are lost."""
    (root / "downloads" / "old.mkv").write_bytes(BODY)
    number, _, moment = (await disk(root, "copy").place("old.mkv", "e.mkv")).partition("-")
    there = root / "library" / "e.mkv"
    assert file_moves.is_placed_file(there, PlacedFile("e.mkv", len(BODY), f"0-{moment}"))
    assert file_moves.is_placed_file(there, PlacedFile("e.mkv", len(BODY), f"{number}-0"))
    assert not file_moves.is_placed_file(there, PlacedFile("e.mkv", len(BODY), "0-0"))


async def test_what_must_be_kept_is_not_moved_by_a_switch_either(root: Path) -> None:
    (root / "downloads" / "old.mkv").write_bytes(BODY)
    mark = await disk(root, "copy").place("old.mkv", "e.mkv")
    (root / "downloads" / "new.mkv").write_bytes(NEW)
    old = PlacedFile("e.mkv", len(BODY), mark, "old.mkv")
    await disk(root, "move").switch("new.mkv", old, today=TODAY, keep=True)
    assert (root / "downloads" / "new.mkv").read_bytes() == NEW
    assert (root / "library" / "e.mkv").read_bytes() == NEW


async def test_media_servers_are_told_to_pass_the_recycle_folder_by(root: Path) -> None:
    (root / "library" / "e.mkv").write_bytes(BODY)
    await disk(root).recycle(PlacedFile("e.mkv", len(BODY)), today=TODAY)
    recycle = root / "library" / ".recycle"
    assert sorted(each.name for each in recycle.iterdir()) == [".ignore", TODAY]


async def test_a_file_with_the_name_of_a_day_is_not_swept(root: Path) -> None:
    recycle = root / "library" / ".recycle"
    (recycle / "2026-01-02").mkdir(parents=True)
    (recycle / "2026-01-01").write_bytes(b"a note of somebody")
    assert await disk(root).sweep("2026-02-01") == 0
    assert [each.name for each in recycle.iterdir()] == ["2026-01-01"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
async def test_a_full_disk_and_a_full_quota_are_no_room(
    root: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(there: Path, part: Path) -> None:
        raise OSError(number, os.strerror(number), str(part))

    monkeypatch.setattr(file_moves, "copy_to_part", full)
    (root / "downloads" / "a.mkv").write_bytes(BODY)
    with pytest.raises(NoRoom):
        await disk(root, "copy").place("a.mkv", "b.mkv")
