"""Step 7 of reading a title: find where the names of the show stand, and read one per language."""

import re
from dataclasses import dataclass

from headwater.anime.scripts import CJK, CJK_LETTERS, HAN, HANGUL, KANA
from headwater.anime.title.episode import Numbering
from headwater.anime.title.layout import LETTER, Layout, is_foreign_name
from headwater.anime.title.number_patterns import MASKED
from headwater.anime.title.roles import BracketRole
from headwater.anime.title.season_marks import (
    SEASON_ALONE,
    SeasonMark,
    season_marks,
    season_part_of,
)
from headwater.anime.title.terms import TECHNICAL_WORD

_SPACED_SLASH = re.compile(r"\s+[/|／]\s*|\s*[/|／]\s+|[|｜]|\s+AKA\s+|\s_\s")
_HAN_LATIN_LINE = re.compile(
    rf"(?<=[{CJK_LETTERS}])_(?=[A-Za-z])|(?<=[A-Za-z])_(?=[{CJK_LETTERS}])"
    r"|(?<=[\u3400-\u9fff])·(?=[A-Za-z][A-Za-z'-]* [A-Za-z])"
)
_SLASH = re.compile(r"(?<!\d)\s*[/／]\s*|\s*[/／]\s*(?!\d)")
_KIND_LAST = re.compile(r"(?:特[别別典][篇编編]?|[剧劇][场場]版|番外篇?|[总總]集篇|映画)\s*$")
_VOLUME = re.compile(
    r"\bvol(?:\.|ume)? ?(?:\d.*)?$|\s-\s\d{1,4}[a-z]?$"
    r"|(?<![\s-])[\s-]+(?:the )?complete(?: series| batch)?$"
    r"|\s(?:tv|ova|sp)?(?: ?\+ ?(?:tv|ovas?|oads?|sps?|movies?|specials?|[剧劇][场場]版)){1,5}$"
    r"|(?<![\s-])[\s-]+\((?:the )?complete(?: series| batch)?\)$"
    r"|(?:\s|(?<=nc[oe][pd]))v\d$"
    r"|\s[全共] ?(?:\d{1,4}|[一二三四五六七八九十百]{1,4}) ?[话話集回].*$"
    rf"|(?:\s|(?<=[{CJK_LETTERS}]))(?:tv)?[全合]集$|\s\d{{1,4}}[话話集回]全$",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"[^\s.]{2,}(?:\.[^\s.]{2,}){2,}")
_LATIN_DASH_HAN = re.compile(
    rf"(?:(?<=[^\W{CJK_LETTERS}])|(?<=[^\W{CJK_LETTERS}][!?.])) -\s+(?=[{CJK_LETTERS}「])"
)
_REGION_NOTE = re.compile(
    r"[(（\[【](?:[仅僅]限|[年][齡龄]限制|先行|[无無]修|檢索|检索|[^()（）\[\]]{0,12}地[區区]版?|[繁简]中)"
    r"[^()（）\[\]【】]{0,20}[)）\]】]"
)
_BRACKET = re.compile(r"[(（\[【]")
_YEAR_IN_BRACKETS = re.compile(r"[(（\[](?:19[5-9]\d|20[0-4]\d)[)）\]]")

_DASHED_THEN_LATIN = re.compile(
    rf"(?P<first>[^-]*+-[A-Za-z][^-{CJK_LETTERS}]*+-) (?P<latin>[A-Za-z]{{2,}}[^{CJK_LETTERS}]*+)"
)
"""A Latin line between dashes belongs to the name before it; a whole name may follow."""
_NAMES_IN_PARENS = re.compile(
    rf"(?P<first>[^()（）]*[{CJK_LETTERS}][!?！？。]? ?)(?:[(（][^()（）\d]{{3,}}[)）] ?){{1,3}}"
)
_IN_PARENS = re.compile(r"[(（]([^()（）]+)[)）]")
_EDITION = re.compile(
    r"(?i)[版編编篇]$|^(?:tv|ova|oad|ona|sp|the|movie|web|bd)\b"
    r"|\b(?:ver(?:sion)?|cut|edition|dub(?:bed)?|(?:un)?censored|season|part)\b"
)
_LATIN_LETTER = re.compile(r"[A-Za-z]")
_LATIN_NAME = re.compile(r"[A-Za-z][a-z'’]{3,}|[A-Za-z'’.,-]+ [A-Za-z0-9]")
_LATIN_WORD = re.compile(r"[A-Za-z]{3}")
_TWO_LATIN = re.compile(r"[A-Za-z]{2}")
_LOOSE_TILDE = re.compile(r"\s[~～]$")
_DASHED_END = re.compile(r"\S-\s*$")
_DASH_OPENED = re.compile(r"(?:^|\s)-\S")
_PAIRS = (("[", "]"), ("(", ")"), ("（", "）"), ("【", "】"), ("《", "》"))
_BRACKETS = tuple(mark for pair in _PAIRS for mark in pair)
_EDGES = " \t_-–—|/,;:、·★☆"
_SPACES = re.compile(r"\s{2,}")
_ROMAN = {2: "II", 3: "III", 4: "IV"}

MOST_LEADING = 3
"""Words of a season that are taken off the front of a name."""


@dataclass(frozen=True, slots=True)
class ShowNames:
    """`main` is the first name of a show; `others` are further names as written."""

    main: str | None
    by_language: dict[str, str]
    others: tuple[str, ...]


def show_names_in(regions: list[str], *, seasonal: bool, parted: bool) -> ShowNames:
    """The names in one or several stretches of a title, without seasons and notes.

    `seasonal` and `parted`: the title names a season, or a part of one. `Part 2` of a film belongs
    to its name.
    """
    parts = [part for region in regions for part in _split_region(region, seasonal)]
    cleaned = [name for part in parts if (name := clean_name(part, seasonal, parted))]
    if len(cleaned) > 1 and all(CJK.search(name) for name in cleaned):
        cleaned = [name for mixed in cleaned for name in _split_by_script(mixed)]
    if len(cleaned) > 1:
        cleaned = [name for name in cleaned if not SEASON_ALONE.fullmatch(name.lower())]
    if len(cleaned) == 1:
        cleaned = _split_parens(cleaned[0])
    if len(cleaned) == 1:
        if (mixed := _latin_first(cleaned[0])) is not None:
            return ShowNames(cleaned[0], mixed, ())
        cleaned = _split_by_script(cleaned[0])
    by_language: dict[str, str] = {}
    for name in cleaned:
        by_language.setdefault(language_of(name), name)
    main = next((by_language[code] for code in ("zh", "ja") if code in by_language), None)
    main = main or (cleaned[0] if cleaned else None)
    others = tuple(dict.fromkeys(name for name in cleaned if name not in by_language.values()))
    return ShowNames(main, by_language, others)


def without_season_digit(names: ShowNames, season: int) -> ShowNames:
    """The names without their season's number at the end: `Isekai Quartet 3`, `OVERLORD IV`."""
    roman = _ROMAN.get(season, season)
    digit = re.compile(rf"(?:\s|(?<=[{CJK_LETTERS}！？!?])){season}$|\s{roman}$")
    return ShowNames(
        digit.sub("", names.main) if names.main else None,
        {code: digit.sub("", name) or name for code, name in names.by_language.items()},
        tuple(digit.sub("", name) or name for name in names.others),
    )


def language_of(name: str) -> str:
    """`ja` for kana, `zh` for Han alone, `ko` for Hangul, `en` for Latin letters of any sort."""
    if KANA.search(name):
        return "ja"
    if HAN.search(name):
        return "zh"
    return "ko" if HANGUL.search(name) else "en"


def clean_name(part: str, seasonal: bool, parted: bool) -> str:
    """A name without its season, its year and remarks such as the region it may be watched in."""
    name = part.replace("_", " ")
    if _BRACKET.search(name):
        name = _YEAR_IN_BRACKETS.sub(" ", _REGION_NOTE.sub(" ", name))
    name = _VOLUME.sub("", name.strip())
    if _DOTTED.fullmatch(name):
        name = name.replace(".", " ")
    if seasonal or parted:
        name = _VOLUME.sub("", _without_season(name, parted))
    bare = _SPACES.sub(" ", name).strip(_EDGES)
    if _LOOSE_TILDE.search(bare) and (bare.count("~") + bare.count("～")) % 2:
        bare = bare[:-1].rstrip(_EDGES)
    if _DASHED_END.search(name) and _DASH_OPENED.search(bare):
        bare += "-"
    return _without_loose_bracket(bare)


def _split_region(region: str, seasonal: bool) -> list[str]:
    """Split a stretch into its names. `22/7` and `Fate/Zero` are one name each."""
    spaced = _SPACED_SLASH.split(region)
    if CJK.search(region) is None:
        return spaced
    lines = [line for piece in spaced for line in _HAN_LATIN_LINE.split(piece)]
    parts = [part for line in lines for part in _split_bare_slashes(line)]
    if len(parts) > 1 or _KIND_LAST.search(region):
        return parts
    if seasonal and (parts := _around_season(region)):
        return parts
    return _LATIN_DASH_HAN.split(region)


def _around_season(region: str) -> list[str]:
    """A Latin name that follows the season of a Chinese one: `名字 第二季 Namae S2`."""
    for mark in season_marks(region.lower()):
        before, after = region[: mark.start], region[mark.end :].strip(_EDGES)
        if (part := season_part_of(after.lower())) is not None and part[1].start() == 0:
            return []
        if CJK.search(before) and after[:1].isascii() and after[:1].isalpha():
            return [before, after] if CJK.search(after) is None else []
    return []


def _split_parens(name: str) -> list[str]:
    """A Chinese name with its others in round brackets after it: `名字 (なまえ) (Name)`."""
    match = _NAMES_IN_PARENS.fullmatch(name)
    if match is None:
        return [name]
    first = match["first"].rstrip()
    others = [other.strip() for other in _IN_PARENS.findall(name, match.end("first"))]
    language = language_of(first)
    if any(language_of(other) == language or _EDITION.search(other) for other in others):
        return [name]
    return [first, *others]


def _split_bare_slashes(piece: str) -> list[str]:
    """Split at slashes without spaces, only where a name in another script begins or has ended.

    Beside a name in another script, two Latin ones of several words each are two names.
    """
    has_cjk = CJK.search(piece) is not None
    first, *rest = _SLASH.split(piece)
    parts = [first]
    for part in rest:
        both_have_words = " " in parts[-1].strip() and " " in part.strip()
        if CJK.search(parts[-1]) or CJK.match(part) or (has_cjk and both_have_words):
            parts.append(part)
        else:
            parts[-1] += f"/{part}"
    return parts


def _without_season(name: str, parted: bool) -> str:
    """The text before the first mark of a season, or the text after it where none is before."""
    for _ in range(MOST_LEADING):
        mark = _first_mark(name.lower(), parted)
        if mark is None:
            return name
        if before := name[: mark.start].rstrip(_EDGES + "([（【："):
            return before
        after = name[mark.end :].strip(_EDGES)
        if not after:
            return name
        name = after
    return name


def _first_mark(folded: str, parted: bool) -> SeasonMark | None:
    marks = [mark for mark in season_marks(folded) if mark.cuts]
    part = season_part_of(folded) if parted else None
    if part is not None and not folded[part[1].end() :].strip(_EDGES):
        start, end = part[1].span()
        marks.append(SeasonMark(start, end, part[0], None, "part"))
    return min(marks, key=lambda mark: mark.start, default=None)


def _without_loose_bracket(name: str) -> str:
    if not name.endswith(_BRACKETS):
        return name
    for opener, closer in _PAIRS:
        if name.startswith(opener) and name.endswith(closer) and name.count(opener) == 1:
            name = name[1:-1].strip(_EDGES)
        elif name.endswith(opener) or (name.endswith(closer) and opener not in name):
            name = name[:-1].strip(_EDGES)
    return name


def _split_by_script(name: str) -> list[str]:
    """Split a Chinese name from a Latin one that follows it. A Latin word inside a name stays."""
    dashed = _DASHED_THEN_LATIN.fullmatch(name)
    if dashed is not None and CJK.search(dashed["first"]) and " " in dashed["latin"]:
        return [dashed["first"], dashed["latin"]]
    backwards = CJK.search(name[::-1])
    if backwards is None:
        return [name]
    end = len(name) - backwards.start()
    letter = _LATIN_LETTER.search(name, end)
    if letter is None or _LATIN_WORD.search(name, 0, end):
        return [name]
    between = name[end : letter.start()]
    latin = name[letter.start() :].strip(_EDGES + "~～")
    if not between.rstrip("~～-").endswith(" ") or not _LATIN_NAME.match(latin):
        return [name]
    if latin[0].islower() and " " not in latin:
        return [name]
    edges = _EDGES + "~～" if between.strip() else _EDGES
    return [name[: letter.start()].strip(edges), latin]


def _latin_first(name: str) -> dict[str, str] | None:
    """Both names in `New Doraemon 哆啦A梦新番`; the whole stays the main name of the show."""
    first = CJK.search(name)
    if first is None or not name[:1].isascii() or not name[:1].isalpha():
        return None
    latin, han = name[: first.start()], name[first.start() :]
    if not latin.endswith(" ") or len(han) < 2 or _TWO_LATIN.search(han):
        return None
    return {language_of(han): han, "en": latin.strip(_EDGES)}


_SIGN = re.compile(r"[^\W_]")
_YEAR = re.compile(
    r"(?<=[ .])(?:19[5-9]\d|20[0-4]\d)"
    rf"(?=$|-(?:19|20)\d\d|[ .](?:$|[{MASKED}.\d ]|[es]p?\d|[a-z]+-?(?:dl|rip|ray)\b))"
)
_LOOSE_YEAR = re.compile(r"(?<=[ .])(?:19[5-9]\d|20[0-4]\d)(?=[ .]|$|-(?:19|20)\d\d)")

_CONTENTS = re.compile(
    r"(?: ?系列)?: ?(?:tv(?: ?[动動][画畫])?|[动動][画畫]|[剧劇][场場]版|ova|ona)(?=[+,; (]|$)"
)
"""The content of a pack after a colon: `Name：TV动画+剧场版+漫画`."""
_KIND_WORD = re.compile(r"[a-z]+(?=\d)")
_KIND_APART = re.compile(r"[a-z]+(?= \d)")
_BLANK = frozenset((MASKED, " ", "-"))
_DASH_NEXT = re.compile(r" *[-:「]")
_LEADING_RULES = frozenset(("named episode", "counted with 第"))
_CODED = re.compile(r"(?:s\d{1,2})?e\d")

MOST_NAMES = 4
"""No more brackets than this are taken for names of one show."""
TitleSpan = tuple[int, int]


def name_regions(layout: Layout, numbering: Numbering | None) -> list[TitleSpan]:
    """Where the names stand: free text before the first number or technical word; else the first
    brackets of words."""
    limit = len(layout.line)
    if numbering is not None and numbering.start >= layout.begin:
        limit = numbering.start
    brackets: list[TitleSpan] = []
    for at, segment in enumerate(layout.segments):
        if segment.start < layout.begin or segment.start >= limit:
            continue
        role = layout.roles[at]
        if role is None:
            if not _SIGN.search(layout.line, segment.start, min(segment.end, limit)):
                continue
            region = _free_region(layout, segment.start, limit)
            if region is not None:
                return _with_brackets(layout, _with_kind(layout, region, numbering), brackets)
        elif role is BracketRole.WORDS and layout.line[segment.start : segment.start + 1] != MASKED:
            brackets.append((segment.start, min(segment.end, limit)))
            if len(brackets) == MOST_NAMES:
                break
        elif brackets:
            break
    return brackets or _numbered_name(layout, numbering)


def _with_brackets(layout: Layout, region: TitleSpan, brackets: list[TitleSpan]) -> list[TitleSpan]:
    """A name in brackets of its own belongs to the text that goes on after it:
    `[Name] 2nd Season`, 【名字】 / Name. So does one before a scene name: `[名字].Name.S01E05`."""
    start, end = region
    if brackets and _goes_on(layout.line, start, end):
        return [(brackets[0][0] - 1, end)]
    if not brackets or layout.group is not None:
        return [region]
    first_start, first_end = brackets[0]
    is_name_first = first_start == 1 and is_foreign_name(layout.folded[first_start:first_end])
    if not is_name_first or LETTER.search(layout.line, start, end) is None:
        return [region]
    return [*brackets, region]


def _goes_on(line: str, start: int, end: int) -> bool:
    """Whether free text cannot begin a name: a slash, or the words for a season."""
    if line[start] in "/|":
        return True
    marks = season_marks(line[start:end])
    return bool(marks) and marks[0].start == 0


def year_outside_brackets(layout: Layout) -> re.Match[str] | None:
    """A year that ends a name outside brackets: `Twelve.Monkeys.1995.1080p`."""
    pattern = _YEAR if " " in layout.text.strip() and "." not in layout.text else _LOOSE_YEAR
    last = None
    for match in pattern.finditer(layout.line, layout.begin):
        if _SIGN.search(layout.line, layout.begin, match.start()):
            last = match
    return last


def _free_region(layout: Layout, start: int, limit: int) -> TitleSpan | None:
    """Free text and the brackets that belong to it, up to the end of the name."""
    line = layout.line
    while start < limit and line[start] in _BLANK:
        start += 1
    end = line.find(MASKED, start, limit)
    end = limit if end < 0 else end
    for segment, role in zip(layout.segments, layout.roles, strict=True):
        if role is BracketRole.NUMBER and start < segment.start <= end:
            end = segment.start - 1
            break
    technical = TECHNICAL_WORD.search(line, start, end)
    if technical is not None and _SIGN.search(line, start, technical.start()):
        end = technical.start()
    contents = _CONTENTS.search(line, start, end)
    if contents is not None and CJK.search(line, start, contents.start()):
        end = contents.start()
    return (start, end) if _SIGN.search(line, start, end) else None


def _with_kind(layout: Layout, region: TitleSpan, numbering: Numbering | None) -> TitleSpan:
    """A kind beside its number belongs to a Latin name, as it does without a number (`Sea OVA3`);
    but `Sea - OVA 3` names it apart. A dot that joins name and number is not part of the name."""
    start, end = region
    if numbering is None or end != numbering.start:
        return region
    if numbering.rule == "number of a kind" and not CJK.search(layout.line, start, end):
        is_apart = layout.line[start:end].rstrip().endswith("-")
        kind = _KIND_WORD.match(layout.line, end)
        if kind is None and not is_apart:
            kind = _KIND_APART.match(layout.line, end)
        return (start, kind.end()) if kind else region
    return (start, end - 1) if layout.line[end - 1] == "." else region


def _numbered_name(layout: Layout, numbering: Numbering | None) -> list[TitleSpan]:
    """`Episode 14 Name of the show`, `[S02E05] Name of the show`; but words after a dash are the
    name of the episode."""
    if numbering is None:
        return []
    if layout.roles[0] is BracketRole.NUMBER and _CODED.match(layout.line, numbering.start):
        region = _free_region(layout, layout.segments[0].end + 1, len(layout.line))
        return [region] if region else []
    if numbering.rule in _LEADING_RULES and not _DASH_NEXT.match(layout.line, numbering.end):
        region = _free_region(layout, numbering.end, len(layout.line))
        return [region] if region else []
    return []
