"""Step 6 of reading a title: find the episode, as one number, a range or a half, and its version.

The rules are tried from the surest to the weakest; the first that matches decides.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from headwater.anime.title import number_patterns
from headwater.anime.title.number_patterns import parse_decimal
from headwater.anime.title.terms import TECHNICAL_WORD

YEARS = (1950, 2049)
"""A number of four digits between these is a year before it is an episode."""
WIDEST_RANGE = 2000
"""No release holds more episodes than this; a wider range is two numbers of something else."""
LONG_SEASON = 28
"""A season that has more episodes than this is rare."""
_PACK = re.compile("合|全|batch|complete")
_FINAL = re.compile("end|fin|完|[終终]|大结局")
_VERSION = re.compile(r"v(\d)")


@dataclass(frozen=True, slots=True)
class Numbering:
    """`start` and `end` say where it stands in the line."""

    start: int
    end: int
    rule: str
    episode: Decimal
    episode_end: Decimal | None = None
    season: int | None = None
    absolute: Decimal | None = None
    version: int | None = None
    final: bool = False
    pack: bool = False


_RULES: tuple[tuple[str, re.Pattern[str], frozenset[str]], ...] = (
    ("season and episode", number_patterns.SEASON_EPISODE, frozenset("s")),
    ("season-episode", number_patterns.SEASON_DASH, frozenset("s")),
    ("season x episode", number_patterns.SEASON_X_EPISODE, frozenset("x")),
    ("counted with 第", number_patterns.CHINESE_COUNTED, frozenset("第")),
    ("number of a total", number_patterns.N_OF_TOTAL, frozenset("fи")),
    ("number in brackets", number_patterns.IN_BRACKETS, frozenset("[★")),
    ("range in brackets", number_patterns.WIDE_RANGE, frozenset("[★")),
    ("counted episodes", number_patterns.COUNTED_EPISODE, frozenset("话話集回巻화")),
    ("named episode", number_patterns.NAMED_EPISODE, frozenset("eéobс")),
    ("number sign", number_patterns.HASH_NUMBER, frozenset("#")),
    ("range in brackets", number_patterns.RANGE_IN_PARENS, frozenset("(")),
    ("number after a dash", number_patterns.NUMBER_AFTER_DASH, frozenset("-")),
    ("short episode", number_patterns.SHORT_EPISODE, frozenset("e")),
    ("number of a kind", number_patterns.KIND_NUMBER, frozenset("oasen")),
    ("last number", number_patterns.LAST_NUMBER, frozenset("0123456789")),
    ("number before its title", number_patterns.NUMBER_BEFORE_TITLE, frozenset("[")),
    ("number in round brackets", number_patterns.IN_PARENS, frozenset("(")),
    ("number among words", number_patterns.NUMBER_AMONG_WORDS, frozenset("0123456789")),
    ("number at the start", number_patterns.AT_START, frozenset("0123456789")),
)
"""Each rule with its pattern and its letters: a line with none of the letters cannot match."""
_LOOSE = frozenset(("last number", "number among words"))
_BEFORE_TECHNICAL = _LOOSE | {"number after a dash", "number in round brackets"}
"""These rules stop at technical words: a number after them belongs to them, as in `TrueHD 7.1`."""
_LETTER = re.compile(r"[^\W\d_]")
_SEASON_BEFORE = re.compile(
    r"(?<!\dst )(?<!\dnd )(?<!\drd )(?<!\dth )(?<!first )(?<!second )(?<!third )(?<!fourth )"
    r"(?<!final )(?<!new )\bseasons? $"
)
_LONGEST_SEASON = len("seasons ")
_PART_OF_NAME = re.compile(r"(?:movies?|part|no|vol|season|film|chapter)[ .]{1,2}$")
_NAME_ENDS = re.compile(r" *(?:$|[\[(\x1f「]|- |v\d)")
_SURE = re.compile(r"\d\d|\d *(?:$|[\[(\x1f-])|\d ?v\d")


def numbering_of(line: str, begin: int = 0, *, lone_digit: bool = False) -> Numbering | None:
    """The numbering of a line whose names begin at `begin`.

    `lone_digit` says that a single digit at the end of the name may be an episode.
    """
    technical = TECHNICAL_WORD.search(line, begin + 1)
    until = technical.start() if technical else len(line)
    letters = set(line)
    for rule, pattern, needed in _RULES:
        if needed.isdisjoint(letters):
            continue
        end = until if rule in _BEFORE_TECHNICAL else len(line)
        matches = [m for m in pattern.finditer(line, begin, end) if _makes_sense(m, rule)]
        if matches:
            return _numbering_from_match(
                _surest(matches) if rule == "number after a dash" else matches[0], rule
            )
    return _unsure(line, begin, until, lone_digit)


def _unsure(line: str, begin: int, until: int, lone_digit: bool) -> Numbering | None:
    """Numbers that count only where there is no other: `Name - 2 Words`, `Name 5` of a file."""
    match = number_patterns.NUMBER_AFTER_DASH.search(line, begin, until)
    if (
        match is not None
        and len(match["first"]) == 1
        and _LETTER.search(line, begin, match.start())
    ):
        return _numbering_from_match(match, "digit after a dash")
    match = number_patterns.NUMBER_AFTER_DASH.search(line, until)
    if match is not None and len(match["first"]) > 1 and _NAME_ENDS.match(line, match.end()):
        return _numbering_from_match(match, "number after technical words")
    match = number_patterns.LAST_NUMBER.search(line, begin, until) if lone_digit else None
    if match is None or _LETTER.search(line, begin, match.start()) is None:
        return None
    if _PART_OF_NAME.search(line, begin, match.start()) or _is_year(match["first"]):
        return None
    return _numbering_from_match(match, "lone digit of a file")


def first_among_technical(folded: str, starts: Iterable[int]) -> Numbering | None:
    """The range or number that a technical bracket begins with. The brackets begin at `starts`."""
    for start in starts:
        match = number_patterns.RANGE_BEFORE_TECHNICAL.match(folded, start)
        if match is not None and _makes_sense(match, "range in brackets"):
            return _numbering_from_match(match, "range in brackets")
        if (match := number_patterns.NUMBER_BEFORE_TECHNICAL.match(folded, start)) is not None:
            return _numbering_from_match(match, "number in brackets")
    return None


def spaced_range(line: str, begin: int, numbering: Numbering) -> Numbering | None:
    """The range that a number ends in a title with a word for a batch: `Name 01 - 24 (Batch)`."""
    if numbering.episode_end is not None or numbering.rule not in _BEFORE_TECHNICAL:
        return None
    match = number_patterns.SPACED_RANGE.search(line, begin)
    if match is None or _is_of_season(match) or int(match["first"]) >= int(match["last"]):
        return None
    return _numbering_from_match(match, "range of a batch")


def _surest(matches: list[re.Match[str]]) -> re.Match[str]:
    """Of several numbers after dashes, the first after which no name can go on."""
    return next(
        (match for match in matches if _NAME_ENDS.match(match.string, match.end())), matches[0]
    )


def second_number(line: str, numbering: Numbering) -> tuple[Decimal, int] | None:
    """The second number of an episode that is counted twice, and where it stands:
    `S06E32 … [Episode 83]`, `87 (S4-24)`."""
    before = number_patterns.LAST_NUMBER.search(
        line, 0, numbering.start
    ) or number_patterns.NUMBER_AFTER_DASH.search(line, 0, numbering.start)
    after = number_patterns.NAMED_EPISODE.search(
        line, numbering.end
    ) or number_patterns.NUMBER_AFTER_DASH.search(line, numbering.end)
    for match in (before, after):
        if match is not None and _makes_sense(match, "last number"):
            if match is before and not _counts_on(match, numbering):
                continue
            number = Decimal(match["first"])
            if number != numbering.episode:
                return number, match.start("first")
    return None


def _counts_on(match: re.Match[str], numbering: Numbering) -> bool:
    """Whether a number before season and episode counts through all seasons. 100 does not in
    `Name 100 S02E05`: no dash or bracket sets it apart, and the seasons before would be too long.
    """
    line, start = match.string, match.start("first")
    if line[:start].endswith(("- ", "-", "]", "[")) or line[numbering.start - 1] == "(":
        return True
    if match["first"].startswith("0") or match["absolute"]:
        return True
    seasons_before = (numbering.season or 1) - 1
    between = Decimal(match["first"]) - numbering.episode
    return 0 <= between <= seasons_before * LONG_SEASON


def _makes_sense(match: re.Match[str], rule: str) -> bool:
    """A year is no episode; a lone digit among words is more likely part of the name."""
    first = match["first"]
    if rule == "number after a dash" and not _SURE.match(match.string, match.start("first")):
        return False
    if rule == "range in brackets":
        return int(first) < int(match["last"]) and not _is_year(match["last"])
    if rule in _LOOSE and _is_of_season(match):
        return False
    if _is_year(first):
        last = match.groupdict().get("last")
        return last is not None and not _is_year(last)
    return not (rule in _LOOSE and len(first) == 1 and not match["last"] and not match["v"])


def _is_of_season(match: re.Match[str]) -> bool:
    """The 2 of `Season 2`; but 05 is an episode in `2nd Season 05`."""
    start = match.start("first")
    before = max(0, start - _LONGEST_SEASON)
    return (
        _SEASON_BEFORE.search(match.string, before, start) is not None
        or (
            match["first"].startswith("0") and match.string.endswith((" part ", " cour "), 0, start)
        )
        or match.string.endswith((" film ", " movie "), 0, start)
    )


def _is_year(written: str) -> bool:
    return len(written) == 4 and written.isdigit() and YEARS[0] <= int(written) <= YEARS[1]


def _numbering_from_match(match: re.Match[str], rule: str) -> Numbering:
    groups = match.groupdict()
    first = parse_decimal(groups["first"])
    absolute = Decimal(groups["absolute"]) if groups.get("absolute") else None
    rest = groups.get("rest") or ""
    version = groups.get("v") or groups.get("v2") or groups.get("v3")
    if not version and (in_rest := _VERSION.search(rest)) is not None:
        version = in_rest.group(1)
    return Numbering(
        start=match.start(),
        end=match.end(),
        rule=rule,
        episode=first,
        episode_end=_end_of_range(first, groups),
        season=int(groups["season"]) if groups.get("season") else None,
        # Counted from the first season on, so never lower than the episode: `01(45)`, not `10 (1)`.
        absolute=absolute if absolute is not None and absolute > first else None,
        version=int(version) if version else None,
        final=bool(groups.get("final")) or _FINAL.search(rest) is not None,
        pack=_PACK.search(rest) is not None,
    )


def _end_of_range(first: Decimal, groups: dict[str, str | None]) -> Decimal | None:
    written = groups.get("last") or groups.get("next")
    if written is None:
        return None
    last = parse_decimal(written)
    return last if first < last <= first + WIDEST_RANGE else None
