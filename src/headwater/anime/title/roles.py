"""Step 4 of reading a title: the role of each bracket, such as technical, number, remark or words.

Words may be a name of the show or of the group.
"""

import re
from enum import StrEnum
from functools import lru_cache

from headwater.anime.subtitles import is_code_with_label, subtitles_by_label
from headwater.anime.title import number_patterns
from headwater.anime.title.episode import YEARS
from headwater.anime.title.terms import CHECKSUM, SIZE, is_technical


class BracketRole(StrEnum):
    TECHNICAL = "technical"
    CHECKSUM = "checksum"
    REMARK = "remark"
    YEAR = "year"
    NUMBER = "number"
    KIND = "kind"
    WORDS = "words"


DATE = re.compile(r"(?<!\d)(?:19|20)\d\d[.\-/年 ]\d{1,2}[.\-/月 ]\d{1,2}日?(?!\d)")
_YEAR = re.compile(r"(?:19|20)\d\d年?")
_REMARK = re.compile(
    r"★?(?:\d{2,4}年?)?(?:\d{1,2}|[一二三四五六七八九十]{1,2})月(?:新?番|新作)?(?:动画|動畫)?★?"
    r"|\d{2,4}年?(?:日剧|日劇|日漫|国漫|國漫|[春夏秋冬]季?)|国漫|國漫|日漫|日剧|日劇|韩剧|美剧|港剧|台剧"
    r"|国产动画|國產動畫|新番|[老旧舊]番|连载|連載|动漫|動漫|动画|動畫|特摄|特攝|连载中|完[结結]|[季]度?新番"
    r"|[a-z]+(?:id)?=[\w-]+| *www\.[\w.-]+ *"
)
_RECRUITING = re.compile(
    "招募|急招|招人|招新|检索|檢索|搜索|搜尋|复制磁|複製磁|内详|內詳|请斟酌|請斟酌|附.{0,4}字幕|诚招|誠招"
)
_KIND = re.compile(
    r"(?:the )?(?:movie|tv(?: series)?|ova|oad|ona|sp|special|tv special"
    r"|(?:ncop|nced|pv|cm|menu) ?\d{0,2}|op|ed"
    r"|[剧劇][场場]版|映画|[电電]影|特典|特[别別][篇編编]|番外篇?|[总總]集篇)"
    r"(?: ?[&+] ?(?:ova|oad|sp|nced|movie))?(?: ?v\d)?"
)
SEASON_CODE = re.compile(r"s\d{1,2}(?: ?e[p]?\d.*)?(?: ?(?:fin|end|完))?")


REMEMBERED = 4096
"""Contents whose roles are cached: feeds repeat `1080p` and `简体内嵌` in every title."""
LONGEST_REMEMBERED = 40


def role_of(content: str) -> BracketRole:
    """The role of a bracket's folded content."""
    content = content.strip(" .-_")
    return _cached_role(content) if len(content) <= LONGEST_REMEMBERED else _role(content)


def _role(content: str) -> BracketRole:
    if not content:
        return BracketRole.REMARK
    if CHECKSUM.fullmatch(content):
        return BracketRole.CHECKSUM
    if _YEAR.fullmatch(content) and YEARS[0] <= int(content[:4]) <= YEARS[1]:
        return BracketRole.YEAR
    if DATE.fullmatch(content) or SIZE.fullmatch(content) or _REMARK.fullmatch(content):
        return BracketRole.REMARK
    if _KIND.fullmatch(content):
        return BracketRole.KIND
    if is_technical(content):
        return BracketRole.TECHNICAL
    if _is_number(content):
        return BracketRole.NUMBER
    if _RECRUITING.search(content):
        return BracketRole.REMARK
    if subtitles_by_label(content) or is_code_with_label(content):
        return BracketRole.TECHNICAL
    return BracketRole.WORDS


def _is_number(content: str) -> bool:
    return bool(
        number_patterns.IN_BRACKETS.match(f"[{content}]", 1)
        or _is_wide_range(content)
        or number_patterns.SEASON_X_EPISODE.fullmatch(content)
        or number_patterns.SEASON_DASH.fullmatch(content)
        or number_patterns.CHINESE_COUNTED.match(content)
        or number_patterns.COUNTED_EPISODE.match(content)
        or number_patterns.N_OF_TOTAL.fullmatch(content)
        or number_patterns.EPISODE_TOTAL.match(content)
        or number_patterns.NAMED_EPISODE.match(content)
        or SEASON_CODE.fullmatch(content)
    )


def _is_wide_range(content: str) -> bool:
    match = number_patterns.WIDE_RANGE.match(f"[{content}", 1)
    return match is not None and int(match["first"]) < int(match["last"])


_cached_role = lru_cache(REMEMBERED)(_role)
