"""For step 7 of reading a title: season marks, which are words such as `Season 2`, 第二季, `S2`."""

import re
from dataclasses import dataclass
from itertools import islice

from headwater.anime.scripts import CJK_LETTERS
from headwater.anime.title.number_patterns import (
    ENGLISH_NUMERALS,
    HAN_DIGITS,
    ROMAN,
    parse_whole_number,
)

_HAN = f"[{HAN_DIGITS}]{{1,3}}"
_BEGIN = r"(?<![a-z0-9])"
_END = r"(?![a-z0-9])"
_TO = r"(?: ?[-~至到+&] ?| to )"

_MARK = re.compile(
    rf"第 ?(?P<han>\d{{1,2}}|{_HAN}) ?(?:[季期]?{_TO}第? ?(?P<han_end>\d{{1,2}}|{_HAN}) ?)?"
    r"(?:[季期](?!生)|部(?![分屋门門])|シーズン)"
    rf"|(?<![a-z0-9第{HAN_DIGITS}])(?P<short>\d)(?:{_TO}(?P<short_end>\d))?[季期](?![生确確待間间])"
    rf"|(?<![第{HAN_DIGITS}a-z0-9])(?P<han_short>[二三五六七](?=[季期])|四(?=期))[季期](?!\w)"
    rf"|(?<=[{CJK_LETTERS} ])(?P<formal>[贰貳叁])(?= *(?:$|[-/|\[\]()\x1f]))"
    r"|シーズン ?(?P<kana>\d{1,2})"
    rf"|{_BEGIN}s(?P<pair>\d\d)-(?P<pair_end>\d\d)(?![\d.a-z])"
    rf"|{_BEGIN}s(?P<s>\d{{1,2}})(?P<s_more>(?:{_TO}s\d{{1,2}}){{0,9}}){_END}(?!')"
    rf"|{_BEGIN}seasons? (?P<many>\d)(?:-|~|(?<=s \d){_TO})(?P<many_end>\d){_END}"
    rf"|{_BEGIN}seasons? (?P<padded>0\d){_TO}(?P<padded_end>0\d){_END}"
    rf"|{_BEGIN}seasons? (?P<plus>\d{{1,2}})(?: ?[+&] ?(?P<plus_end>\d{{1,2}})){{1,9}}{_END}"
    rf"|{_BEGIN}(?<!final )(?:season|saison|temporada|staffel)[ .]?(?P<word>\d{{1,2}}){_END}"
    rf"|{_BEGIN}season (?P<spelt>one|two|three|four|five|six|ii|iii|iv){_END}"
    rf"|{_BEGIN}(?:the )?(?P<nth>\d{{1,2}})(?:st|nd|rd|th)"
    rf"(?: (?:season|saison|series){_END}| ?シーズン)"
    rf"|{_BEGIN}(?P<stage>[2-9])(?:nd|rd|th) stage{_END}"
    rf"|{_BEGIN}(?P<bare>[2-9])(?:nd|rd|th)(?= *(?:$|[-/|\[\](]|\x1f))"
    rf"|{_BEGIN}(?:the )?(?P<ordinal>first|second|third|fourth|fifth|sixth) season{_END}"
    r"|(?:season ?|第)(?P<sign>[ⅱⅲⅳⅴⅵⅶⅷⅸ])[季期]?"
    r"|(?P<roman>[ⅱⅲⅳⅴⅵⅶⅷⅸ])"
)
_MAYBE = re.compile(
    r"[季期部ン贰貳叁ⅱⅲⅳⅴⅵⅶⅷⅸ]|s ?\d|(?:s[te]a|tempo|sai)[a-z]+ ?\d|\d[snrt][tdh]|season"
)
"""A quick test: every mark matches this, and most titles do not."""
_FIRST = (
    "han", "short", "han_short", "formal", "kana", "s", "pair", "many", "padded", "plus", "word",
    "nth", "stage", "bare",
)  # fmt: skip
_LAST = ("han_end", "short_end", "pair_end", "many_end", "padded_end", "plus_end")
_LATIN_ROMAN = re.compile(r"(?<=[^\W\d_] )(?P<roman>ii|iii|iv)(?= *(?:$|[-:~/\[(\x1f]))")
_PART = re.compile(
    rf"第 ?(?P<han>\d|{_HAN}) ?(?:部分|クール|cour)"
    rf"|{_BEGIN}(?:part|cour) ?\.? ?(?P<word>0?\d|ii|iii){_END}"
    rf"|{_BEGIN}(?P<nth>\d)(?:st|nd|rd|th) cour{_END}"
)
SEASON_ALONE = re.compile(r"(?:season \d{1,2}|第.{1,2}[季期])(?: ?\+.{1,30})?")
"""A bracket with a season and nothing else is neither a name nor a group."""
MOST_SEASONS = 50
"""A higher number is no season."""
MOST_MARKS = 12
"""Marks that are looked at; a title has three at most."""


@dataclass(frozen=True, slots=True)
class SeasonMark:
    """`start` and `end` are its place in the text. With `cuts`, a name ends before it."""

    start: int
    end: int
    season: int
    season_end: int | None
    rule: str
    cuts: bool = True


def season_marks(text: str, begin: int = 0) -> list[SeasonMark]:
    """The season marks of a text from `begin` on, in order."""
    if _MAYBE.search(text, begin) is None:
        return []
    matches = islice(_MARK.finditer(text, begin), MOST_MARKS)
    return [mark for match in matches if (mark := _mark(match)).season <= MOST_SEASONS]


def latin_roman(text: str, start: int, end: int) -> SeasonMark | None:
    """A season in plain Roman letters at the end of a name: `Mushoku Tensei II`."""
    match = _LATIN_ROMAN.search(text, start, end)
    return _roman(match) if match else None


def season_part_of(text: str) -> tuple[int, re.Match[str]] | None:
    """The part of a season, with its match: `Part 2`, 第2クール."""
    match = _PART.search(text)
    if match is None:
        return None
    written = match["han"] or match["word"] or match["nth"]
    return (ROMAN[written] if written in ROMAN else parse_whole_number(written)), match


def _roman(match: re.Match[str]) -> SeasonMark:
    season = ROMAN[match["roman"]]
    return SeasonMark(match.start(), match.end(), season, None, "Roman numeral", cuts=False)


def _mark(match: re.Match[str]) -> SeasonMark:
    groups = match.groupdict()
    if groups["roman"]:
        return _roman(match)
    if spelt := groups["ordinal"] or groups["spelt"] or groups["sign"]:
        season = ROMAN.get(spelt) or ENGLISH_NUMERALS[spelt]
        return SeasonMark(match.start(), match.end(), season, None, "season")
    season = parse_whole_number(next(groups[name] for name in _FIRST if groups[name]))
    last = next((groups[name] for name in _LAST if groups[name]), None)
    end = parse_whole_number(last) if last else None
    if groups["s_more"]:
        end = int(groups["s_more"].rpartition("s")[2])
    return SeasonMark(
        match.start(),
        match.end(),
        season,
        end if end and end > season else None,
        "season",
        # A second stage is as often part of the name.
        cuts=groups["stage"] is None,
    )
