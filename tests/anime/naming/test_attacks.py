"""Titles, groups and file names that want to be paths, commands or other people's files."""

import time
from pathlib import Path

import pytest

from headwater.anime.decide.filter import (
    RULE_NAMES,
    FilterRules,
    compile_pattern_lists,
    filter_offers,
)
from headwater.anime.downloads.disk_library import DiskMediaLibrary, LibraryFolders
from headwater.anime.downloads.ports import LibraryTrouble, PlaceTaken
from headwater.anime.naming.library_path import Naming, build_naming, library_path_of
from headwater.anime.naming.template import BadTemplate
from headwater.anime.release import ReleaseKind
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import FILM
from headwater.anime.title import read_title
from headwater.anime.torrents.magnet import parse_magnet
from headwater.anime.torrents.torrent_file import BadTorrent, parse_torrent
from headwater.anime.user_patterns import BadPattern, compile_pattern
from headwater.core.errors import BadInput
from tests.support.bencoding import bencoded
from tests.support.releases import offer, release, slot

HOSTILE = [
    "../../etc/cron.d/x",
    "/absolute",
    "..\\..\\windows",
    "C:\\x",
    "\\\\host\\share",
    "~root",
    "%2e%2e/%2e%2e",
    "nul\x00byte",
    "new\nline",
    "Fate/Zero",
    ".",
    "..",
    "   ",
    "ends with a dot.",
    "CON",
    "NUL.mkv",
    "$(id)",
    "`id`",
    "%F",
    "--flag",
    "-rf",
    "; rm -rf /",
    "|cat",
    "\u202egpj.exe",
    "\ud83c\udf5d" * 80,
    "\N{FACE WITH TEARS OF JOY}" * 80,
    "e\u0301" * 200,
    "字" * 300,
    "{title}",
    "<b>",
]


@pytest.fixture
def folders(tmp_path: Path) -> LibraryFolders:
    for name in ("downloads", "library", "beside"):
        (tmp_path / name).mkdir()
    return LibraryFolders(tmp_path / "downloads", tmp_path / "library", None)


def everything_in(folder: Path) -> set[str]:
    return {place.relative_to(folder).as_posix() for place in folder.rglob("*") if place.is_file()}


@pytest.mark.parametrize("number", range(len(HOSTILE)))
@pytest.mark.parametrize("where", ["title", "group", "file", "film"])
async def test_whatever_it_is_called_a_file_comes_to_be_inside_the_library(
    folders: LibraryFolders, tmp_path: Path, number: int, where: str
) -> None:
    word = HOSTILE[number]
    title = word if where in ("title", "film") and word.strip() else "Show"
    kind, slots = (ReleaseKind.MOVIE, (FILM,)) if where == "film" else (None, (slot(3),))
    show = Show(title, 2025, main_kind=kind)
    name = f"{word}.mkv" if where == "file" else "x.mkv"
    place = library_path_of(show, slots, release(word if where == "group" else "Group"), name)
    (folders.downloads / "it").write_bytes(b"video")
    await DiskMediaLibrary(folders).place("it", place.path)
    (made,) = everything_in(folders.library)
    assert (folders.library / made).read_bytes() == b"video"
    assert made.endswith(".mkv")
    assert all(len(part.encode()) <= 255 and part[0] not in ".-~ " for part in made.split("/"))
    assert everything_in(tmp_path) == {"downloads/it", f"library/{made}"}


async def test_a_link_in_the_library_leads_nobody_out_of_it(
    folders: LibraryFolders, tmp_path: Path
) -> None:
    (folders.library / "Show (2025)").symlink_to(tmp_path / "beside")
    (folders.downloads / "it").write_bytes(b"video")
    with pytest.raises(LibraryTrouble, match="leads out"):
        await DiskMediaLibrary(folders).place("it", "Show (2025)/Season 01/Show - S01E01.mkv")
    assert everything_in(tmp_path / "beside") == set()


async def test_a_link_in_the_downloads_is_no_file(folders: LibraryFolders, tmp_path: Path) -> None:
    """A client that was taken over could put one there, to have secrets shown in the library."""
    secret = tmp_path / "beside" / "secret"
    secret.write_text("key")
    (folders.downloads / "it.mkv").symlink_to(secret)
    with pytest.raises(LibraryTrouble, match="no file"):
        await DiskMediaLibrary(folders).place("it.mkv", "Show/it.mkv")
    assert everything_in(folders.library) == set()


@pytest.mark.parametrize("path", ["../beside/x", "/etc/passwd", "a/../../x", "a//../../x", ""])
async def test_no_path_of_a_clients_leads_out_of_the_downloads(
    folders: LibraryFolders, path: str
) -> None:
    with pytest.raises(LibraryTrouble):
        await DiskMediaLibrary(folders).place(path, "Show/it.mkv")
    with pytest.raises(LibraryTrouble):
        await DiskMediaLibrary(folders).discard([path])


async def test_a_file_of_somebody_elses_is_never_written_over(folders: LibraryFolders) -> None:
    (folders.library / "Show").mkdir()
    (folders.library / "Show" / "it.mkv").write_bytes(b"a person's own")
    (folders.downloads / "it").write_bytes(b"video")
    with pytest.raises(PlaceTaken):
        await DiskMediaLibrary(folders).place("it", "Show/it.mkv")
    assert (folders.library / "Show" / "it.mkv").read_bytes() == b"a person's own"


@pytest.mark.parametrize(
    "template",
    [
        "{title}/../../{season}{episode}",
        "../{title} {season}{episode}",
        "/{title}/{season}{episode}",
        "{title}\\..\\{season}{episode}",
        "{title.__class__}{season}{episode}",
        "{title!r}{season}{episode}",
        "{season:99999999}{episode}",
        "{title}/\x00{season}{episode}",
    ],
)
def test_a_template_that_leads_out_of_the_library_is_refused_when_it_is_saved(
    template: str,
) -> None:
    with pytest.raises(BadTemplate):
        build_naming(episode=template)


@pytest.mark.parametrize("folder", ["..", "a/../..", "/abs", "~", "a\\b", "C:x"])
def test_a_folder_that_leads_out_of_the_library_is_refused_when_it_is_used(folder: str) -> None:
    with pytest.raises(BadInput):
        library_path_of(
            Show("Show"), (slot(1),), release("Group"), "x.mkv", naming=Naming(folder=folder)
        )


INFO = {"length": 1, "name": "x", "piece length": 16384, "pieces": b"\x00" * 20}


@pytest.mark.parametrize(
    "body",
    [
        b"l" * 100_000,
        b"d4:info" + b"l" * 100_000,
        b"i" + b"9" * 1_000_000 + b"e",
        b"99999999999:",
        b"d4:infod6:lengthi-1eee",
        b"<!doctype html><title>Log in</title>",
        b"MZ\x90\x00" + b"\x00" * 5_000,
        b"\x7fELF" + b"\x00" * 5_000,
        b"",
        b"de",
        b"d4:info" + bencoded(INFO) + b"e" + b"trailing",
        b"d4:info" + bencoded(INFO) + b"4:info" + bencoded(INFO) + b"e",
    ],
    ids=range(12),
)
def test_what_is_no_torrent_is_refused_at_once(body: bytes) -> None:
    began = time.process_time()
    with pytest.raises(BadInput):
        parse_torrent(body)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "files",
    [[[".."]], [["a", "..", "..", "b"]], [["/etc/passwd"]], [["a/b"]], [["nul\x00"]], [[""]], [[]]],
    ids=repr,
)
def test_a_torrent_that_leaves_its_folder_reaches_no_client(files: list[list[str]]) -> None:
    listed = [{"length": 1, "path": path} for path in files]
    info = {"files": listed, "name": "x", "piece length": 16384, "pieces": b"\x00" * 20}
    with pytest.raises(BadTorrent):
        parse_torrent(b"d4:info" + bencoded(info) + b"e")


def test_only_hash_name_and_public_trackers_of_a_magnet_link_are_kept() -> None:
    magnet = parse_magnet(
        f"magnet:?xt=urn:btih:{'a' * 40}&dn=<script>&xs=http://10.0.0.1/x&as=http://127.0.0.1/"
        "&ws=http://169.254.169.254/&tr=http://192.168.0.1/announce&tr=udp://tracker.example:80"
    )
    assert magnet is not None
    assert magnet.trackers == ("udp://tracker.example:80",)
    for word in ("xs=", "as=", "ws=", "192.168", "169.254"):
        assert word not in magnet.uri


@pytest.mark.parametrize(
    "title",
    ["[" * 10_000, "[[[[]]]]" * 1_250, "9" * 10_000, "01-" * 3_400, "S1E" * 3_400, "第" * 10_000],
    ids=["open", "nested", "digits", "ranges", "seasons", "chinese"],
)
def test_a_title_of_ten_thousand_letters_is_read_at_once(title: str) -> None:
    read_title("warm [01]")
    quickest = min(_seconds(title) for _ in range(3))
    assert quickest < 0.05


def _seconds(title: str) -> float:
    began = time.process_time()
    read_title(title)
    return time.process_time() - began


def test_a_pattern_on_forty_thousand_digits_takes_no_time() -> None:
    pattern = compile_pattern(r"\d+-\d+", "here")
    pattern.found_in("1-1")
    began = time.process_time()
    assert pattern.found_in("1" * 40_000) is None
    assert time.process_time() - began < 0.005


@pytest.mark.parametrize("text", ["(", "(?<=a)b", r"(a)\1", "(?=x)", "[z-a]", "a{1001}", "\\"])
def test_a_pattern_that_cannot_be_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(BadPattern) as told:
        compile_pattern(text, "the include list")
    assert repr(text)[1:-1] in str(told.value)


@pytest.mark.parametrize("text", ["(?i)medalist", r"\p{Han}+", r"\pL", "金牌得主"])
def test_flags_and_classes_of_letters_are_patterns(text: str) -> None:
    assert compile_pattern(text, "here").found_in("MEDALIST 金牌得主") is not None


def test_a_filter_of_everything_or_nothing_is_seen_in_its_counters() -> None:
    offers = [offer(str(number), release("Group", episode=number)) for number in range(5)]
    nothing = filter_offers(
        offers, FilterRules(here=compile_pattern_lists([], ["."], "the tracking"))
    )
    everything = filter_offers(
        offers, FilterRules(here=compile_pattern_lists(["."], [], "the tracking"))
    )
    assert (len(nothing.kept), nothing.counts["excluded_here"]) == (0, 5)
    assert (len(everything.kept), sum(everything.counts.values())) == (5, 0)
    assert set(everything.counts) == set(RULE_NAMES)


def test_nothing_of_a_release_ever_reaches_a_shell() -> None:
    """There is no command, no hook and no shell in all of it."""
    source = Path(read_title.__code__.co_filename).parents[2]
    rooms = [*source.glob("anime/**/*.py"), source / "wiring" / "downloads.py"]
    assert len(rooms) > 50
    words = ("subprocess", "os.system", "os.popen", "os.exec", "os.spawn", "shell=")
    found = [(room.name, word) for room in rooms for word in words if word in room.read_text()]
    assert found == []
