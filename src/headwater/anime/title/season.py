"""Which of all that speaks of a season decides, and which part of it a release is."""

import re

from headwater.anime.release import ReleaseKind, Subtitle
from headwater.anime.scripts import CJK, CJK_LETTERS
from headwater.anime.subtitles import subtitles_by_code
from headwater.anime.title.draft import TitleDraft
from headwater.anime.title.names import ShowNames, TitleSpan
from headwater.anime.title.season_marks import SeasonMark, latin_roman, season_part_of

_ENDING_DIGIT = re.compile(r"(?<![\d/.-])([2-9])$")
_APART = re.compile(rf"(?:[{CJK_LETTERS}！？]|[{CJK_LETTERS}][!?]{{1,2}}) ([2-9])$")
_LATIN_APART = re.compile(r"[A-Za-z!?.] ([2-9])$")


def read_season(draft: TitleDraft, names: ShowNames, marks: list[SeasonMark]) -> None:
    """The season and the part, from the number itself, from marks, or from how the names end."""
    numbering, layout = draft.numbering, draft.layout
    mark = _deciding_mark(draft, marks)
    if mark is not None:
        draft.say("season", mark.season, layout.text[mark.start : mark.end], mark.rule)
        if mark.season_end is not None:
            draft.say("season_end", mark.season_end, layout.text[mark.start : mark.end], mark.rule)
    if numbering is not None and numbering.season is not None:
        written = layout.text[numbering.start : numbering.end]
        draft.say("season", numbering.season, written, numbering.rule)
    elif (
        mark is None and numbering is not None and draft.fields.get("kind") is not ReleaseKind.MOVIE
    ):
        if (season := _season_by_names(names)) is not None:
            draft.say("season", season, names.main or "", "digit that ends the names")
    until = numbering.start if numbering else len(layout.line)
    if (part := season_part_of(layout.line[:until])) is not None:
        draft.say("part", part[0], part[1].group(), "part")


def _deciding_mark(draft: TitleDraft, marks: list[SeasonMark]) -> SeasonMark | None:
    """A mark in a name before one elsewhere, words before Roman numerals."""
    in_names = [mark for mark in marks if _within(mark, draft.regions)]
    plain = [mark for mark in in_names if mark.cuts]
    plain = plain or [mark for mark in marks if mark.cuts and _counts_elsewhere(draft, mark)]
    if plain:
        return next((mark for mark in plain if mark.season_end is not None), plain[0])
    if draft.numbering is None or draft.fields.get("kind") is ReleaseKind.MOVIE:
        return None
    return in_names[0] if in_names else _by_roman_letters(draft)


def _within(mark: SeasonMark, regions: list[TitleSpan]) -> bool:
    return any(start <= mark.start < end for start, end in regions)


def _counts_elsewhere(draft: TitleDraft, mark: SeasonMark) -> bool:
    """Outside the names a mark counts before the number, or in brackets: not in what an episode
    is called."""
    if draft.numbering is None or mark.start < draft.numbering.start:
        return True
    return any(
        piece.inside and piece.start <= mark.start < piece.end for piece in draft.layout.pieces
    )


def _by_roman_letters(draft: TitleDraft) -> SeasonMark | None:
    """Plain letters such as II count only in releases of Chinese groups: elsewhere a second series
    is as often a show of its own name."""
    if CJK.search(draft.layout.text) is None:
        codes = subtitles_by_code(draft.layout.twin, certain_only=True)
        if codes.isdisjoint((Subtitle.SIMPLIFIED, Subtitle.TRADITIONAL)):
            return None
    marks = (latin_roman(draft.layout.line, start, end) for start, end in draft.regions)
    return next((mark for mark in marks if mark is not None), None)


def _season_by_names(names: ShowNames) -> int | None:
    """A digit that ends two names of a show is its season (`异世界四重奏3 / Isekai Quartet 3`); so
    is one that stands apart after a name in Chinese, or after a Latin one beside it."""
    digits = [
        match.group(1)
        for name in (*names.by_language.values(), *names.others)
        if (match := _ENDING_DIGIT.search(name))
    ]
    if len(digits) > 1 and len(set(digits)) == 1:
        return int(digits[0])
    apart = _APART.search(names.main or "") or _latin_apart(names)
    return int(apart.group(1)) if apart else None


def _latin_apart(names: ShowNames) -> re.Match[str] | None:
    """The digit after the Latin name of a show that has a Chinese or Japanese name as well."""
    if not names.by_language.keys() & {"zh", "ja"}:
        return None
    return _LATIN_APART.search(names.by_language.get("en", ""))
