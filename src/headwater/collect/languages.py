"""Languages of subtitles as people and files name them."""

import re

from headwater.collect.release import Subtitle
from headwater.collect.title.labels import codes_in, labels_in
from headwater.errors import BadInput

_BETWEEN = re.compile(r"[\s+&,/_・、-]+")
_CODES = {language.value: language for language in Subtitle}
_ALONE = {
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
"""Codes that say nothing in a title, where they may be words, but everything on their own."""

_NOTHING = frozenset({"none", "无", "無", "无字幕", "無字幕"})
_LETTERS = {
    Subtitle.SIMPLIFIED: "简",
    Subtitle.TRADITIONAL: "繁",
    Subtitle.JAPANESE: "日",
    Subtitle.ENGLISH: "英",
}


def languages_in(label: str) -> frozenset[Subtitle]:
    """What a label means that stands alone: `简日`, `CHS+JPN`, `GB_JP`, `ja`; maybe nothing."""
    given = label.strip()
    words = [word for word in _BETWEEN.split(given.upper()) if word]
    if words and all(word in _CODES for word in words):
        return frozenset(_CODES[word] for word in words)
    found = labels_in(given) | codes_in(given.lower())
    if not found and given.lower() in _ALONE:
        return frozenset({_ALONE[given.lower()]})
    return frozenset(found)


def subtitles_named(label: str) -> frozenset[Subtitle]:
    """What a person asks for; `none` is a release without subtitles. BadInput for no language."""
    if label.strip().casefold() in _NOTHING:
        return frozenset()
    found = languages_in(label)
    if not found:
        raise BadInput("No language of subtitles is in this.", subtitles=label[:100])
    return found


def in_order(subtitles: frozenset[Subtitle]) -> list[Subtitle]:
    return sorted(subtitles, key=list(Subtitle).index)


def subtitles_in_words(subtitles: frozenset[Subtitle]) -> str:
    """简日 where there are letters for all of them, `CHS+KOR` where not, `none` for none."""
    ordered = in_order(subtitles)
    if not ordered:
        return "none"
    if all(language in _LETTERS for language in ordered):
        return "".join(_LETTERS[language] for language in ordered)
    return "+".join(ordered)
