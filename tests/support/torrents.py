"""Torrents made for tests."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha1
from typing import Any

from tests.support.bencoding import bencoded

PIECE = 16 * 1024


@dataclass(frozen=True, slots=True)
class Made:
    """A torrent and what its files hold."""

    torrent: bytes
    infohash: str
    name: str
    files: Mapping[str, bytes]


def made(name: str, files: Mapping[str, bytes] | bytes, *, piece: int = PIECE) -> Made:
    """One file of that name, or a folder of files."""
    info: dict[str, Any]
    if isinstance(files, bytes):
        body, info = files, {"length": len(files)}
        kept = {name: files}
    else:
        body = b"".join(files.values())
        info = {"files": [{"length": len(v), "path": k.split("/")} for k, v in files.items()]}
        kept = {f"{name}/{k}": v for k, v in files.items()}
    pieces = b"".join(
        sha1(body[at : at + piece], usedforsecurity=False).digest()
        for at in range(0, len(body), piece)
    )
    whole = info | {"name": name, "piece length": piece, "pieces": pieces}
    written = bencoded(whole)
    infohash = sha1(written, usedforsecurity=False).hexdigest()
    return Made(b"d4:info" + written + b"e", infohash, name, kept)
