"""Which bracket of a title is its group, where the group comes first."""

import re

from headwater.collect.title.pieces import Piece
from headwater.collect.title.roles import Role
from headwater.collect.title.scripts import CJK
from headwater.collect.title.seasons import SEASON_ALONE, season_marks
from headwater.collect.title.terms import FREE, STRONG
from headwater.collect.title.words import WEAK

LETTER = re.compile(r"[^\W\d_]")
SEASONAL = re.compile(
    r"★?(?:\d{2,4}年)?(?:\d{1,2}|[一二三四五六七八九十]{1,2})月(?:新番|番|新作)★?|[剧劇][场場]版★|★(?:[剧劇][场場]版|ova|sp|新番|[老旧舊]番|完[结結])★"
)
"""Remarks such as `★07月新番★`, which stand where a name might."""
_GROUP_WORD = re.compile("字幕|[组組社]|工作室|sub|raw|&|压制|壓制|汉化|漢化|搬运")
_SEASON_FIRST = ("第", "s", "2", "3", "4", "5")
_CODED_EPISODE = re.compile(r"(?:s\d{1,2})?e\d{1,3}(?:[-~]e?\d{1,3})?")
_COUNTED = re.compile(r"第 ?\d{1,4} ?[话話集]|\d{2,4}(?![^\W_])")
_UNSURE_GROUP = frozenset(("platform", "other", "video", "audio", "container"))


def group_at(twin: str, pieces: list[Piece], roles: list[Role | None]) -> int | None:
    """Which piece is the leading group: the first bracket, unless it is all there is of a name."""
    for at, piece in enumerate(pieces):
        role = roles[at]
        if role is None:
            if LETTER.search(twin, piece.start, piece.end):
                return None
            continue
        if role is Role.REMARK or _is_only_technical(twin[piece.start : piece.end], role):
            continue
        if not _may_be_group(twin[piece.start : piece.end].strip(), role):
            return None
        if _group_comes_last(twin, pieces, roles, at) or _dotted_name_follows(twin, pieces[at]):
            return None
        return at if _name_follows(twin, pieces, roles, at) else None
    return None


def _is_only_technical(content: str, role: Role) -> bool:
    """Some put the resolution first: `[1080P][Group][Name][05]`."""
    return role is Role.TECHNICAL and STRONG.search(content) is not None


def _may_be_group(content: str, role: Role) -> bool:
    if role is Role.WORDS:
        return SEASON_ALONE.fullmatch(content) is None
    if role is Role.NUMBER:
        return _CODED_EPISODE.fullmatch(content) is None
    if role is Role.CHECKSUM:
        return True
    return role in (Role.TECHNICAL, Role.KIND) and WEAK.get(content) in _UNSURE_GROUP


def _group_comes_last(twin: str, pieces: list[Piece], roles: list[Role | None], at: int) -> bool:
    """`[中文名][Latin name]…[05]…[Group]`: names in two scripts first, the group last."""
    words = [place for place, role in enumerate(roles) if role is Role.WORDS]
    numbers = [place for place, role in enumerate(roles) if role is Role.NUMBER]
    if len(words) != 3 or not numbers or words[:2] != [at, at + 1] or words[2] < numbers[0]:
        return False
    first, second = (twin[pieces[place].start : pieces[place].end] for place in words[:2])
    return is_foreign_name(first) and not CJK.search(second)


def is_foreign_name(content: str) -> bool:
    """Whether words in a script of East Asia are no group's."""
    return CJK.search(content) is not None and _GROUP_WORD.search(content) is None


def _dotted_name_follows(twin: str, piece: Piece) -> bool:
    """`[名字].Name.S01E05…-Group`: a scene name behind the name in another script."""
    if not is_foreign_name(twin[piece.start : piece.end]):
        return False
    return twin.startswith(".", piece.end + 1) and " " not in twin[piece.end :]


def _name_follows(twin: str, pieces: list[Piece], roles: list[Role | None], at: int) -> bool:
    """Whether a name comes after a piece, before the first number."""
    for piece, role in zip(pieces[at + 1 :], roles[at + 1 :], strict=True):
        if role is Role.WORDS:
            return True
        if role is None and _is_name(SEASONAL.sub("", twin[piece.start : piece.end])):
            return True
        if role is Role.NUMBER and roles[at] is Role.WORDS:
            return len(numbers_after(roles, at)) > 1
    return False


def _is_name(free: str) -> bool:
    """Letters other than a season's, or a single digit: episodes have two."""
    stripped = free.strip(" -_.")
    if stripped.startswith(_SEASON_FIRST):
        stripped = _after_season(stripped)
    return LETTER.search(stripped) is not None or (len(stripped) == 1 and stripped.isdigit())


def _after_season(free: str) -> str:
    """What is left of a name after a season and a counted episode, up to technical words."""
    marks = season_marks(free)
    after = free[marks[0].end :] if marks and marks[0].start == 0 else free
    after = _COUNTED.sub("", after.lstrip(), 1)
    technical = FREE.search(after)
    return after[: technical.start()] if technical else after


def numbers_after(roles: list[Role | None], at: int) -> list[int]:
    """Which pieces after a piece hold a number."""
    return [place for place in range(at + 1, len(roles)) if roles[place] is Role.NUMBER]
