"""Read the name of a release: run steps 3 to 9 of reading a title, which `__init__.py` lists."""

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
"""The language code of the whole line: all names together with their season, as the title has
them. The code means several languages."""
_MOST_DISTANCE = 10
"""How far after its number an episode's kind may stand: `01 - Special`."""


@dataclass(frozen=True, slots=True)
class TitleReading:
    """A release, and the notes from which `trace` explains every field that was read."""

    release: Release
    notes: tuple[Note, ...]

    @property
    def trace(self) -> tuple[Finding, ...]:
        return findings(self.notes)


def read_name(text: str, aliases: Mapping[str, str] = NO_ALIASES) -> TitleReading:
    """Read the release that a clean title without folders names."""
    text, container, suffix = _without_extension(text)
    layout = lay_out(text, fold_title(text))  # steps 3 to 5
    is_file = container is not None and BracketRole.YEAR not in layout.roles
    numbering = _find_numbering(layout, is_file=is_file)  # step 6
    draft = TitleDraft(layout, numbering, name_regions(layout, numbering))  # step 7, to the groups
    _read_year(draft)
    _read_number(draft)
    _read_version(draft)
    _read_kind(draft)
    _read_names(draft)
    _read_groups(draft, aliases)
    read_technical(draft, suffix)  # step 8
    read_pack(draft)  # step 9
    if container is not None and "container" not in draft.fields:
        draft.set_field("container", container, f".{container}", "ending of the file")
    return TitleReading(draft.finished(), tuple(draft.notes))


def _find_numbering(layout: Layout, *, is_file: bool) -> Numbering | None:
    numbering = numbering_of(layout.line, layout.begin, lone_digit=is_file)
    if numbering is None:
        segments = zip(layout.segments, layout.roles, strict=True)
        starts = [segment.start for segment, role in segments if role is BracketRole.TECHNICAL]
        numbering = first_among_technical(layout.folded, starts)
    if numbering is not None and (whole := spaced_range(layout.line, layout.begin, numbering)):
        numbering = whole if names_a_pack(layout) else numbering
    if numbering is not None and is_part_of_name(layout, numbering):
        return None
    return numbering


def _without_extension(text: str) -> tuple[str, str | None, str]:
    """The title without a file's extension, the extension, and a subtitle file's language before
    it."""
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
    """Read the year, from brackets first. A year outside brackets ends the name before it."""
    layout = draft.layout
    if (bracketed := _YEAR.search(layout.folded, layout.begin)) is not None:
        draft.set_field("year", int(bracketed.group(1)), bracketed.group(1), "year in brackets")
        return
    match = year_outside_brackets(layout)
    if match is None:
        return
    draft.set_field("year", int(match.group()), match.group(), "year outside brackets")
    draft.regions = [
        (start, match.start()) if start < match.start() < end else (start, end)
        for start, end in draft.regions
    ]


def _read_number(draft: TitleDraft) -> None:
    numbering = draft.numbering
    if numbering is None:
        return
    written = draft.layout.text[numbering.start : numbering.end]
    draft.set_field("episode", numbering.episode, written, numbering.rule)
    if numbering.episode_end is not None:
        draft.set_field("episode_end", numbering.episode_end, written, numbering.rule)
    if numbering.absolute is not None:
        draft.set_field("absolute", numbering.absolute, written, "second number")
    elif numbering.season is not None:
        _read_second_number(draft, numbering)


def _read_second_number(draft: TitleDraft, numbering: Numbering) -> None:
    """A number that stands between the name and season and episode is not part of the name."""
    second = second_number(draft.layout.line, numbering)
    if second is None:
        return
    number, place = second
    draft.set_field("absolute", number, str(number), "second number")
    draft.regions = [(start, place if start < place < end else end) for start, end in draft.regions]


def _read_version(draft: TitleDraft) -> None:
    numbering = draft.numbering
    if numbering is not None and numbering.version is not None:
        written = draft.layout.text[numbering.start : numbering.end]
        draft.set_field("version", numbering.version, written, numbering.rule)
        return
    after = max((end for _, end in draft.regions), default=0)
    match = _VERSION.search(draft.layout.folded, after)
    match = match or _VERSION_IN_NAME.search(draft.layout.folded, draft.layout.begin, after)
    if match is not None:
        draft.set_field("version", int(match.group(1)), match.group(), "version")


def _read_kind(draft: TitleDraft) -> None:
    """A kind named in brackets, beside the number, or in a name where it cannot be part of it."""
    layout, numbering = draft.layout, draft.numbering
    kind_and_word = kind_in(_kind_words(draft))
    if kind_and_word is None and numbering is not None:
        ended = [end for _, end in draft.regions if end <= numbering.start]
        after = max(ended, default=numbering.start)
        kind_and_word = kind_in(layout.line[after : numbering.end + _MOST_DISTANCE])
    if kind_and_word is None:
        names = MASKED.join(layout.line[start:end] for start, end in draft.regions)
        kind_and_word = kind_in_name(names, numbered=numbering is not None)
    if kind_and_word is not None:
        kind, word = kind_and_word
        draft.set_field("kind", kind, word, "kind")


def _kind_words(draft: TitleDraft) -> str:
    """The words of brackets that may name a kind: all words of brackets that name one or hold a
    number, and single words of technical brackets."""
    layout = draft.layout
    words: list[str] = _STARRED.findall(layout.folded)
    for segment, role in zip(layout.segments, layout.roles, strict=True):
        content = layout.folded[segment.start : segment.end]
        if segment is layout.group:
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
    marks = season_marks(draft.layout.folded, draft.layout.begin)
    part = season_part_of(draft.layout.folded) if episodic else None
    names = show_names_in(written, seasonal=bool(marks), parted=part is not None)
    read_season(draft, names, marks)
    season = draft.fields.get("season")
    if isinstance(season, int):
        names = without_season_digit(names, season)
    if names.main is not None:
        _set_names(draft, names, " ".join(part.strip(" _-") for part in written))


def _set_names(draft: TitleDraft, names: ShowNames, written: str) -> None:
    draft.set_field("title", names.main, written, "name")
    titles = dict(names.by_language)
    whole = written.replace("_", " ").rstrip(" .([{")
    if whole != names.main:
        titles[AS_WRITTEN] = whole
    draft.set_field("titles", titles, written, "name by script")
    if names.others:
        draft.set_field("other_titles", names.others, written, "further name")


def _read_groups(draft: TitleDraft, aliases: Mapping[str, str]) -> None:
    span_and_rule = group_span(draft.layout, draft.regions)
    if span_and_rule is None:
        return
    (start, end), rule = span_and_rule
    written = draft.layout.text[start:end]
    if groups := split_groups(written, aliases):
        draft.set_field("groups", groups, written, rule)
