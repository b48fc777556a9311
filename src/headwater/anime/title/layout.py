"""Where things stand in a title: the group, the brackets and their roles, the line that is left."""

import re
from dataclasses import dataclass

from headwater.anime.scripts import CJK
from headwater.anime.title.number_patterns import MASKED, NUMBER_BEFORE_TITLE
from headwater.anime.title.roles import DATE, BracketRole, role_of
from headwater.anime.title.season_marks import SEASON_ALONE, season_marks
from headwater.anime.title.split import TitleSegment, split_title
from headwater.anime.title.terms import STRONG_WORD, TECHNICAL_WORD
from headwater.anime.title.vocabulary import WEAK_WORDS

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


def leading_group_at(
    twin: str, pieces: list[TitleSegment], roles: list[BracketRole | None]
) -> int | None:
    """Which piece is the leading group: the first bracket, unless it is all there is of a name."""
    for at, piece in enumerate(pieces):
        role = roles[at]
        if role is None:
            if LETTER.search(twin, piece.start, piece.end):
                return None
            continue
        if role is BracketRole.REMARK or _is_only_technical(twin[piece.start : piece.end], role):
            continue
        if not _may_be_group(twin[piece.start : piece.end].strip(), role):
            return None
        if _group_comes_last(twin, pieces, roles, at) or _dotted_name_follows(twin, pieces[at]):
            return None
        return at if _name_follows(twin, pieces, roles, at) else None
    return None


def _is_only_technical(content: str, role: BracketRole) -> bool:
    """Some put the resolution first: `[1080P][Group][Name][05]`."""
    return role is BracketRole.TECHNICAL and STRONG_WORD.search(content) is not None


def _may_be_group(content: str, role: BracketRole) -> bool:
    if role is BracketRole.WORDS:
        return SEASON_ALONE.fullmatch(content) is None
    if role is BracketRole.NUMBER:
        return _CODED_EPISODE.fullmatch(content) is None
    if role is BracketRole.CHECKSUM:
        return True
    return (
        role in (BracketRole.TECHNICAL, BracketRole.KIND)
        and WEAK_WORDS.get(content) in _UNSURE_GROUP
    )


def _group_comes_last(
    twin: str, pieces: list[TitleSegment], roles: list[BracketRole | None], at: int
) -> bool:
    """`[中文名][Latin name]…[05]…[Group]`: names in two scripts first, the group last."""
    words = [place for place, role in enumerate(roles) if role is BracketRole.WORDS]
    numbers = [place for place, role in enumerate(roles) if role is BracketRole.NUMBER]
    if len(words) != 3 or not numbers or words[:2] != [at, at + 1] or words[2] < numbers[0]:
        return False
    first, second = (twin[pieces[place].start : pieces[place].end] for place in words[:2])
    return is_foreign_name(first) and not CJK.search(second)


def is_foreign_name(content: str) -> bool:
    """Whether words in a script of East Asia are no group's."""
    return CJK.search(content) is not None and _GROUP_WORD.search(content) is None


def _dotted_name_follows(twin: str, piece: TitleSegment) -> bool:
    """`[名字].Name.S01E05…-Group`: a scene name behind the name in another script."""
    if not is_foreign_name(twin[piece.start : piece.end]):
        return False
    return twin.startswith(".", piece.end + 1) and " " not in twin[piece.end :]


def _name_follows(
    twin: str, pieces: list[TitleSegment], roles: list[BracketRole | None], at: int
) -> bool:
    """Whether a name comes after a piece, before the first number."""
    for piece, role in zip(pieces[at + 1 :], roles[at + 1 :], strict=True):
        if role is BracketRole.WORDS:
            return True
        if role is None and _is_name(SEASONAL.sub("", twin[piece.start : piece.end])):
            return True
        if role is BracketRole.NUMBER and roles[at] is BracketRole.WORDS:
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
    technical = TECHNICAL_WORD.search(after)
    return after[: technical.start()] if technical else after


def numbers_after(roles: list[BracketRole | None], at: int) -> list[int]:
    """Which pieces after a piece hold a number."""
    return [place for place in range(at + 1, len(roles)) if roles[place] is BracketRole.NUMBER]


_WORD_NEXT = re.compile(r"[\s_]*[^\W_]")
_NUMBER_NEXT = re.compile(r"[\s_]*-[\s_]*\d\d")
_KIND_NEXT = re.compile(r"[\s_]*(?:ova|oad|ona|sp|movie|ep|e\d|episode|\d)")


@dataclass(frozen=True, slots=True)
class _Landmarks:
    """Which piece is the group, the first free text after it with letters, the last of words."""

    group: int | None
    first_free: int
    last_words: int


def masked_title(
    twin: str, pieces: list[TitleSegment], roles: list[BracketRole | None], group: int | None
) -> str:
    """The twin with the group, technical brackets and remarks cut out, as long as before."""
    place = _find_landmarks(twin, pieces, roles, group)
    edge = 0 if pieces and pieces[0].inside == "★" else 1
    kept: list[str] = []
    done = 0
    for at, piece in enumerate(pieces):
        if roles[at] is None or _is_kept(twin, pieces, roles, at, place):
            continue
        kept += (twin[done : piece.start - edge], MASKED * (piece.end - piece.start + 2 * edge))
        done = piece.end + edge
    line = "".join((*kept, twin[done:]))
    if "月" in line or "★" in line:
        line = SEASONAL.sub(lambda found: MASKED * len(found.group()), line)
    return DATE.sub(lambda found: MASKED * len(found.group()), line)


def _is_kept(
    twin: str,
    pieces: list[TitleSegment],
    roles: list[BracketRole | None],
    at: int,
    place: _Landmarks,
) -> bool:
    if at == place.group:
        return False
    if roles[at] is BracketRole.WORDS:
        return _may_be_name(twin, pieces, at, place)
    return roles[at] is BracketRole.NUMBER


def _may_be_name(twin: str, pieces: list[TitleSegment], at: int, place: _Landmarks) -> bool:
    """Whether words in brackets may be (part of) a name: in round ones always, in square ones
    when they stand first, or when the name goes on after them, or its number after a dash, and the
    group is another."""
    if pieces[at].inside != "[" or at < place.first_free:
        return True
    if at + 1 >= len(pieces) or pieces[at + 1].inside:
        return False
    if place.group is None and at >= place.last_words:
        return False
    following = pieces[at + 1]
    if place.group is not None and _NUMBER_NEXT.match(twin, following.start, following.end):
        return True
    goes_on = _WORD_NEXT.match(twin, following.start, following.end) is not None
    return goes_on and not _KIND_NEXT.match(twin, following.start, following.end)


def _find_landmarks(
    twin: str, pieces: list[TitleSegment], roles: list[BracketRole | None], group: int | None
) -> _Landmarks:
    after = 0 if group is None else group + 1
    free = (
        at
        for at in range(after, len(pieces))
        if not pieces[at].inside
        and LETTER.search(SEASONAL.sub("", twin[pieces[at].start : pieces[at].end]))
    )
    words = (at for at in range(len(roles) - 1, -1, -1) if roles[at] is BracketRole.WORDS)
    return _Landmarks(group, next(free, len(pieces)), next(words, -1))


_DOT = re.compile(r"(?<!\d)\.|\.(?!\d)|\.(?=\d{3,4}[pi](?![a-z0-9]))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Layout:
    """A title, its twin, and its twin with all that is technical cut out (`line`).

    `group` is where the leading group stands. `pieces` and `roles` belong together.
    """

    text: str
    twin: str
    line: str
    pieces: list[TitleSegment]
    roles: list[BracketRole | None]
    group: TitleSegment | None

    @property
    def begin(self) -> int:
        """Where the leading group ends, and names may begin."""
        return self.group.end + 1 if self.group else 0


def lay_out(text: str, twin: str) -> Layout:
    """The layout of a title."""
    pieces = split_title(twin)
    roles = [role_of(twin[piece.start : piece.end]) if piece.inside else None for piece in pieces]
    at = leading_group_at(twin, pieces, roles)
    twin = _keep_number_as_name(twin, pieces, roles, at)
    _mark_number_before_words(twin, pieces, roles, at)
    group = pieces[at] if at is not None else None
    text, twin = _dots_to_spaces(text, twin, pieces, at)
    line = masked_title(twin, pieces, roles, at)
    begin = group.end + 1 if group else 0
    return Layout(text, twin, MASKED * begin + line[begin:], pieces, roles, group)


def _keep_number_as_name(
    twin: str, pieces: list[TitleSegment], roles: list[BracketRole | None], at: int | None
) -> str:
    """`[Group][86][01]`: with no other name, the first of two numbers is one. Its brackets are made
    curly, so that it is not read as a number."""
    if at is None or None in roles[at:] or BracketRole.WORDS in roles[at + 1 :]:
        return twin
    numbers = numbers_after(roles, at)
    if len(numbers) < 2:
        return twin
    roles[numbers[0]] = BracketRole.WORDS
    start, end, _ = pieces[numbers[0]]
    return f"{twin[: start - 1]}{{{twin[start:end]}}}{twin[end + 1 :]}"


def _mark_number_before_words(
    twin: str, pieces: list[TitleSegment], roles: list[BracketRole | None], at: int | None
) -> None:
    """`[Group][Name][04_Words]`: with no other number, one that begins the bracket after the name
    is the episode's, and its title follows."""
    if at is None or BracketRole.NUMBER in roles:
        return
    named = False
    for place in range(at + 1, len(pieces)):
        start, end, inside = pieces[place]
        if named and inside == "[" and roles[place] is BracketRole.WORDS:
            if NUMBER_BEFORE_TITLE.match(twin, start, end + 1):
                roles[place] = BracketRole.NUMBER
            return
        named = (
            named
            or roles[place] is BracketRole.WORDS
            or LETTER.search(twin, start, end) is not None
        )


def _dots_to_spaces(
    text: str, twin: str, pieces: list[TitleSegment], group: int | None
) -> tuple[str, str]:
    """Dots that stand for spaces made spaces, where free text has no other."""
    for at, piece in enumerate(pieces):
        if piece.inside or (group is not None and at <= group):
            continue
        free = twin[piece.start : piece.end].strip()
        if not free:
            continue
        if " " in free or free.count(".") < 2:
            return text, twin
        spaced = _DOT.sub(" ", twin[piece.start : piece.end])
        twin = twin[: piece.start] + spaced + twin[piece.end :]
        own = _DOT.sub(" ", text[piece.start : piece.end])
        return text[: piece.start] + own + text[piece.end :], twin
    return text, twin
