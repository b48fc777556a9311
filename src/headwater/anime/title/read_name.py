"""Read the name of a release: what it says, and why each field is what it is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from headwater.anime.release import Release, ReleaseKind
from headwater.anime.title.clean import fold_title
from headwater.anime.title.draft import Finding, Note, TitleDraft, findings
from headwater.anime.title.episode import (
    Numbering,
    first_among_technical,
    numbering_of,
    second_number,
    spaced_range,
)
from headwater.anime.title.group import group_span, split_groups
from headwater.anime.title.kinds import kind_in, kind_in_name
from headwater.anime.title.layout import Layout, lay_out
from headwater.anime.title.names import (
    ShowNames,
    name_regions,
    show_names_in,
    without_season_digit,
    year_outside_brackets,
)
from headwater.anime.title.number_patterns import MASKED
from headwater.anime.title.pack import is_part_of_name, names_a_pack, read_pack
from headwater.anime.title.roles import BracketRole
from headwater.anime.title.season import read_season
from headwater.anime.title.season_marks import season_marks, season_part_of
from headwater.anime.title.technical import read_technical
from headwater.anime.title.terms import ANY_WORD, EXTENSION
from headwater.anime.title.vocabulary import WEAK_WORDS

NO_ALIASES: Mapping[str, str] = MappingProxyType({})
_YEAR = re.compile(r"[(\[★] ?((?:19[5-9]|20[0-4])\d)年? ?[)\]★]")
_VERSION = re.compile(r"(?<![a-z])v(\d)(?![\d.a-z])")
_VERSION_IN_NAME = re.compile(r"(?:(?<=\d)|(?<= )|(?<=nc[oe][pd]))v(\d)(?= *(?:$|[&,(\[]))")
_SUFFIX = re.compile(
    r"\.(?:(?:chs|cht|sc|tc)(?:[&_-]?jpn?)?|jp(?:sc|tc|chs|cht)|zh-han[st]|zh-cn|zh-tw|zh|eng?|jpn?)$"
)
_STARRED = re.compile(r"[★\]]([^★\[\]]{2,6})★")
_PLAIN_NUMBER = re.compile(r"[\d. v~-]*")
_SUBTITLE_FILES = frozenset(("ass", "srt", "ssa", "sup"))
AS_WRITTEN = "mul"
"""The code for several languages: all names together with their season, as the title has them."""
_MOST_DISTANCE = 10
"""How far after its number an episode's kind may stand: `01 - Special`."""


@dataclass(frozen=True, slots=True)
class TitleReading:
    """A release, and the notes from which `trace` explains every field the title speaks of."""

    release: Release
    notes: tuple[Note, ...]

    @property
    def trace(self) -> tuple[Finding, ...]:
        return findings(self.notes)


def read_name(text: str, aliases: Mapping[str, str] = NO_ALIASES) -> TitleReading:
    """The release that a tidy title without folders speaks of."""
    text, container, suffix = _without_extension(text)
    layout = lay_out(text, fold_title(text))
    is_file = container is not None and BracketRole.YEAR not in layout.roles
    numbering = numbering_of(layout.line, layout.begin, lone_digit=is_file)
    numbering = numbering or first_among_technical(layout.twin, _technical_starts(layout))
    if numbering is not None and (whole := spaced_range(layout.line, layout.begin, numbering)):
        numbering = whole if names_a_pack(layout) else numbering
    if numbering is not None and is_part_of_name(layout, numbering):
        numbering = None
    draft = TitleDraft(layout, numbering, name_regions(layout, numbering))
    _read_year(draft)
    _read_number(draft)
    _read_version(draft)
    _read_kind(draft)
    _read_names(draft)
    _read_groups(draft, aliases)
    read_technical(draft, suffix)
    read_pack(draft)
    if container is not None and "container" not in draft.fields:
        draft.say("container", container, f".{container}", "ending of the file")
    return TitleReading(draft.finished(), tuple(draft.notes))


def _technical_starts(layout: Layout) -> list[int]:
    pieces = zip(layout.pieces, layout.roles, strict=True)
    return [piece.start for piece, role in pieces if role is BracketRole.TECHNICAL]


def _without_extension(text: str) -> tuple[str, str | None, str]:
    """The title without a file's ending, the ending, and a subtitle file's language before it."""
    match = EXTENSION.search(fold_title(text[-12:]))
    if match is None:
        return text, None, ""
    ending = match.group(1)
    text = text[: -len(ending) - 1]
    suffix = _SUFFIX.search(fold_title(text[-12:]))
    if suffix is not None and ending in _SUBTITLE_FILES:
        return text[: -len(suffix.group())], ending, suffix.group()
    return text, ending if ending != "torrent" else None, ""


def _read_year(draft: TitleDraft) -> None:
    """The year, from brackets first; a year outside ends the name before it."""
    layout = draft.layout
    if (bracketed := _YEAR.search(layout.twin, layout.begin)) is not None:
        draft.say("year", int(bracketed.group(1)), bracketed.group(1), "year in brackets")
        return
    match = year_outside_brackets(layout)
    if match is None:
        return
    draft.say("year", int(match.group()), match.group(), "year outside brackets")
    draft.regions = [
        (start, match.start()) if start < match.start() < end else (start, end)
        for start, end in draft.regions
    ]


def _read_number(draft: TitleDraft) -> None:
    numbering = draft.numbering
    if numbering is None:
        return
    written = draft.layout.text[numbering.start : numbering.end]
    draft.say("episode", numbering.episode, written, numbering.rule)
    if numbering.episode_end is not None:
        draft.say("episode_end", numbering.episode_end, written, numbering.rule)
    if numbering.absolute is not None:
        draft.say("absolute", numbering.absolute, written, "second number")
    elif numbering.season is not None:
        _read_second_number(draft, numbering)


def _read_second_number(draft: TitleDraft, numbering: Numbering) -> None:
    """A number that stands between the name and season and episode is not part of the name."""
    second = second_number(draft.layout.line, numbering)
    if second is None:
        return
    number, place = second
    draft.say("absolute", number, str(number), "second number")
    draft.regions = [(start, place if start < place < end else end) for start, end in draft.regions]


def _read_version(draft: TitleDraft) -> None:
    numbering = draft.numbering
    if numbering is not None and numbering.version is not None:
        written = draft.layout.text[numbering.start : numbering.end]
        draft.say("version", numbering.version, written, numbering.rule)
        return
    after = max((end for _, end in draft.regions), default=0)
    found = _VERSION.search(draft.layout.twin, after)
    found = found or _VERSION_IN_NAME.search(draft.layout.twin, draft.layout.begin, after)
    if found is not None:
        draft.say("version", int(found.group(1)), found.group(), "version")


def _read_kind(draft: TitleDraft) -> None:
    """A kind named in brackets, beside the number, or in a name where it cannot be part of it."""
    layout, numbering = draft.layout, draft.numbering
    found = kind_in(_kind_words(draft))
    if found is None and numbering is not None:
        ended = [end for _, end in draft.regions if end <= numbering.start]
        after = max(ended, default=numbering.start)
        found = kind_in(layout.line[after : numbering.end + _MOST_DISTANCE])
    if found is None:
        names = MASKED.join(layout.line[start:end] for start, end in draft.regions)
        found = kind_in_name(names, numbered=numbering is not None)
    if found is not None:
        draft.say("kind", found[0], found[1], "kind")


def _kind_words(draft: TitleDraft) -> str:
    """What brackets say of a kind: all of those that name one or hold a number, and single words
    of technical ones."""
    layout = draft.layout
    words: list[str] = _STARRED.findall(layout.twin)
    for piece, role in zip(layout.pieces, layout.roles, strict=True):
        content = layout.twin[piece.start : piece.end]
        if piece is layout.group:
            continue
        if role is BracketRole.KIND or (
            role is BracketRole.NUMBER and not _PLAIN_NUMBER.fullmatch(content)
        ):
            words.append(content)
        elif role is BracketRole.TECHNICAL:
            words += (word for word in ANY_WORD.findall(content) if WEAK_WORDS.get(word) == "kind")
    return MASKED.join(words)


def _read_names(draft: TitleDraft) -> None:
    written = [draft.layout.text[start:end] for start, end in draft.regions]
    episodic = draft.numbering is not None and draft.fields.get("kind") is not ReleaseKind.MOVIE
    marks = season_marks(draft.layout.twin, draft.layout.begin)
    part = season_part_of(draft.layout.twin) if episodic else None
    names = show_names_in(written, seasonal=bool(marks), parted=part is not None)
    read_season(draft, names, marks)
    season = draft.fields.get("season")
    if isinstance(season, int):
        names = without_season_digit(names, season)
    if names.main is not None:
        _say_names(draft, names, " ".join(part.strip(" _-") for part in written))


def _say_names(draft: TitleDraft, names: ShowNames, written: str) -> None:
    draft.say("title", names.main, written, "name")
    titles = dict(names.by_language)
    whole = written.replace("_", " ").rstrip(" .([{")
    if whole != names.main:
        titles[AS_WRITTEN] = whole
    draft.say("titles", titles, written, "name by script")
    if names.others:
        draft.say("other_titles", names.others, written, "further name")


def _read_groups(draft: TitleDraft, aliases: Mapping[str, str]) -> None:
    found = group_span(draft.layout, draft.regions)
    if found is None:
        return
    (start, end), rule = found
    written = draft.layout.text[start:end]
    if groups := split_groups(written, aliases):
        draft.say("groups", groups, written, rule)
