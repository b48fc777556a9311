"""Parse a torrent file before any client gets it: its hash, its files, and their paths."""

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
    """A file of a torrent. `path` is its place below the save path, with its parts checked.
    `is_padding`: zeros that fill up a piece, and nothing for people."""

    path: tuple[str, ...]
    length: int
    is_padding: bool = False


@dataclass(frozen=True, slots=True)
class Torrent:
    """A checked torrent. `infohash` is its name in clients and feeds: 40 hex digits of version 1,
    or the first 40 of version 2 where there is no version 1. `pieces` are SHA-1 hashes, and empty
    without version 1."""

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
    """Parse and check a torrent. BadTorrent or BadBencoding says what is wrong. No path of the
    result can leave its folder."""
    if len(body) > most_bytes:
        raise BadTorrent(f"A torrent may have {most_bytes} bytes; this one has {len(body)}.")
    if body[:1] != b"d":
        raise BadTorrent("This is not a torrent: it does not begin as one.")
    decoded = decode_bencoding(body)
    top: Any = decoded.value
    info = top.get(b"info")
    if not isinstance(info, dict):
        raise BadTorrent("This is not a torrent: it has no info.")
    start, end = decoded.spans[b"info"]
    info_bytes = body[start:end]
    version_2 = info.get(b"meta version") == 2
    piece_length = _piece_length(info)
    pieces = _pieces(info, needed=not version_2)
    name = _checked_part(info.get(b"name.utf-8", info.get(b"name")), "name")
    files, is_single = _files(info, name, most_files)
    _check_sizes(files, pieces, piece_length)
    v2 = sha256(info_bytes).hexdigest() if version_2 else None
    return Torrent(
        infohash=sha1(info_bytes, usedforsecurity=False).hexdigest()
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
        return (TorrentFile((name,), _checked_length(info[b"length"])),), True
    if isinstance(info.get(b"files"), list):
        files = _files_of_version_1(info[b"files"], name, most)
    elif isinstance(info.get(b"file tree"), dict):
        files = list(_files_of_version_2(info[b"file tree"], (), most))
        if len(files) == 1 and files[0].path == (name,):
            return tuple(files), True
        files = [TorrentFile((name, *file.path), file.length) for file in files]
    else:
        raise BadTorrent("The torrent lists no files.")
    _check_paths_differ(files)
    return tuple(files), False


def _files_of_version_1(listed: list[Any], name: str, most: int) -> list[TorrentFile]:
    if not 0 < len(listed) <= most:
        raise BadTorrent(f"A torrent may have 1 to {most} files; this one has {len(listed)}.")
    files = []
    for file in listed:
        if not isinstance(file, dict):
            raise BadTorrent("The torrent's list of files is damaged.")
        path = file.get(b"path.utf-8", file.get(b"path"))
        if not isinstance(path, list) or not path:
            raise BadTorrent("A file of the torrent has no path.")
        parts = tuple(_checked_part(part, "path") for part in path)
        attributes = file.get(b"attr", b"")
        is_padding = isinstance(attributes, bytes) and b"p" in attributes
        files.append(TorrentFile((name, *parts), _checked_length(file.get(b"length")), is_padding))
    return files


def _files_of_version_2(
    tree: dict[bytes, Any], above: tuple[str, ...], most: int
) -> Iterator[TorrentFile]:
    count = 0
    for key, below in tree.items():
        if not isinstance(below, dict):
            raise BadTorrent("The torrent's tree of files is damaged.")
        parts = (*above, _checked_part(key, "path"))
        leaf = below.get(b"")
        files: Sequence[TorrentFile]
        if isinstance(leaf, dict):
            files = [TorrentFile(parts, _checked_length(leaf.get(b"length")))]
        else:
            files = list(_files_of_version_2(below, parts, most))
        count += len(files)
        if count > most:
            raise BadTorrent(f"A torrent may have {most} files.")
        yield from files


def _checked_part(part_bytes: Any, noun: str) -> str:
    """One part of a path. Clients would repair some bad ones, and then files would be elsewhere."""
    if not isinstance(part_bytes, bytes):
        raise BadTorrent(f"The torrent has no {noun}.")
    try:
        part = part_bytes.decode("utf-8")
    except UnicodeDecodeError as trouble:
        raise BadTorrent(f"A {noun} in the torrent is not UTF-8.") from trouble
    if part in ("", ".", "..") or len(part_bytes) > _LONGEST_NAME:
        raise BadTorrent(f"A {noun} in the torrent cannot be: {part[:100]!r}.")
    if any(letter in "/\\" or ord(letter) < 32 or ord(letter) == 127 for letter in part):
        raise BadTorrent(f"A {noun} in the torrent would leave its folder: {part[:100]!r}.")
    return part


def _checked_length(length: Any) -> int:
    if not isinstance(length, int) or not 0 <= length <= _LARGEST:
        raise BadTorrent("A file of the torrent has a length that cannot be.")
    return length


def _check_paths_differ(files: Sequence[TorrentFile]) -> None:
    """BadTorrent when two files have one path, or one file has the path of another's folder, also
    where A is the same as a."""
    paths = {tuple(part.casefold() for part in file.path) for file in files if not file.is_padding}
    if len(paths) != sum(not file.is_padding for file in files):
        raise BadTorrent("Two files of the torrent have the same place.")
    if any(path[:cut] in paths for path in paths for cut in range(1, len(path))):
        raise BadTorrent("A file of the torrent stands where another has its folder.")


def _check_sizes(files: Sequence[TorrentFile], pieces: Sequence[bytes], piece_length: int) -> None:
    total = sum(file.length for file in files)
    if total == 0:
        raise BadTorrent("The torrent has nothing in it.")
    if pieces and len(pieces) != -(-total // piece_length):
        raise BadTorrent("The torrent's files and its hashes do not fit together.")


def _trackers(top: dict[bytes, Any]) -> Iterator[str]:
    listed = top.get(b"announce-list")
    tiers = listed if isinstance(listed, list) else []
    urls = [
        top.get(b"announce"),
        *(url for tier in tiers if isinstance(tier, list) for url in tier),
    ]
    for url in dict.fromkeys(url for url in urls if isinstance(url, bytes)):
        yield url.decode("utf-8", "replace")
