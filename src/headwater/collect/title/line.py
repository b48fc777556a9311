"""A title's line: all of it that may be a name or a number, with everything else cut out."""

import re
from dataclasses import dataclass

from headwater.collect.title.leading import LETTER, SEASONAL
from headwater.collect.title.number_shapes import CUT
from headwater.collect.title.pieces import Piece
from headwater.collect.title.roles import DATE, Role

_WORD_NEXT = re.compile(r"[\s_]*[^\W_]")
_NUMBER_NEXT = re.compile(r"[\s_]*-[\s_]*\d\d")
_KIND_NEXT = re.compile(r"[\s_]*(?:ova|oad|ona|sp|movie|ep|e\d|episode|\d)")


@dataclass(frozen=True, slots=True)
class _Place:
    """Which piece is the group, the first free text after it with letters, the last of words."""

    group: int | None
    first_free: int
    last_words: int


def line_of(twin: str, pieces: list[Piece], roles: list[Role | None], group: int | None) -> str:
    """The twin with the group, technical brackets and remarks cut out, as long as before."""
    place = _place(twin, pieces, roles, group)
    edge = 0 if pieces and pieces[0].inside == "★" else 1
    kept: list[str] = []
    done = 0
    for at, piece in enumerate(pieces):
        if roles[at] is None or _stays(twin, pieces, roles, at, place):
            continue
        kept += (twin[done : piece.start - edge], CUT * (piece.end - piece.start + 2 * edge))
        done = piece.end + edge
    line = "".join((*kept, twin[done:]))
    if "月" in line or "★" in line:
        line = SEASONAL.sub(lambda found: CUT * len(found.group()), line)
    return DATE.sub(lambda found: CUT * len(found.group()), line)


def _stays(
    twin: str, pieces: list[Piece], roles: list[Role | None], at: int, place: _Place
) -> bool:
    if at == place.group:
        return False
    if roles[at] is Role.WORDS:
        return _belongs(twin, pieces, at, place)
    return roles[at] is Role.NUMBER


def _belongs(twin: str, pieces: list[Piece], at: int, place: _Place) -> bool:
    """Whether words in brackets may be (part of) a name: in round ones always, in square ones
    when they stand first, or when the name goes on after them, or its number after a dash, and the
    group is another."""
    if pieces[at].inside != "[" or at < place.first_free:
        return True
    if at + 1 >= len(pieces) or pieces[at + 1].inside:
        return False
    if place.group is None and at >= place.last_words:
        return False
    following = pieces[at + 1]
    if place.group is not None and _NUMBER_NEXT.match(twin, following.start, following.end):
        return True
    goes_on = _WORD_NEXT.match(twin, following.start, following.end) is not None
    return goes_on and not _KIND_NEXT.match(twin, following.start, following.end)


def _place(twin: str, pieces: list[Piece], roles: list[Role | None], group: int | None) -> _Place:
    after = 0 if group is None else group + 1
    free = (
        at
        for at in range(after, len(pieces))
        if not pieces[at].inside
        and LETTER.search(SEASONAL.sub("", twin[pieces[at].start : pieces[at].end]))
    )
    words = (at for at in range(len(roles) - 1, -1, -1) if roles[at] is Role.WORDS)
    return _Place(group, next(free, len(pieces)), next(words, -1))
