"""Languages of subtitles, read from labels and codes, formatted and sorted.

A character counts only inside a label: 日 is a language in 简日, and part of a name in 日常.
"""

import re
from functools import lru_cache

from headwater.anime.release import Subtitle
from headwater.anime.scripts import CJK
from headwater.core.errors import BadInput

_CHS, _CHT, _JPN, _ENG = (
    Subtitle.SIMPLIFIED,
    Subtitle.TRADITIONAL,
    Subtitle.JAPANESE,
    Subtitle.ENGLISH,
)
_BY_LANGUAGES: dict[tuple[Subtitle, ...], str] = {
    (_CHS,): "chs gb gbk sc zh-hans zh-cn hans",
    (_CHT,): "cht big5 big tc zh-hant zh-tw hant",
    (_CHS, _CHT): "chi",
    (_CHS, _JPN): "jpsc scjp gbjp chsjp chsjpn jpchs",
    (_CHT, _JPN): "jptc tcjp big5jp chtjp chtjpn jpcht",
    (_ENG,): "eng en engsub english",
    (Subtitle.KOREAN,): "kor",
    (Subtitle.RUSSIAN,): "rus ru",
    (Subtitle.GERMAN,): "ger",
    (Subtitle.FRENCH,): "fre vostfr",
    (Subtitle.ITALIAN,): "ita",
    (Subtitle.SPANISH,): "spa",
    (Subtitle.PORTUGUESE,): "por pt-br",
    (Subtitle.THAI,): "tha th",
    (Subtitle.VIETNAMESE,): "vie",
    (Subtitle.INDONESIAN,): "ind",
    (Subtitle.ARABIC,): "ara arabic",
}
_CODES = {code: languages for languages, codes in _BY_LANGUAGES.items() for code in codes.split()}
_JAPANESE_CODES = frozenset(("jp", "jpn", "jap", "ja", "jpen"))

_CERTAIN = frozenset("chs cht big5 jpsc jptc zh-hans zh-hant zh-cn zh-tw gb vostfr pt-br".split())
"""Codes that count outside brackets too."""
_CODE = re.compile(r"(?<![a-z0-9])(?:zh-han[st]|zh-cn|zh-tw|pt-br|[a-z]{2,7}5?(?:jp)?)(?![a-z0-9])")
_HAN_RUN = re.compile(
    r"[简簡繁正日中英粤粵韩韓体體文语語字幕双雙三多内內嵌封外挂掛置硬软軟版&+/, -]+"
)
_LANGUAGE = re.compile("[简簡繁日中英粤粵韩韓]|正[體体]")
_SPOKEN = re.compile(r"[日国國粤粵英中][语語](?=中|配|音|发|發|双音|雙音)|[日国國粤粵]配")

_TRACKS = re.compile(r"[^;；+]{0,20}音[轨軌]")
"""The word for audio tracks: languages listed before it are those of the sound."""
_STRUCTURE = re.compile(
    r"[体體文语語字幕]|[内內][嵌封挂掛置]|外[挂掛]|[双雙][语語]|[简簡繁][日中英]|中[日英]|日[中英]"
)
_DUBBED = re.compile(r"(?<![a-z])[a-z]{2,8}[ -](?:dub(?:bed)?|audio)(?![a-z])")
_TRADITIONAL = re.compile("[雙語體內]")
_NO_SUBTITLES = re.compile(r"[无無]字幕|生肉|[无無]字")
REMEMBERED = 4096

LONGEST_REMEMBERED = 40
"""The languages of short labels are cached: feeds repeat them in every title."""


def subtitles_in_bracket(content: str) -> frozenset[Subtitle]:
    """Languages by codes and by labels, in the content of a bracket."""
    return (
        _cached_subtitles(content)
        if len(content) <= LONGEST_REMEMBERED
        else _find_subtitles(content)
    )


def _find_subtitles(content: str) -> frozenset[Subtitle]:
    return subtitles_by_code(content) | subtitles_by_label(content)


def subtitles_by_code(content: str, *, certain_only: bool = False) -> frozenset[Subtitle]:
    """Languages by their Latin codes: `GB_JP`, `CHS&JPN`, `BIG5`, `JPSC`.

    JPN beside a Chinese code is the second line of the subtitles; alone it is the spoken language.
    """
    languages: set[Subtitle] = set()
    japanese = False
    for match in _CODE.finditer(_DUBBED.sub(" ", content)):
        code = match.group()
        if code in _JAPANESE_CODES:
            japanese = True
        elif code in _CODES and (not certain_only or code in _CERTAIN):
            languages.update(_CODES[code])
    if japanese and languages & {_CHS, _CHT}:
        languages.add(_JPN)
    return frozenset(languages)


def subtitles_by_label(content: str) -> frozenset[Subtitle]:
    """Languages by Chinese labels: 简日双语, 繁體內嵌, 简繁英内封."""
    if content.isascii() or CJK.search(content) is None or _NO_SUBTITLES.search(content):
        return frozenset()
    languages: set[Subtitle] = set()
    spoken_removed = _SPOKEN.sub(" ", _TRACKS.sub(" ", content) if "音" in content else content)
    traditional = _TRADITIONAL.search(content) is not None
    for match in _HAN_RUN.finditer(spoken_removed):
        if _LANGUAGE.search(match.group()) is None:
            continue
        before = spoken_removed[max(match.start() - 1, 0) : match.start()]
        after = spoken_removed[match.end() : match.end() + 1]
        stands_alone = not CJK.match(before) and not CJK.match(after)
        if stands_alone or _STRUCTURE.search(match.group()):
            languages |= _languages_of(match.group(), traditional)
    return frozenset(languages)


def _languages_of(run: str, traditional: bool) -> set[Subtitle]:
    languages: set[Subtitle] = set()
    if "简" in run or "簡" in run:
        languages.add(_CHS)
    if "繁" in run or "正體" in run or "正体" in run or "粤" in run or "粵" in run:
        languages.add(_CHT)
    if not languages and "中" in run:
        # The label does not name which Chinese; its own script decides.
        languages.add(_CHT if traditional else _CHS)
    if "日" in run:
        languages.add(_JPN)
    if "英" in run:
        languages.add(_ENG)
    if "韩" in run or "韓" in run:
        languages.add(Subtitle.KOREAN)
    if len(languages) == 1 and ("双语" in run or "雙語" in run) and languages & {_CHS, _CHT}:
        languages.add(_JPN)
    return languages


_cached_subtitles = lru_cache(REMEMBERED)(_find_subtitles)


def is_code_with_label(content: str) -> bool:
    """Whether nothing but certain codes stands beside a label: 外挂GB/BIG5."""
    codes = _HAN_RUN.sub(" ", content).split() if not content.isascii() else []
    return bool(codes) and all(code in _CERTAIN for code in codes)


_BETWEEN = re.compile(r"[\s+&,/_・、-]+")
_SUBTITLES_BY_CODE = {language.value: language for language in Subtitle}

_CODES_ALONE = {
    "jp": Subtitle.JAPANESE,
    "ja": Subtitle.JAPANESE,
    "jap": Subtitle.JAPANESE,
    "zh": Subtitle.SIMPLIFIED,
    "chi": Subtitle.SIMPLIFIED,
    "zho": Subtitle.SIMPLIFIED,
    "ko": Subtitle.KOREAN,
    "fr": Subtitle.FRENCH,
    "de": Subtitle.GERMAN,
    "es": Subtitle.SPANISH,
    "it": Subtitle.ITALIAN,
    "pt": Subtitle.PORTUGUESE,
    "th": Subtitle.THAI,
    "vi": Subtitle.VIETNAMESE,
    "id": Subtitle.INDONESIAN,
    "ar": Subtitle.ARABIC,
}
"""Codes that count only on their own: in a title they may be words."""
_NOTHING = frozenset({"none", "无", "無", "无字幕", "無字幕"})
_LETTERS = {
    Subtitle.SIMPLIFIED: "简",
    Subtitle.TRADITIONAL: "繁",
    Subtitle.JAPANESE: "日",
    Subtitle.ENGLISH: "英",
}


def parse_language_label(label: str) -> frozenset[Subtitle]:
    """The languages of a label that stands alone: `简日`, `CHS+JPN`, `GB_JP`, `ja`; maybe none."""
    label = label.strip()
    words = [word for word in _BETWEEN.split(label.upper()) if word]
    if words and all(word in _SUBTITLES_BY_CODE for word in words):
        return frozenset(_SUBTITLES_BY_CODE[word] for word in words)
    languages = subtitles_by_label(label) | subtitles_by_code(label.lower())
    if not languages and label.lower() in _CODES_ALONE:
        return frozenset({_CODES_ALONE[label.lower()]})
    return frozenset(languages)


def parse_wanted_subtitles(label: str) -> frozenset[Subtitle]:
    """The languages that a person asks for; `none` is a release without subtitles. BadInput when
    the label names no language."""
    if label.strip().casefold() in _NOTHING:
        return frozenset()
    languages = parse_language_label(label)
    if not languages:
        raise BadInput("No language of subtitles is in this.", subtitles=label[:100])
    return languages


def sort_subtitles(subtitles: frozenset[Subtitle]) -> list[Subtitle]:
    return sorted(subtitles, key=list(Subtitle).index)


def format_subtitles(subtitles: frozenset[Subtitle]) -> str:
    """简日 where each language has a letter, else `CHS+KOR`; `none` for no languages."""
    ordered = sort_subtitles(subtitles)
    if not ordered:
        return "none"
    if all(language in _LETTERS for language in ordered):
        return "".join(_LETTERS[language] for language in ordered)
    return "+".join(ordered)
