"""Documents out of documents: pieces moved, doubled, torn and swapped, structure in mind."""

import random
import re
from collections.abc import Callable, Sequence

from tests.fuzz.tokens import ATTRIBUTES, BYTES, CODECS, TAGS, VALUES

_PIECES = re.compile(rb"<[^<>]*>?|[^<>{}\[\],:\"]+|\"[^\"]*\"|[>{}\[\],:\"]")
_TAG = re.compile(rb"<(/?)([^\s<>/]+)([^<>]*)>")
LONGEST = 4_000
_COPIES = (*(1,) * 12, *(2,) * 6, 3, 40)
_DEPTHS = (*(1,) * 12, *(2,) * 6, 20, 110)
_DIGIT, _OF_REFERENCE = re.compile(rb"\d"), re.compile(rb"(?<=#)\d")
_SWELLS = 0.01
SWOLLEN = 4_400
"""More digits in a row than Python takes for a number."""

Pieces = list[bytes]


class Mutator:
    """Draws a document from a pool and changes it; the same luck makes the same documents."""

    def __init__(self, pool: Sequence[bytes], luck: random.Random) -> None:
        self._seeds: list[Pieces] = [pieces_of(document) for document in pool]
        self.pool = list(self._seeds)
        self._luck = luck
        self._by_pieces: list[Callable[[Pieces], None]] = [
            self._delete, self._double, self._swap, self._move, self._splice, self._splice,
            self._insert_tag, self._insert_tag, self._rename, self._insert_attribute,
            self._insert_value, self._insert_value, self._replace_value, self._unclose, self._wrap,
        ]  # fmt: skip
        self._by_bytes: list[Callable[[bytearray], None]] = [
            self._flip, self._cut_out, self._insert_bytes, self._overwrite, self._truncate,
        ]  # fmt: skip

    def remember(self, document: bytes) -> None:
        """One more to draw from; half of all draws are from the first ones."""
        self.pool.append(pieces_of(document))

    def next(self) -> bytes:
        luck = self._luck
        pool = self.pool if luck.random() < 0.5 else self._seeds
        pieces = list(luck.choice(pool))
        for _ in range(1 + int(luck.expovariate(0.5))):
            luck.choice(self._by_pieces)(pieces)
        document = b"".join(pieces)[:LONGEST]
        if luck.random() < _SWELLS:
            document = self._swollen(document)
        fate = luck.random()
        if fate < 0.25:
            raw = bytearray(document)
            for _ in range(luck.randint(1, 4)):
                luck.choice(self._by_bytes)(raw)
            return bytes(raw)
        if fate < 0.28:
            return self._recoded(document)
        return document

    def _at(self, pieces: Sequence[object]) -> int:
        return int(self._luck.random() * len(pieces))

    def _span(self, pieces: Pieces) -> slice:
        begin = self._at(pieces)
        return slice(begin, begin + 1 + int(self._luck.expovariate(0.3)))

    def _delete(self, pieces: Pieces) -> None:
        del pieces[self._span(pieces)]

    def _double(self, pieces: Pieces) -> None:
        span = self._span(pieces)
        copies = self._luck.choice(_COPIES)
        pieces[span.stop : span.stop] = pieces[span] * copies

    def _swap(self, pieces: Pieces) -> None:
        if pieces:
            one, other = self._at(pieces), self._at(pieces)
            pieces[one], pieces[other] = pieces[other], pieces[one]

    def _move(self, pieces: Pieces) -> None:
        span = self._span(pieces)
        held = pieces[span]
        del pieces[span]
        at = self._at(pieces)
        pieces[at:at] = held

    def _splice(self, pieces: Pieces) -> None:
        other = self._luck.choice(self.pool)
        at = self._at(pieces)
        pieces[at:at] = other[self._span(other)]

    def _insert_tag(self, pieces: Pieces) -> None:
        tag = self._luck.choice(TAGS)
        at = self._at(pieces)
        kind = self._luck.random()
        if kind < 0.5:
            inner = self._luck.choice(VALUES)
            pieces[at:at] = [f"<{tag}>".encode(), inner.encode(), f"</{tag}>".encode()]
        elif kind < 0.7:
            pieces.insert(at, f"<{tag} {self._luck.choice(ATTRIBUTES)}/>".encode())
        else:
            pieces.insert(at, (f"<{tag}>" if kind < 0.85 else f"</{tag}>").encode())

    def _rename(self, pieces: Pieces) -> None:
        """A tag takes another's name, its end tag too when it has one nearby."""
        at = self._at(pieces)
        match = _TAG.match(pieces[at]) if pieces else None
        if match is None:
            return
        name = self._luck.choice(TAGS).encode()
        pieces[at] = b"<" + match[1] + name + match[3] + b">"
        ending = b"</" + match[2] + b">"
        if ending in pieces[at : at + 12]:
            pieces[pieces.index(ending, at)] = b"</" + name + b">"

    def _insert_attribute(self, pieces: Pieces) -> None:
        at = self._at(pieces)
        match = _TAG.match(pieces[at]) if pieces else None
        if match is not None and not match[1]:
            attribute = self._luck.choice(ATTRIBUTES).encode()
            pieces[at] = b"<" + match[2] + b" " + attribute + match[3] + b">"

    def _insert_value(self, pieces: Pieces) -> None:
        pieces.insert(self._at(pieces), self._luck.choice(VALUES).encode())

    def _replace_value(self, pieces: Pieces) -> None:
        at = self._at(pieces)
        if pieces and not pieces[at].startswith(b"<"):
            pieces[at] = self._luck.choice(VALUES).encode()

    def _unclose(self, pieces: Pieces) -> None:
        endings = [at for at, piece in enumerate(pieces) if piece.startswith(b"</")]
        if endings:
            del pieces[self._luck.choice(endings)]

    def _wrap(self, pieces: Pieces) -> None:
        span = self._span(pieces)
        tag, depth = self._luck.choice(TAGS).encode(), self._luck.choice(_DEPTHS)
        pieces[span] = [b"<" + tag + b">"] * depth + pieces[span] + [b"</" + tag + b">"] * depth

    def _flip(self, raw: bytearray) -> None:
        if raw:
            raw[self._at(raw)] ^= 1 << self._luck.randrange(8)

    def _cut_out(self, raw: bytearray) -> None:
        at = self._at(raw)
        del raw[at : at + self._luck.randint(1, 9)]

    def _insert_bytes(self, raw: bytearray) -> None:
        at = self._at(raw)
        raw[at:at] = self._luck.choice(BYTES)

    def _overwrite(self, raw: bytearray) -> None:
        at = self._at(raw)
        raw[at : at + 3] = self._luck.randbytes(self._luck.randint(1, 4))

    def _truncate(self, raw: bytearray) -> None:
        del raw[self._at(raw) :]

    def _swollen(self, document: bytes) -> bytes:
        """One character or a few, digits where there are some, said thousands of times."""
        kind = self._luck.choice((_DIGIT, _OF_REFERENCE))
        digits = [found.start() for found in kind.finditer(document)]
        at = self._luck.choice(digits) if digits else self._at(document)
        piece = document[at : at + self._luck.choice((1, 1, 1, 2, 7))] or b"0"
        return document[:at] + piece * (1 + SWOLLEN // len(piece)) + document[at:]

    def _recoded(self, document: bytes) -> bytes:
        codec = self._luck.choice(CODECS)
        return document.decode("utf-8", "replace").encode(codec, "replace")


def pieces_of(document: bytes) -> Pieces:
    """Tags, texts and JSON's tokens; joined again they are the document."""
    return _PIECES.findall(document) or [document]
