"""For step 7 of reading a title: find the group that made the release, and its separate names."""

import re
from collections.abc import Mapping

from headwater.anime.title.layout import Layout
from headwater.anime.title.names import TitleSpan
from headwater.anime.title.roles import BracketRole
from headwater.anime.title.season_marks import SEASON_ALONE
from headwater.anime.title.terms import ANY_WORD, STRONG_WORD, is_technical
from headwater.anime.title.vocabulary import WEAK_WORDS

_BETWEEN = re.compile(r"\s*[&＆×✕]\s*|\s+[xX]\s+|\s*[+＋](?=\s*[^+＋\s])\s*")
_SCENE = re.compile(r"(?<=[a-z0-9)\]])[-￡](?P<group>[a-z0-9][a-z0-9@&.]{1,24}) *$")
_SCENE_DASHED = re.compile(
    r"(?<=[a-z0-9)\]])-(?P<group>[a-z0-9]{1,16}-[a-z0-9]{1,16}) *$"
    r"|(?<=[a-z0-9] )-(?P<apart>[a-z][a-z0-9]{1,24}(?:-[a-z0-9]{1,16})?) *$"
)
_AFTER_DASH = re.compile(
    r"[\x1f ]- ?(?P<group>(?!\d+ *$)[a-z0-9][a-z0-9._!-]{1,30})(?: v\d)? *$"
    r"|\x1f-(?P<two>[a-z][a-z0-9._!-]{1,24} [a-z][a-z0-9._!-]{1,24}) *$"
)

_SIGNATURES = {"smzase": "三明治摆烂组", "tsdm": "TSDM字幕组"}
"""The names that some groups sign their files with, and those they publish under."""


def split_groups(content: str, aliases: Mapping[str, str]) -> tuple[str, ...]:
    """The names in a group bracket, each once. An alias is replaced by the name it stands for."""
    names = [name for part in _BETWEEN.split(content) if (name := part.strip(" _-"))]
    if len(names) > 1:
        names = [name.replace("_", " ").strip() for name in names]
    named = [
        aliases.get(name.casefold()) or _SIGNATURES.get(name.casefold(), name) for name in names
    ]
    return tuple(dict.fromkeys(named))


def scene_group(folded: str, start: int, end: int) -> tuple[int, int] | None:
    """Where the group of a scene name stands at the end of free text: `….x264-GROUP`."""
    match = _SCENE.search(folded, max(start, end - 32), end)
    return match.span("group") if match else None


def dashed_scene_group(folded: str, start: int, end: int) -> tuple[int, int] | None:
    """Where a group stands that has a dash of its own or a space before it:
    `….x264-Some-Raws`, `… AAC -Group`."""
    match = _SCENE_DASHED.search(folded, max(start, end - 48), end)
    return match.span(match.lastgroup or 0) if match else None


def trailing_group(line: str) -> tuple[int, int] | None:
    """Where a group stands after the last bracket: `[1080p]_-_THORA`."""
    match = _AFTER_DASH.search(line)
    return match.span(match.lastgroup or 0) if match else None


_WORDS_FIRST = re.compile(r" *(?P<group>[a-z][a-z0-9 '!-]{2,30})(?:,|\.(?=[a-z]))")
_GROUP_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{1,24}|[a-z]{2,24} [a-z]{2,24}")
_AFTER_GROUP = frozenset((BracketRole.TECHNICAL, BracketRole.CHECKSUM))


def group_span(layout: Layout, names: list[TitleSpan]) -> tuple[TitleSpan, str] | None:
    """Where the group's name stands, and by which rule."""
    if (scene := _scene_group_span(layout)) is not None:
        return scene, "scene name"
    if layout.group is not None:
        return (layout.group.start, layout.group.end), "first bracket"
    if (tail := trailing_group(layout.line)) is not None and not _is_within(tail, names):
        if layout.folded[tail[0] : tail[1]] not in WEAK_WORDS and _follows_technical(
            layout, tail[0]
        ):
            return tail, "after the last bracket"
    if (words := _bracket_of_words(layout, names)) is not None:
        return words, "only bracket of words"
    if (first := _leading_words(layout)) is not None:
        return first, "words before the technical ones"
    return None


def _follows_technical(layout: Layout, start: int) -> bool:
    """Whether nothing but a dash stands between a place and a technical bracket before it."""
    at = max(
        (i for i, segment in enumerate(layout.segments) if segment.inside and segment.end < start),
        default=-1,
    )
    if at < 0 or layout.roles[at] not in (
        BracketRole.TECHNICAL,
        BracketRole.CHECKSUM,
        BracketRole.KIND,
    ):
        return False
    return not layout.folded[layout.segments[at].end + 1 : start].strip(" -")


def _bracket_of_words(layout: Layout, names: list[TitleSpan]) -> TitleSpan | None:
    """Words in square brackets outside the names; else words in round brackets that end the title
    or stand before technical brackets that end it."""
    for segment, role in zip(layout.segments, layout.roles, strict=True):
        if (
            segment.inside != "["
            or role is not BracketRole.WORDS
            or _is_within((segment.start, segment.end), names)
        ):
            continue
        if SEASON_ALONE.fullmatch(layout.folded, segment.start, segment.end) is None:
            return segment.start, segment.end
    for segment, role in zip(reversed(layout.segments), reversed(layout.roles), strict=True):
        if role is BracketRole.WORDS:
            span = (segment.start, segment.end)
            is_name = _GROUP_NAME.fullmatch(layout.folded, *span) is not None
            return span if is_name and not _is_within(span, names) else None
        if role not in _AFTER_GROUP and layout.folded[segment.start : segment.end].strip():
            return None
    return None


def _scene_group_span(layout: Layout) -> TitleSpan | None:
    """A name after a dash that stands right behind a technical word."""
    for segment in layout.segments:
        if segment.inside:
            continue
        for find_group in (scene_group, dashed_scene_group):
            span = find_group(layout.folded, segment.start, segment.end)
            if span is not None and _is_behind_technical(layout.folded, span):
                return span
    return None


def _is_behind_technical(folded: str, span: TitleSpan) -> bool:
    """Whether the dash before a name follows a technical word, and the name holds none."""
    if STRONG_WORD.search(folded, span[0], span[1]) or is_technical(folded[span[0] : span[1]]):
        return False
    behind = folded[max(0, span[0] - 25) : span[0] - 1].rstrip()
    return any(match.end() == len(behind) for match in STRONG_WORD.finditer(behind))


def _leading_words(layout: Layout) -> TitleSpan | None:
    """Words that come first in a technical bracket: `(Some Group, 720p)`."""
    for segment, role in zip(layout.segments, layout.roles, strict=True):
        if role is not BracketRole.TECHNICAL:
            continue
        match = _WORDS_FIRST.match(layout.folded, segment.start, segment.end)
        if match is not None and not any(
            word in WEAK_WORDS or STRONG_WORD.match(word)
            for word in ANY_WORD.findall(match["group"])
        ):
            return match.span("group")
    return None


def _is_within(span: TitleSpan, regions: list[TitleSpan]) -> bool:
    return any(start <= span[0] < end for start, end in regions)
