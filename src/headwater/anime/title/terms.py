"""For step 4 of reading a title: technical terms such as resolutions, sources, codecs, checksums.

A strong word (1080p, x264, BDRip) is technical wherever it stands. A weak one (HD, TV, CR, GB) may
be part of a name, so it counts only beside strong ones or where nothing else stands.
"""

import re
from functools import lru_cache

from headwater.anime.title.vocabulary import WEAK_WORDS

_EDGE = r"(?<![a-z0-9])"
_NO_MORE = r"(?![a-z0-9])"

_RESOLUTION = r"\d{3,4} ?[x*] ?\d{3,4}[pi]?|(?:ai)?\d{3,4}[pi](?:\d{2})?(?:@\d{2,3}(?:fps)?)?"
_SOURCE = (
    r"(?:uhd[ .-]?)?blu-?ray(?:[ .-]?(?:rip|remux|disc))?|(?:uhd)?bd(?:-?(?:rip|remux|mv|box|iso))"
    r"|(?:r\dj?[ -]?)?dvd(?:-?(?:rip|iso|scr|r|5|9))|r2j?-?dvd|web-?dl|web-?rip|hdtv(?:rip)?"
    r"|(?:h?d?tv|vhs|ld|hd|sat|dsr|dtv|tv)-?rip|remux|pdtv|laserdisc|hdcam|hdts"
)
_VIDEO = (
    r"[xh][. ]?26[456]|hevc\d?|avc|av1|vp9|xvid|divx\d?|mpeg-?[24]?|wmv\d?|(?:8|10|12)-?bits?"
    r"|hi10p?|hi444pp?|ma10p?|yuv4\d\dp?\d*|main ?10p?|(?:23|24|25|30|50|60|120)-?fps|rv\d0|vc-?1"
)
_AUDIO = (
    r"(?:he-?)?aac(?:[x*]\d|[ .]?\d\.\d(?:ch)?)?|flac(?:[x*]\d|[ .]?\d\.\d(?:ch)?)?|e-?ac-?3"
    r"|ac-?3(?:[ .]?\d\.\d)?|dts(?:-?(?:hd|es|x))?(?:[ .-]?ma)?(?:[ .]?\d\.\d)?"
    r"|ddp?\+?(?:[ .]?\d\.\d)|eac3|qaac|opus(?:[x*]\d| ?\d\.\d)?|truehd(?:[ .]?\d\.\d)?"
    r"|atmos|l?pcm|vorbis|dual[ -]?audio"
    r"|multi[ -]?audio|tri[ -]?audio"
)
STRONG_WORD = re.compile(
    f"{_EDGE}(?:(?P<resolution>{_RESOLUTION})|(?P<source>{_SOURCE})|(?P<video>{_VIDEO})"
    f"|(?P<audio>{_AUDIO})){_NO_MORE}"
)
"""One strong word; the name of the group that matched is the field it belongs to."""

TECHNICAL_WORD = re.compile(
    rf"{_EDGE}(?:\d{{3,4}}[x*]\d{{3,4}}|\d{{3,4}}[pi]|{_SOURCE}|[xh][. ]?26[45]|hevc|avc|xvid|divx"
    rf"|10-?bits?|8-?bits?|hi10p?|aac|flac|e?ac3|dual[ -]?audio|big5|gb (?=\d|mp4)"
    rf"|vostfr|multi(?= (?:vf|vostfr))|vf(?=/vostfr)|truefrench){_NO_MORE}"
)
"""A word that ends a name, even outside brackets."""

ANY_WORD = re.compile(r"[^\s,;|()\[\]{}/_.]+(?:\.\d+(?![a-z0-9]))?")
"""The words inside a bracket."""

REMEMBERED = 4096
LONGEST_REMEMBERED = 40
"""The words of short contents are cached: feeds repeat them in every title."""

LONGEST_CODE = 4
CODES_ENOUGH = 3
"""From so many languages on, a bracket of short words is a list of them; two may be words of a
name."""

CHECKSUM = re.compile(r"[0-9a-f]{8}")
INFOHASH = re.compile(r"(?<![0-9a-z])[0-9a-f]{40}(?![0-9a-z])")
SIZE = re.compile(r"\d{1,4}(?:\.\d{1,3})? ?[kmgt]i?b")
EXTENSION = re.compile(
    r"\.(mkv|mp4|avi|ts|m2ts|wmv|mov|flv|rmvb|webm|ogm|ass|srt|ssa|sup|mka|m4v|iso|torrent|mpg|mpeg)$"
)
_LINES = re.compile(r"\d{3,4} ?[x*] ?(\d{3,4})|(?:ai)?(\d{3,4})[pi]")
_PLAIN_LINES = frozenset(("480", "540", "576", "720", "810", "1080", "1440", "2160"))
_NAMED_LINES = {"4k": "2160p", "8k": "4320p", "2k": "1440p"}


def resolution_of(word: str) -> str | None:
    """`1080p` for `1920x1080`, `1080P`, `1080i`, `[1080]`; `2160p` for `4K`."""
    if word in _PLAIN_LINES:
        return f"{word}p"
    if word in _NAMED_LINES:
        return _NAMED_LINES[word]
    if (match := _LINES.match(word)) is None:
        return None
    return f"{int(match.group(1) or match.group(2))}p"


FoundWord = tuple[str | None, int, int]
"""The field of a word (None if it is no weak word), and where it begins and ends."""


def strong_words(content: str) -> tuple[FoundWord, ...]:
    """The strong words of a bracket or of free text."""
    return (
        _cached_strong_words(content)
        if len(content) <= LONGEST_REMEMBERED
        else _strong_words(content)
    )


def _strong_words(content: str) -> tuple[FoundWord, ...]:
    return tuple((match.lastgroup, *match.span()) for match in STRONG_WORD.finditer(content))


_cached_strong_words = lru_cache(REMEMBERED)(_strong_words)


def weak_words(content: str) -> tuple[FoundWord, ...]:
    """The words of a technical bracket."""
    return (
        _cached_weak_words(content) if len(content) <= LONGEST_REMEMBERED else _weak_words(content)
    )


def _weak_words(content: str) -> tuple[FoundWord, ...]:
    return tuple(
        (WEAK_WORDS.get(match.group()), match.start(), match.end())
        for match in ANY_WORD.finditer(content)
    )


_cached_weak_words = lru_cache(REMEMBERED)(_weak_words)


def is_technical(content: str) -> bool:
    """Whether a bracket is technical: it holds a strong word, or nothing but weak ones."""
    if STRONG_WORD.search(content) or content in _PLAIN_LINES:
        return True
    words = ANY_WORD.findall(content)
    if not words:
        return False
    return all(_is_weak(word) for word in words) or _is_list_of_codes(words)


def _is_list_of_codes(words: list[str]) -> bool:
    """Whether enough of the short codes are languages: `CHS_CHT_ENG_TH_SRT`."""
    if max(map(len, words)) > LONGEST_CODE:
        return False
    return sum(WEAK_WORDS.get(word) == "language" for word in words) >= CODES_ENOUGH


def _is_weak(word: str) -> bool:
    if word in WEAK_WORDS:
        return True
    parts = re.split(r"[-+&.@]", word)
    return len(parts) > 1 and all(part in WEAK_WORDS or not part for part in parts)
