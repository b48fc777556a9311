"""A torrent is read with a bound on everything, and cannot name a place outside its folder."""

from hashlib import sha1, sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.anime.torrents.bencode import BadBencoding, decode_bencoding
from headwater.anime.torrents.torrent_file import BadTorrent, parse_torrent
from headwater.core.errors import BadInput
from tests.support.bencoding import bencoded

KIB = 1024
PIECE = 16 * KIB


def single(**info: Any) -> dict[str, Any]:
    usual = {"length": 20_000, "name": "a.mkv", "piece length": PIECE, "pieces": b"x" * 40}
    return {"announce": "http://tracker.example/a", "info": usual | info}


def several(files: list[Any], total: int = 20_000, **info: Any) -> dict[str, Any]:
    count = -(-total // PIECE)
    usual = {"files": files, "name": "Show", "piece length": PIECE, "pieces": b"x" * 20 * count}
    return {"info": usual | info}


def test_a_single_file_is_read() -> None:
    body = bencoded(single())
    torrent = parse_torrent(body)
    info = bencoded(single()["info"])
    assert torrent.infohash == sha1(info, usedforsecurity=False).hexdigest()
    assert (torrent.name, torrent.size, torrent.is_single) == ("a.mkv", 20_000, True)
    assert [file.path for file in torrent.files] == [("a.mkv",)]
    assert torrent.trackers == ("http://tracker.example/a",)
    assert torrent.pieces == (b"x" * 20, b"x" * 20)


def test_several_files_stand_in_the_folder_of_the_torrent() -> None:
    files = [
        {"length": 19_000, "path": ["Season 1", "01.mkv"]},
        {"length": 1_000, "path": ["02.ass"]},
    ]
    torrent = parse_torrent(bencoded(several(files)))
    assert [file.path for file in torrent.files] == [
        ("Show", "Season 1", "01.mkv"),
        ("Show", "02.ass"),
    ]
    assert not torrent.is_single


def test_padding_is_no_file_for_people() -> None:
    files = [
        {"length": 10_000, "path": ["1.mkv"]},
        {"attr": "p", "length": 6_384, "path": [".pad", "6384"]},
        {"length": 3_616, "path": ["2.mkv"]},
    ]
    torrent = parse_torrent(bencoded(several(files)))
    assert [file.is_padding for file in torrent.files] == [False, True, False]
    assert torrent.size == 13_616


def test_a_torrent_of_version_2_alone_is_known_by_the_beginning_of_its_hash() -> None:
    info = {
        "file tree": {"a.mkv": {"": {"length": 20_000, "pieces root": b"r" * 32}}},
        "meta version": 2,
        "name": "a.mkv",
        "piece length": PIECE,
    }
    torrent = parse_torrent(bencoded({"info": info}))
    whole = sha256(bencoded(info)).hexdigest()
    assert (torrent.infohash, torrent.infohash_v2) == (whole[:40], whole)
    assert torrent.is_single


def test_the_hash_is_of_the_bytes_as_they_were_written() -> None:
    """Keys in another order: bencoding them again would make another hash."""
    info = b"d4:name5:a.mkv6:lengthi20000e12:piece lengthi16384e6:pieces40:" + b"x" * 40 + b"e"
    torrent = parse_torrent(b"d4:info" + info + b"e")
    assert torrent.infohash == sha1(info, usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(
    "path",
    [
        [".."],
        ["a", "..", "..", "b"],
        ["/etc/passwd"],
        ["a/b"],
        ["a\\b"],
        [""],
        ["."],
        ["a\x00b"],
        ["a\nb"],
        ["x" * 256],
        [b"\xff\xfe"],
        [],
        "a",
        [1],
    ],
    ids=repr,
)
def test_a_path_that_leaves_its_folder_is_refused(path: Any) -> None:
    with pytest.raises(BadTorrent):
        parse_torrent(bencoded(several([{"length": 20_000, "path": path}])))


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "C:\\x", "a\x00", "x" * 256])
def test_a_name_that_leaves_its_folder_is_refused(name: str) -> None:
    with pytest.raises(BadTorrent):
        parse_torrent(bencoded(single(name=name)))


@pytest.mark.parametrize(
    "info",
    [
        {"length": -1},
        {"length": 2**60},
        {"length": 0, "pieces": b""},
        {"length": b"20000"},
        {"piece length": 0},
        {"piece length": 3},
        {"piece length": 2**40},
        {"piece length": PIECE + 1},
        {"pieces": b"x" * 39},
        {"pieces": b""},
        {"pieces": b"x" * 60},
        {"pieces": 1},
        {"name": 1},
    ],
    ids=str,
)
def test_figures_that_cannot_be_are_refused(info: dict[str, Any]) -> None:
    with pytest.raises(BadTorrent):
        parse_torrent(bencoded(single(**info)))


def test_two_files_in_one_place_are_refused() -> None:
    files = [{"length": 10_000, "path": ["A.mkv"]}, {"length": 10_000, "path": ["a.MKV"]}]
    with pytest.raises(BadTorrent, match="same place"):
        parse_torrent(bencoded(several(files)))


def test_a_file_where_another_has_its_folder_is_refused() -> None:
    files = [{"length": 10_000, "path": ["A"]}, {"length": 10_000, "path": ["a", "b.mkv"]}]
    with pytest.raises(BadTorrent, match="folder"):
        parse_torrent(bencoded(several(files)))


def test_too_many_files_are_refused() -> None:
    files = [{"length": 10_000, "path": [f"{n}"]} for n in range(4)]
    with pytest.raises(BadTorrent, match="1 to 3 files"):
        parse_torrent(bencoded(several(files, 40_000)), most_files=3)


def test_too_many_bytes_are_refused_before_they_are_read() -> None:
    with pytest.raises(BadTorrent, match="may have 10485760 bytes"):
        parse_torrent(b"d" + b"l" * 10_485_760)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"MZ\x90",
        b"de",
        b"d4:infoi1ee",
        b"d4:infod",
        b"d4:info99999999999:xe",
        b"d4:infoi" + b"9" * 1_000_000 + b"ee",
        b"d4:info" + b"l" * 100_000,
        b"d4:info" + b"d1:a" * 100_000,
        b"d1:ai1e1:ai2ee",
        b"d1:ai-0ee",
        b"d1:ai01ee",
        b"d1:a01:xe",
        b"d1:ai+1ee",
        b"d1:a-1:xe",
        b"di1ei1ee",
        b"d4:infodee",
    ],
    ids=lambda body: repr(body[:20]),
)
def test_what_is_no_torrent_is_refused(body: bytes) -> None:
    with pytest.raises(BadInput):
        parse_torrent(body)


def test_something_after_the_end_is_refused() -> None:
    with pytest.raises(BadBencoding) as refused:
        parse_torrent(bencoded(single()) + b"x")
    assert refused.value.facts["at"] == len(bencoded(single()))


def test_the_number_of_values_is_bounded() -> None:
    with pytest.raises(BadBencoding, match="too many"):
        decode_bencoding(b"l" + b"i1e" * 10 + b"e", most_values=10)
    assert decode_bencoding(b"l" + b"i1e" * 9 + b"e", most_values=10).value == [1] * 9


VALUES = st.recursive(
    st.integers(-(10**18), 10**18) | st.binary(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.binary(max_size=5), inner),
    max_leaves=20,
)


@given(VALUES)
def test_whatever_is_written_is_read_again(value: Any) -> None:
    assert decode_bencoding(bencoded(value)).value == value


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    try:
        parse_torrent(b"d4:info" + body)
    except BadInput:
        return


@given(VALUES)
def test_any_info_is_read_or_refused(info: Any) -> None:
    try:
        parse_torrent(bencoded({"info": info}))
    except BadInput:
        return
