"""Where things stand in a title: the group, the brackets and their roles, the line that is left."""

import re
from dataclasses import dataclass

from headwater.collect.title.leading import LETTER, group_at, numbers_after
from headwater.collect.title.line import line_of
from headwater.collect.title.number_shapes import CUT, TITLED
from headwater.collect.title.pieces import Piece, cut
from headwater.collect.title.roles import Role, role_of

_DOT = re.compile(r"(?<!\d)\.|\.(?!\d)|\.(?=\d{3,4}[pi](?![a-z0-9]))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Layout:
    """A title, its twin, and its twin with all that is technical cut out (`line`).

    `group` is where the leading group stands. `pieces` and `roles` belong together.
    """

    text: str
    twin: str
    line: str
    pieces: list[Piece]
    roles: list[Role | None]
    group: Piece | None

    @property
    def begin(self) -> int:
        """Where the leading group ends, and names may begin."""
        return self.group.end + 1 if self.group else 0


def lay_out(text: str, twin: str) -> Layout:
    """The layout of a title."""
    pieces = cut(twin)
    roles = [role_of(twin[piece.start : piece.end]) if piece.inside else None for piece in pieces]
    at = group_at(twin, pieces, roles)
    twin = _named_by_number(twin, pieces, roles, at)
    _mark_titled_number(twin, pieces, roles, at)
    group = pieces[at] if at is not None else None
    text, twin = _undotted(text, twin, pieces, at)
    line = line_of(twin, pieces, roles, at)
    begin = group.end + 1 if group else 0
    return Layout(text, twin, CUT * begin + line[begin:], pieces, roles, group)


def _named_by_number(
    twin: str, pieces: list[Piece], roles: list[Role | None], at: int | None
) -> str:
    """`[Group][86][01]`: with no other name, the first of two numbers is one. Its brackets are made
    curly, so that it is not read as a number."""
    if at is None or None in roles[at:] or Role.WORDS in roles[at + 1 :]:
        return twin
    numbers = numbers_after(roles, at)
    if len(numbers) < 2:
        return twin
    roles[numbers[0]] = Role.WORDS
    start, end, _ = pieces[numbers[0]]
    return f"{twin[: start - 1]}{{{twin[start:end]}}}{twin[end + 1 :]}"


def _mark_titled_number(
    twin: str, pieces: list[Piece], roles: list[Role | None], at: int | None
) -> None:
    """`[Group][Name][04_Words]`: with no other number, one that begins the bracket after the name
    is the episode's, and its title follows."""
    if at is None or Role.NUMBER in roles:
        return
    named = False
    for place in range(at + 1, len(pieces)):
        start, end, inside = pieces[place]
        if named and inside == "[" and roles[place] is Role.WORDS:
            if TITLED.match(twin, start, end + 1):
                roles[place] = Role.NUMBER
            return
        named = named or roles[place] is Role.WORDS or LETTER.search(twin, start, end) is not None


def _undotted(text: str, twin: str, pieces: list[Piece], group: int | None) -> tuple[str, str]:
    """Dots that stand for spaces made spaces, where free text has no other."""
    for at, piece in enumerate(pieces):
        if piece.inside or (group is not None and at <= group):
            continue
        free = twin[piece.start : piece.end].strip()
        if not free:
            continue
        if " " in free or free.count(".") < 2:
            return text, twin
        spaced = _DOT.sub(" ", twin[piece.start : piece.end])
        twin = twin[: piece.start] + spaced + twin[piece.end :]
        own = _DOT.sub(" ", text[piece.start : piece.end])
        return text[: piece.start] + own + text[piece.end :], twin
    return text, twin
