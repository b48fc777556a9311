"""Where the names of a show stand in a title."""

import re

from headwater.collect.title.layout import Layout
from headwater.collect.title.leading import LETTER, is_foreign_name
from headwater.collect.title.number_shapes import CUT
from headwater.collect.title.numbering import Numbering
from headwater.collect.title.roles import Role
from headwater.collect.title.scripts import CJK
from headwater.collect.title.seasons import season_marks
from headwater.collect.title.terms import FREE

_SIGN = re.compile(r"[^\W_]")
_YEAR = re.compile(
    r"(?<=[ .])(?:19[5-9]\d|20[0-4]\d)"
    rf"(?=$|-(?:19|20)\d\d|[ .](?:$|[{CUT}.\d ]|[es]p?\d|[a-z]+-?(?:dl|rip|ray)\b))"
)
_LOOSE_YEAR = re.compile(r"(?<=[ .])(?:19[5-9]\d|20[0-4]\d)(?=[ .]|$|-(?:19|20)\d\d)")
_CONTENTS = re.compile(
    r"(?: ?系列)?: ?(?:tv(?: ?[动動][画畫])?|[动動][画畫]|[剧劇][场場]版|ova|ona)(?=[+,; (]|$)"
)
"""Where a pack says after a colon what it holds: `Name：TV动画+剧场版+漫画`."""
_KIND_WORD = re.compile(r"[a-z]+(?=\d)")
_KIND_APART = re.compile(r"[a-z]+(?= \d)")
_BLANK = frozenset((CUT, " ", "-"))
_DASH_NEXT = re.compile(r" *[-:「]")
_LEADING_RULES = frozenset(("named episode", "counted with 第"))
_CODED = re.compile(r"(?:s\d{1,2})?e\d")
MOST_NAMES = 4
"""No more brackets than this are taken for names of one show."""

Span = tuple[int, int]


def name_regions(layout: Layout, numbering: Numbering | None) -> list[Span]:
    """Free text before the first number or technical word; else the first brackets of words."""
    limit = len(layout.line)
    if numbering is not None and numbering.start >= layout.begin:
        limit = numbering.start
    found: list[Span] = []
    for at, piece in enumerate(layout.pieces):
        if piece.start < layout.begin or piece.start >= limit:
            continue
        role = layout.roles[at]
        if role is None:
            if not _SIGN.search(layout.line, piece.start, min(piece.end, limit)):
                continue
            region = _free_region(layout, piece.start, limit)
            if region is not None:
                return _with_brackets(layout, _with_kind(layout, region, numbering), found)
        elif role is Role.WORDS and layout.line[piece.start : piece.start + 1] != CUT:
            found.append((piece.start, min(piece.end, limit)))
            if len(found) == MOST_NAMES:
                break
        elif found:
            break
    return found or _numbered_name(layout, numbering)


def _with_brackets(layout: Layout, region: Span, brackets: list[Span]) -> list[Span]:
    """A name in brackets of its own belongs to what goes on after it: `[Name] 2nd Season`,
    【名字】 / Name. So does one before a scene name: `[名字].Name.S01E05`."""
    start, end = region
    if brackets and _goes_on(layout.line, start, end):
        return [(brackets[0][0] - 1, end)]
    if not brackets or not _is_name_first(layout, brackets[0]):
        return [region]
    return [*brackets, region] if LETTER.search(layout.line, start, end) else [region]


def _is_name_first(layout: Layout, bracket: Span) -> bool:
    """Whether a title begins with a name in brackets that is no group's."""
    if layout.group is not None or bracket[0] != 1:
        return False
    return is_foreign_name(layout.twin[bracket[0] : bracket[1]])


def _goes_on(line: str, start: int, end: int) -> bool:
    """Whether free text cannot begin a name: a slash, or the words for a season."""
    if line[start] in "/|":
        return True
    marks = season_marks(line[start:end])
    return bool(marks) and marks[0].start == 0


def free_year(layout: Layout) -> re.Match[str] | None:
    """A year that ends a name outside brackets: `Twelve.Monkeys.1995.1080p`."""
    pattern = _YEAR if " " in layout.text.strip() and "." not in layout.text else _LOOSE_YEAR
    found = None
    for match in pattern.finditer(layout.line, layout.begin):
        if _SIGN.search(layout.line, layout.begin, match.start()):
            found = match
    return found


def _free_region(layout: Layout, start: int, limit: int) -> Span | None:
    """Free text and the brackets that belong to it, up to what ends a name."""
    line = layout.line
    while start < limit and line[start] in _BLANK:
        start += 1
    end = line.find(CUT, start, limit)
    end = limit if end < 0 else end
    for piece, role in zip(layout.pieces, layout.roles, strict=True):
        if role is Role.NUMBER and start < piece.start <= end:
            end = piece.start - 1
            break
    technical = FREE.search(line, start, end)
    if technical is not None and _SIGN.search(line, start, technical.start()):
        end = technical.start()
    contents = _CONTENTS.search(line, start, end)
    if contents is not None and CJK.search(line, start, contents.start()):
        end = contents.start()
    return (start, end) if _SIGN.search(line, start, end) else None


def _with_kind(layout: Layout, region: Span, numbering: Numbering | None) -> Span:
    """A kind beside its number belongs to a Latin name, as it does without one (`Sea OVA3`); but
    `Sea - OVA 3` names it apart. A dot that joins name and number is not of the name."""
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


def _numbered_name(layout: Layout, numbering: Numbering | None) -> list[Span]:
    """`Episode 14 Name of the show`, `[S02E05] Name of the show`; but what follows a dash is the
    name of the episode."""
    if numbering is None:
        return []
    if layout.roles[0] is Role.NUMBER and _CODED.match(layout.line, numbering.start):
        region = _free_region(layout, layout.pieces[0].end + 1, len(layout.line))
        return [region] if region else []
    if numbering.rule in _LEADING_RULES and not _DASH_NEXT.match(layout.line, numbering.end):
        region = _free_region(layout, numbering.end, len(layout.line))
        return [region] if region else []
    return []
