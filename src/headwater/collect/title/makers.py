"""Where the group of a release stands, whether it comes first, in a scene name's tail, or last."""

import re

from headwater.collect.title.groups import dashed_scene_group, scene_group, trailing_group
from headwater.collect.title.layout import Layout
from headwater.collect.title.regions import Span
from headwater.collect.title.roles import Role
from headwater.collect.title.seasons import SEASON_ALONE
from headwater.collect.title.terms import STRONG, WORDS, is_technical
from headwater.collect.title.words import WEAK

_WORDS_FIRST = re.compile(r" *(?P<group>[a-z][a-z0-9 '!-]{2,30})(?:,|\.(?=[a-z]))")
_GROUP_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{1,24}|[a-z]{2,24} [a-z]{2,24}")
_AFTER_GROUP = frozenset((Role.TECHNICAL, Role.CHECKSUM))


def group_span(layout: Layout, names: list[Span]) -> tuple[Span, str] | None:
    """Where the group's name stands, and by which rule."""
    if (scene := _scene(layout)) is not None:
        return scene, "scene name"
    if layout.group is not None:
        return (layout.group.start, layout.group.end), "first bracket"
    if (tail := trailing_group(layout.line)) is not None and not _in(tail, names):
        if layout.twin[tail[0] : tail[1]] not in WEAK and _follows_technical(layout, tail[0]):
            return tail, "after the last bracket"
    if (words := _bracket_of_words(layout, names)) is not None:
        return words, "only bracket of words"
    if (first := _leading_words(layout)) is not None:
        return first, "words before the technical ones"
    return None


def _follows_technical(layout: Layout, start: int) -> bool:
    """Whether nothing but a dash stands between a place and a technical bracket before it."""
    at = max(
        (i for i, piece in enumerate(layout.pieces) if piece.inside and piece.end < start),
        default=-1,
    )
    if at < 0 or layout.roles[at] not in (Role.TECHNICAL, Role.CHECKSUM, Role.KIND):
        return False
    return not layout.twin[layout.pieces[at].end + 1 : start].strip(" -")


def _bracket_of_words(layout: Layout, names: list[Span]) -> Span | None:
    """Words in square brackets outside the names; else in round ones that end the title,
    or stand before technical ones that do."""
    for piece, role in zip(layout.pieces, layout.roles, strict=True):
        if piece.inside != "[" or role is not Role.WORDS or _in((piece.start, piece.end), names):
            continue
        if SEASON_ALONE.fullmatch(layout.twin, piece.start, piece.end) is None:
            return piece.start, piece.end
    for piece, role in zip(reversed(layout.pieces), reversed(layout.roles), strict=True):
        if role is Role.WORDS:
            span = (piece.start, piece.end)
            is_name = _GROUP_NAME.fullmatch(layout.twin, *span) is not None
            return span if is_name and not _in(span, names) else None
        if role not in _AFTER_GROUP and layout.twin[piece.start : piece.end].strip():
            return None
    return None


def _scene(layout: Layout) -> Span | None:
    """A name after a dash that stands right behind a technical word."""
    for piece in layout.pieces:
        if piece.inside:
            continue
        for found in (scene_group, dashed_scene_group):
            span = found(layout.twin, piece.start, piece.end)
            if span is not None and _is_behind_technical(layout.twin, span):
                return span
    return None


def _is_behind_technical(twin: str, span: Span) -> bool:
    """Whether the dash before a name follows a technical word, and the name holds none."""
    if STRONG.search(twin, span[0], span[1]) or is_technical(twin[span[0] : span[1]]):
        return False
    behind = twin[max(0, span[0] - 25) : span[0] - 1].rstrip()
    return any(match.end() == len(behind) for match in STRONG.finditer(behind))


def _leading_words(layout: Layout) -> Span | None:
    """Words that come first in a technical bracket: `(Some Group, 720p)`."""
    for piece, role in zip(layout.pieces, layout.roles, strict=True):
        if role is not Role.TECHNICAL:
            continue
        match = _WORDS_FIRST.match(layout.twin, piece.start, piece.end)
        if match is not None and not any(
            word in WEAK or STRONG.match(word) for word in WORDS.findall(match["group"])
        ):
            return match.span("group")
    return None


def _in(span: Span, regions: list[Span]) -> bool:
    return any(start <= span[0] < end for start, end in regions)
