"""A torrent, looked through before anybody else gets it: its hash, its files, and their places."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha1, sha256
from typing import Any

from headwater.anime.torrents.bencode import decode_bencoding
from headwater.core.errors import BadInput

MOST_FILES = 10_000
MOST_BYTES = 10 * 1024 * 1024
_LEAST_PIECE, _MOST_PIECE = 16 * 1024, 128 * 1024 * 1024
_LARGEST = 2**50
_SHA1 = 20
_LONGEST_NAME = 255


class BadTorrent(BadInput):
    code = "bad_torrent"


@dataclass(frozen=True, slots=True)
class TorrentFile:
    """`path` is where it will be below the save path, its parts checked. `is_padding`: zeros that
    fill up a piece, and nothing for people."""

    path: tuple[str, ...]
    length: int
    is_padding: bool = False


@dataclass(frozen=True, slots=True)
class Torrent:
    """`infohash` is what clients and feeds call it: 40 hex digits, of version 1, or the first 40
    of version 2's where there is no version 1; then `pieces`, SHA-1 hashes, are empty."""

    infohash: str
    infohash_v2: str | None
    name: str
    files: tuple[TorrentFile, ...]
    piece_length: int
    pieces: tuple[bytes, ...]
    is_single: bool
    trackers: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return sum(file.length for file in self.files if not file.is_padding)


def parse_torrent(
    body: bytes, *, most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES
) -> Torrent:
    """BadTorrent or BadBencoding says what is wrong; what comes back cannot leave its folder."""
    if len(body) > most_bytes:
        raise BadTorrent(f"A torrent may have {most_bytes} bytes; this one has {len(body)}.")
    if body[:1] != b"d":
        raise BadTorrent("This is not a torrent: it does not begin as one.")
    whole = decode_bencoding(body)
    top: Any = whole.value
    info = top.get(b"info")
    if not isinstance(info, dict):
        raise BadTorrent("This is not a torrent: it has no info.")
    began, ended = whole.spans[b"info"]
    written = body[began:ended]
    version_2 = info.get(b"meta version") == 2
    piece_length = _piece_length(info)
    pieces = _pieces(info, needed=not version_2)
    name = _part(info.get(b"name.utf-8", info.get(b"name")), "name")
    files, is_single = _files(info, name, most_files)
    _refuse_odd_sizes(files, pieces, piece_length)
    v2 = sha256(written).hexdigest() if version_2 else None
    return Torrent(
        infohash=sha1(written, usedforsecurity=False).hexdigest()
        if pieces or v2 is None
        else v2[:40],
        infohash_v2=v2,
        name=name,
        files=files,
        piece_length=piece_length,
        pieces=pieces,
        is_single=is_single,
        trackers=tuple(_trackers(top)),
    )


def _piece_length(info: dict[bytes, Any]) -> int:
    length = info.get(b"piece length")
    if not isinstance(length, int) or not _LEAST_PIECE <= length <= _MOST_PIECE:
        raise BadTorrent("The torrent's pieces have a length that cannot be.")
    if length & (length - 1):
        raise BadTorrent("The torrent's pieces have a length that is no power of two.")
    return length


def _pieces(info: dict[bytes, Any], *, needed: bool) -> tuple[bytes, ...]:
    pieces = info.get(b"pieces", b"")
    if not isinstance(pieces, bytes) or len(pieces) % _SHA1 or (needed and not pieces):
        raise BadTorrent("The torrent's hashes of pieces are damaged.")
    return tuple(pieces[at : at + _SHA1] for at in range(0, len(pieces), _SHA1))


def _files(info: dict[bytes, Any], name: str, most: int) -> tuple[tuple[TorrentFile, ...], bool]:
    """All files, and whether there is just one without a folder."""
    if b"length" in info:
        return (TorrentFile((name,), _length(info[b"length"])),), True
    if isinstance(info.get(b"files"), list):
        found = _of_version_1(info[b"files"], name, most)
    elif isinstance(info.get(b"file tree"), dict):
        found = list(_of_version_2(info[b"file tree"], (), most))
        if len(found) == 1 and found[0].path == (name,):
            return tuple(found), True
        found = [TorrentFile((name, *file.path), file.length) for file in found]
    else:
        raise BadTorrent("The torrent lists no files.")
    _refuse_twins(found)
    return tuple(found), False


def _of_version_1(listed: list[Any], name: str, most: int) -> list[TorrentFile]:
    if not 0 < len(listed) <= most:
        raise BadTorrent(f"A torrent may have 1 to {most} files; this one has {len(listed)}.")
    found = []
    for file in listed:
        if not isinstance(file, dict):
            raise BadTorrent("The torrent's list of files is damaged.")
        path = file.get(b"path.utf-8", file.get(b"path"))
        if not isinstance(path, list) or not path:
            raise BadTorrent("A file of the torrent has no path.")
        parts = tuple(_part(part, "path") for part in path)
        attributes = file.get(b"attr", b"")
        padding = isinstance(attributes, bytes) and b"p" in attributes
        found.append(TorrentFile((name, *parts), _length(file.get(b"length")), padding))
    return found


def _of_version_2(
    tree: dict[bytes, Any], above: tuple[str, ...], most: int
) -> Iterator[TorrentFile]:
    count = 0
    for key, below in tree.items():
        if not isinstance(below, dict):
            raise BadTorrent("The torrent's tree of files is damaged.")
        parts = (*above, _part(key, "path"))
        leaf = below.get(b"")
        found: Sequence[TorrentFile]
        if isinstance(leaf, dict):
            found = [TorrentFile(parts, _length(leaf.get(b"length")))]
        else:
            found = list(_of_version_2(below, parts, most))
        count += len(found)
        if count > most:
            raise BadTorrent(f"A torrent may have {most} files.")
        yield from found


def _part(given: Any, what: str) -> str:
    """One step of a path. Clients would repair some of these; then the files were elsewhere."""
    if not isinstance(given, bytes):
        raise BadTorrent(f"The torrent has no {what}.")
    try:
        part = given.decode("utf-8")
    except UnicodeDecodeError as trouble:
        raise BadTorrent(f"A {what} in the torrent is not UTF-8.") from trouble
    if part in ("", ".", "..") or len(given) > _LONGEST_NAME:
        raise BadTorrent(f"A {what} in the torrent cannot be: {part[:100]!r}.")
    if any(letter in "/\\" or ord(letter) < 32 or ord(letter) == 127 for letter in part):
        raise BadTorrent(f"A {what} in the torrent would leave its folder: {part[:100]!r}.")
    return part


def _length(given: Any) -> int:
    if not isinstance(given, int) or not 0 <= given <= _LARGEST:
        raise BadTorrent("A file of the torrent has a length that cannot be.")
    return given


def _refuse_twins(files: Sequence[TorrentFile]) -> None:
    """Two files in one place, or a file where another has its folder; also where A is a."""
    places = {tuple(part.casefold() for part in file.path) for file in files if not file.is_padding}
    if len(places) != sum(not file.is_padding for file in files):
        raise BadTorrent("Two files of the torrent have the same place.")
    if any(place[:cut] in places for place in places for cut in range(1, len(place))):
        raise BadTorrent("A file of the torrent stands where another has its folder.")


def _refuse_odd_sizes(
    files: Sequence[TorrentFile], pieces: Sequence[bytes], piece_length: int
) -> None:
    total = sum(file.length for file in files)
    if total == 0:
        raise BadTorrent("The torrent has nothing in it.")
    if pieces and len(pieces) != -(-total // piece_length):
        raise BadTorrent("The torrent's files and its hashes do not fit together.")


def _trackers(top: dict[bytes, Any]) -> Iterator[str]:
    listed = top.get(b"announce-list")
    tiers = listed if isinstance(listed, list) else []
    each = [
        top.get(b"announce"),
        *(url for tier in tiers if isinstance(tier, list) for url in tier),
    ]
    for url in dict.fromkeys(url for url in each if isinstance(url, bytes)):
        yield url.decode("utf-8", "replace")
