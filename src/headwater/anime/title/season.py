"""For step 7 of reading a title: choose the season when several parts of the title name one."""

import re

from headwater.anime.release import ReleaseKind, Subtitle
from headwater.anime.scripts import CJK, CJK_LETTERS
from headwater.anime.subtitles import subtitles_by_code
from headwater.anime.title.draft import TitleDraft
from headwater.anime.title.names import ShowNames
from headwater.anime.title.season_marks import SeasonMark, latin_roman, season_part_of

_ENDING_DIGIT = re.compile(r"(?<![\d/.-])([2-9])$")
_APART = re.compile(rf"(?:[{CJK_LETTERS}！？]|[{CJK_LETTERS}][!?]{{1,2}}) ([2-9])$")
_LATIN_APART = re.compile(r"[A-Za-z!?.] ([2-9])$")


def read_season(draft: TitleDraft, names: ShowNames, marks: list[SeasonMark]) -> None:
    """Read the season and the part: from the number itself, from marks, or from the names' ends."""
    numbering, layout = draft.numbering, draft.layout
    mark = _deciding_mark(draft, marks)
    if mark is not None:
        draft.set_field("season", mark.season, layout.text[mark.start : mark.end], mark.rule)
        if mark.season_end is not None:
            draft.set_field(
                "season_end", mark.season_end, layout.text[mark.start : mark.end], mark.rule
            )
    if numbering is not None and numbering.season is not None:
        written = layout.text[numbering.start : numbering.end]
        draft.set_field("season", numbering.season, written, numbering.rule)
    elif (
        mark is None and numbering is not None and draft.fields.get("kind") is not ReleaseKind.MOVIE
    ):
        if (season := _season_by_names(names)) is not None:
            draft.set_field("season", season, names.main or "", "digit that ends the names")
    until = numbering.start if numbering else len(layout.line)
    if (part := season_part_of(layout.line[:until])) is not None:
        draft.set_field("part", part[0], part[1].group(), "part")


def _deciding_mark(draft: TitleDraft, marks: list[SeasonMark]) -> SeasonMark | None:
    """A mark in a name before one elsewhere, words before Roman numerals."""
    in_names = [
        mark for mark in marks if any(start <= mark.start < end for start, end in draft.regions)
    ]
    plain = [mark for mark in in_names if mark.cuts]
    plain = plain or [mark for mark in marks if mark.cuts and _counts_elsewhere(draft, mark)]
    if plain:
        return next((mark for mark in plain if mark.season_end is not None), plain[0])
    if draft.numbering is None or draft.fields.get("kind") is ReleaseKind.MOVIE:
        return None
    return in_names[0] if in_names else _by_roman_letters(draft)


def _counts_elsewhere(draft: TitleDraft, mark: SeasonMark) -> bool:
    """Whether a mark outside the names counts: it stands before the number or in brackets, not in
    the episode's title."""
    if draft.numbering is None or mark.start < draft.numbering.start:
        return True
    return any(
        segment.inside and segment.start <= mark.start < segment.end
        for segment in draft.layout.segments
    )


def _by_roman_letters(draft: TitleDraft) -> SeasonMark | None:
    """Plain letters such as II count only in releases of Chinese groups: elsewhere a second series
    is as often a show with a name of its own."""
    if CJK.search(draft.layout.text) is None:
        codes = subtitles_by_code(draft.layout.folded, certain_only=True)
        if codes.isdisjoint((Subtitle.SIMPLIFIED, Subtitle.TRADITIONAL)):
            return None
    marks = (latin_roman(draft.layout.line, start, end) for start, end in draft.regions)
    return next((mark for mark in marks if mark is not None), None)


def _season_by_names(names: ShowNames) -> int | None:
    """A digit that ends two names of a show is its season (`异世界四重奏3 / Isekai Quartet 3`). So
    is a digit that stands apart after a Chinese name, or after a Latin name beside one."""
    digits = [
        match.group(1)
        for name in (*names.by_language.values(), *names.others)
        if (match := _ENDING_DIGIT.search(name))
    ]
    if len(digits) > 1 and len(set(digits)) == 1:
        return int(digits[0])
    apart = _APART.search(names.main or "")
    if apart is None and names.by_language.keys() & {"zh", "ja"}:
        apart = _LATIN_APART.search(names.by_language.get("en", ""))
    return int(apart.group(1)) if apart else None
