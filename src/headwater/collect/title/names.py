"""What a show is called: the names in a title, one for each language it is told in."""

import re
from dataclasses import dataclass

from headwater.collect.title.scripts import CJK, CJK_LETTERS, HAN, HANGUL, KANA
from headwater.collect.title.seasons import SEASON_ALONE, SeasonMark, part_of, season_marks

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
_YEAR = re.compile(r"[(（\[](?:19[5-9]\d|20[0-4]\d)[)）\]]")
_DASHED_THEN_LATIN = re.compile(
    rf"(?P<first>[^-]*+-[A-Za-z][^-{CJK_LETTERS}]*+-) (?P<latin>[A-Za-z]{{2,}}[^{CJK_LETTERS}]*+)"
)
"""A Latin line between dashes is of the name before it; a whole name may follow."""
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
"""So many words of a season are taken off the front of a name."""


@dataclass(frozen=True, slots=True)
class Names:
    """`main` is what a show is called first of all; `others` are further names as written."""

    main: str | None
    by_language: dict[str, str]
    others: tuple[str, ...]


def names_in(regions: list[str], *, seasonal: bool, parted: bool) -> Names:
    """The names in one or several stretches of a title, seasons and notes taken off.

    `seasonal` and `parted` say whether the title speaks of a season, or of a part of one; `Part 2`
    of a film belongs to its name.
    """
    parts = [part for region in regions for part in _parts(region, seasonal)]
    cleaned = [name for part in parts if (name := clean_name(part, seasonal, parted))]
    if len(cleaned) > 1 and all(CJK.search(name) for name in cleaned):
        cleaned = [name for mixed in cleaned for name in _by_script(mixed)]
    if len(cleaned) > 1:
        cleaned = [name for name in cleaned if not SEASON_ALONE.fullmatch(name.lower())]
    if len(cleaned) == 1:
        cleaned = _apart_from_parens(cleaned[0])
    if len(cleaned) == 1:
        if (mixed := _latin_first(cleaned[0])) is not None:
            return Names(cleaned[0], mixed, ())
        cleaned = _by_script(cleaned[0])
    by_language: dict[str, str] = {}
    for name in cleaned:
        by_language.setdefault(language_of(name), name)
    main = next((by_language[code] for code in ("zh", "ja") if code in by_language), None)
    main = main or (cleaned[0] if cleaned else None)
    others = tuple(dict.fromkeys(name for name in cleaned if name not in by_language.values()))
    return Names(main, by_language, others)


def without_season_digit(names: Names, season: int) -> Names:
    """The names without their season's number at the end: `Isekai Quartet 3`, `OVERLORD IV`."""
    roman = _ROMAN.get(season, season)
    digit = re.compile(rf"(?:\s|(?<=[{CJK_LETTERS}！？!?])){season}$|\s{roman}$")
    return Names(
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
    """A name without its season, its year and remarks such as where it may be watched."""
    name = part.replace("_", " ")
    if _BRACKET.search(name):
        name = _YEAR.sub(" ", _REGION_NOTE.sub(" ", name))
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


def _parts(region: str, seasonal: bool) -> list[str]:
    """Where one name ends and the next begins; `22/7` and `Fate/Zero` are one name."""
    spaced = _SPACED_SLASH.split(region)
    if CJK.search(region) is None:
        return spaced
    parts = [part for piece in spaced for part in _split_bare(piece)]
    if len(parts) > 1 or _KIND_LAST.search(region):
        return parts
    if seasonal and (parts := _around_season(region)):
        return parts
    return _LATIN_DASH_HAN.split(region)


def _around_season(region: str) -> list[str]:
    """A Latin name that follows the season of a Chinese one: `名字 第二季 Namae S2`."""
    for mark in season_marks(region.lower()):
        before, after = region[: mark.start], region[mark.end :].strip(_EDGES)
        if (part := part_of(after.lower())) is not None and part[1].start() == 0:
            return []
        if CJK.search(before) and after[:1].isascii() and after[:1].isalpha():
            return [before, after] if CJK.search(after) is None else []
    return []


def _split_bare(piece: str) -> list[str]:
    """At slashes without spaces: only where a name in another script begins or has ended."""
    return [part for line in _HAN_LATIN_LINE.split(piece) for part in _slashed(line)]


def _apart_from_parens(name: str) -> list[str]:
    """A Chinese name with its others in round brackets after it: `名字 (なまえ) (Name)`."""
    found = _NAMES_IN_PARENS.fullmatch(name)
    if found is None:
        return [name]
    first = found["first"].rstrip()
    others = [other.strip() for other in _IN_PARENS.findall(name, found.end("first"))]
    known = language_of(first)
    if any(language_of(other) == known or _EDITION.search(other) for other in others):
        return [name]
    return [first, *others]


def _slashed(piece: str) -> list[str]:
    first, *rest = _SLASH.split(piece)
    parts = [first]
    for part in rest:
        if CJK.search(parts[-1]) or CJK.match(part) or _two_latin_names(piece, parts[-1], part):
            parts.append(part)
        else:
            parts[-1] += f"/{part}"
    return parts


def _two_latin_names(piece: str, before: str, after: str) -> bool:
    """Beside a name in another script, two Latin ones of several words each are two names."""
    both = " " in before.strip() and " " in after.strip()
    return both and CJK.search(piece) is not None


def _without_season(name: str, parted: bool) -> str:
    """What stands before the first word of a season; what follows, where nothing stands before."""
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
    part = part_of(folded) if parted else None
    if part is not None and not folded[part[1].end() :].strip(_EDGES):
        start, end = part[1].span()
        marks.append(SeasonMark(start, end, part[0], None, "part"))
    return min(marks, key=lambda found: found.start, default=None)


def _without_loose_bracket(name: str) -> str:
    if not name.endswith(_BRACKETS):
        return name
    for opener, closer in _PAIRS:
        if name.startswith(opener) and name.endswith(closer) and name.count(opener) == 1:
            name = name[1:-1].strip(_EDGES)
        elif name.endswith(opener) or (name.endswith(closer) and opener not in name):
            name = name[:-1].strip(_EDGES)
    return name


def _by_script(name: str) -> list[str]:
    """A Chinese name followed by a Latin one, apart; a Latin word inside a name stays in it."""
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
    """Both names in `New Doraemon 哆啦A梦新番`; the whole stays what the show is called."""
    first = CJK.search(name)
    if first is None or not name[:1].isascii() or not name[:1].isalpha():
        return None
    latin, han = name[: first.start()], name[first.start() :]
    if not latin.endswith(" ") or len(han) < 2 or _TWO_LATIN.search(han):
        return None
    return {language_of(han): han, "en": latin.strip(_EDGES)}
