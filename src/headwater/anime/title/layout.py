"""Step 5 of reading a title: its layout, which is the group, the brackets' roles and the line.

The line is the folded title with everything masked that can be no name and no number.
"""

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
    folded: str, segments: list[TitleSegment], roles: list[BracketRole | None]
) -> int | None:
    """Which segment is the leading group: the first bracket, unless the name stands only there."""
    for at, segment in enumerate(segments):
        role = roles[at]
        if role is None:
            if LETTER.search(folded, segment.start, segment.end):
                return None
            continue
        content = folded[segment.start : segment.end]
        if role is BracketRole.REMARK:
            continue
        if role is BracketRole.TECHNICAL and STRONG_WORD.search(content) is not None:
            continue  # Some put the resolution first: `[1080P][Group][Name][05]`.
        if not _may_be_group(content.strip(), role):
            return None
        if _group_comes_last(folded, segments, roles, at):
            return None
        if _dotted_name_follows(folded, segment):
            return None
        return at if _name_follows(folded, segments, roles, at) else None
    return None


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
    folded: str, segments: list[TitleSegment], roles: list[BracketRole | None], at: int
) -> bool:
    """`[中文名][Latin name]…[05]…[Group]`: names in two scripts first, the group last."""
    words = [place for place, role in enumerate(roles) if role is BracketRole.WORDS]
    numbers = [place for place, role in enumerate(roles) if role is BracketRole.NUMBER]
    if len(words) != 3 or not numbers or words[:2] != [at, at + 1] or words[2] < numbers[0]:
        return False
    first, second = (folded[segments[place].start : segments[place].end] for place in words[:2])
    return is_foreign_name(first) and not CJK.search(second)


def is_foreign_name(content: str) -> bool:
    """Whether words are in a script of East Asia, and not the name of a group."""
    return CJK.search(content) is not None and _GROUP_WORD.search(content) is None


def _dotted_name_follows(folded: str, segment: TitleSegment) -> bool:
    """`[名字].Name.S01E05…-Group`: a scene name behind the name in another script."""
    if not is_foreign_name(folded[segment.start : segment.end]):
        return False
    return folded.startswith(".", segment.end + 1) and " " not in folded[segment.end :]


def _name_follows(
    folded: str, segments: list[TitleSegment], roles: list[BracketRole | None], at: int
) -> bool:
    """Whether a name comes after a segment, before the first number."""
    for segment, role in zip(segments[at + 1 :], roles[at + 1 :], strict=True):
        if role is BracketRole.WORDS:
            return True
        if role is None and _is_name(SEASONAL.sub("", folded[segment.start : segment.end])):
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
    """The rest of a name after a season and a counted episode, up to technical words."""
    marks = season_marks(free)
    after = free[marks[0].end :] if marks and marks[0].start == 0 else free
    after = _COUNTED.sub("", after.lstrip(), 1)
    technical = TECHNICAL_WORD.search(after)
    return after[: technical.start()] if technical else after


def numbers_after(roles: list[BracketRole | None], at: int) -> list[int]:
    """Which segments after a segment hold a number."""
    return [place for place in range(at + 1, len(roles)) if roles[place] is BracketRole.NUMBER]


_WORD_NEXT = re.compile(r"[\s_]*[^\W_]")
_NUMBER_NEXT = re.compile(r"[\s_]*-[\s_]*\d\d")
_KIND_NEXT = re.compile(r"[\s_]*(?:ova|oad|ona|sp|movie|ep|e\d|episode|\d)")


@dataclass(frozen=True, slots=True)
class _Landmarks:
    """Which segment is the group, the first free text after it with letters, the last of words."""

    group: int | None
    first_free: int
    last_words: int


def masked_title(
    folded: str, segments: list[TitleSegment], roles: list[BracketRole | None], group: int | None
) -> str:
    """The folded title with the group, technical brackets and remarks masked, as long as before."""
    place = _find_landmarks(folded, segments, roles, group)
    edge = 0 if segments and segments[0].inside == "★" else 1
    parts: list[str] = []
    done = 0
    for at, segment in enumerate(segments):
        if roles[at] is None or _is_kept(folded, segments, roles, at, place):
            continue
        parts += (
            folded[done : segment.start - edge],
            MASKED * (segment.end - segment.start + 2 * edge),
        )
        done = segment.end + edge
    line = "".join((*parts, folded[done:]))
    if "月" in line or "★" in line:
        line = SEASONAL.sub(lambda match: MASKED * len(match.group()), line)
    return DATE.sub(lambda match: MASKED * len(match.group()), line)


def _is_kept(
    folded: str,
    segments: list[TitleSegment],
    roles: list[BracketRole | None],
    at: int,
    landmarks: _Landmarks,
) -> bool:
    if at == landmarks.group:
        return False
    if roles[at] is BracketRole.WORDS:
        return _may_be_name(folded, segments, at, landmarks)
    return roles[at] is BracketRole.NUMBER


def _may_be_name(folded: str, segments: list[TitleSegment], at: int, landmarks: _Landmarks) -> bool:
    """Whether words in brackets may be (part of) a name: in round ones always, in square ones
    when they stand first, or when the name goes on after them, or its number after a dash, and the
    group is another."""
    if segments[at].inside != "[" or at < landmarks.first_free:
        return True
    if at + 1 >= len(segments) or segments[at + 1].inside:
        return False
    if landmarks.group is None and at >= landmarks.last_words:
        return False
    following = segments[at + 1]
    if landmarks.group is not None and _NUMBER_NEXT.match(folded, following.start, following.end):
        return True
    goes_on = _WORD_NEXT.match(folded, following.start, following.end) is not None
    return goes_on and not _KIND_NEXT.match(folded, following.start, following.end)


def _find_landmarks(
    folded: str, segments: list[TitleSegment], roles: list[BracketRole | None], group: int | None
) -> _Landmarks:
    after = 0 if group is None else group + 1
    free = (
        at
        for at in range(after, len(segments))
        if not segments[at].inside
        and LETTER.search(SEASONAL.sub("", folded[segments[at].start : segments[at].end]))
    )
    words = (at for at in range(len(roles) - 1, -1, -1) if roles[at] is BracketRole.WORDS)
    return _Landmarks(group, next(free, len(segments)), next(words, -1))


_DOT = re.compile(r"(?<!\d)\.|\.(?!\d)|\.(?=\d{3,4}[pi](?![a-z0-9]))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Layout:
    """A title, its folded copy, and the `line`: the folded copy with all technical parts masked.

    `group` is where the leading group stands. `segments` and `roles` belong together.
    """

    text: str
    folded: str
    line: str
    segments: list[TitleSegment]
    roles: list[BracketRole | None]
    group: TitleSegment | None

    @property
    def begin(self) -> int:
        """Where the leading group ends, and names may begin."""
        return self.group.end + 1 if self.group else 0


def lay_out(text: str, folded: str) -> Layout:
    """Lay out a title: split it, find the roles and the group, mask the rest."""
    segments = split_title(folded)
    roles = [
        role_of(folded[segment.start : segment.end]) if segment.inside else None
        for segment in segments
    ]
    at = leading_group_at(folded, segments, roles)
    folded = _keep_number_as_name(folded, segments, roles, at)
    _mark_number_before_words(folded, segments, roles, at)
    group = segments[at] if at is not None else None
    text, folded = _dots_to_spaces(text, folded, segments, at)
    line = masked_title(folded, segments, roles, at)
    begin = group.end + 1 if group else 0
    return Layout(text, folded, MASKED * begin + line[begin:], segments, roles, group)


def _keep_number_as_name(
    folded: str, segments: list[TitleSegment], roles: list[BracketRole | None], at: int | None
) -> str:
    """`[Group][86][01]`: with no other name, the first of two numbers is the name. Its brackets are
    made curly, so that it is not read as a number."""
    if at is None or None in roles[at:] or BracketRole.WORDS in roles[at + 1 :]:
        return folded
    numbers = numbers_after(roles, at)
    if len(numbers) < 2:
        return folded
    roles[numbers[0]] = BracketRole.WORDS
    start, end, _ = segments[numbers[0]]
    return f"{folded[: start - 1]}{{{folded[start:end]}}}{folded[end + 1 :]}"


def _mark_number_before_words(
    folded: str, segments: list[TitleSegment], roles: list[BracketRole | None], at: int | None
) -> None:
    """`[Group][Name][04_Words]`: with no other number, a number that begins the bracket after the
    name is the episode's, and the episode's title follows it."""
    if at is None or BracketRole.NUMBER in roles:
        return
    named = False
    for place in range(at + 1, len(segments)):
        start, end, inside = segments[place]
        if named and inside == "[" and roles[place] is BracketRole.WORDS:
            if NUMBER_BEFORE_TITLE.match(folded, start, end + 1):
                roles[place] = BracketRole.NUMBER
            return
        named = (
            named
            or roles[place] is BracketRole.WORDS
            or LETTER.search(folded, start, end) is not None
        )


def _dots_to_spaces(
    text: str, folded: str, segments: list[TitleSegment], group: int | None
) -> tuple[str, str]:
    """Turn dots into spaces where free text has no spaces of its own."""
    for at, segment in enumerate(segments):
        if segment.inside or (group is not None and at <= group):
            continue
        free = folded[segment.start : segment.end].strip()
        if not free:
            continue
        if " " in free or free.count(".") < 2:
            return text, folded
        spaced = _DOT.sub(" ", folded[segment.start : segment.end])
        folded = folded[: segment.start] + spaced + folded[segment.end :]
        own = _DOT.sub(" ", text[segment.start : segment.end])
        return text[: segment.start] + own + text[segment.end :], folded
    return text, folded
