"""Files of a torrent read from end to end, piece by piece, and compared with its hashes."""

from collections.abc import Iterator, Sequence
from hashlib import sha1
from pathlib import Path

_CHUNK = 1024 * 1024


def first_bad_piece(
    places: Sequence[Path | None],
    lengths: Sequence[int],
    piece_length: int,
    hashes: Sequence[bytes],
) -> int | None:
    """The number of the first piece that is not as it should be; None stands for padding, which is
    zeros."""
    number, digest, left = 0, sha1(usedforsecurity=False), piece_length
    for chunk in _bytes_of(places, lengths):
        rest = memoryview(chunk)
        while rest:
            some = rest[:left]
            digest.update(some)
            rest, left = rest[len(some) :], left - len(some)
            if left == 0:
                if digest.digest() != hashes[number]:
                    return number
                number, digest, left = number + 1, sha1(usedforsecurity=False), piece_length
    if left < piece_length and digest.digest() != hashes[number]:
        return number
    return None


def _bytes_of(places: Sequence[Path | None], lengths: Sequence[int]) -> Iterator[bytes]:
    for place, length in zip(places, lengths, strict=True):
        if place is None:
            for at in range(0, length, _CHUNK):
                yield bytes(min(_CHUNK, length - at))
            continue
        with place.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
