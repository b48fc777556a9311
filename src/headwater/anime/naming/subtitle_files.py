"""Subtitle files and videos by their extensions, and names for subtitles beside their video."""

import re

from headwater.anime.naming.library_path import LibraryPath
from headwater.anime.naming.safe_path import extension_of
from headwater.anime.release import Subtitle
from headwater.anime.subtitles import parse_language_label, sort_subtitles

VIDEO_EXTENSIONS = frozenset(
    """
    3gp avi divx f4v flv iso m2ts m4v mkv mov mp4 mpeg mpg mts ogm ogv rm rmvb ts vob webm wmv
    """.split()
)
SUBTITLE_EXTENSIONS = frozenset("ass idx smi srt ssa sub sup vtt".split())

_WORDS = re.compile(r"[.\s()\[\]{}【】（）]+|_(?=[^_]*$)")
_LOOKED_AT = 3
_FLAGS = {"forced": "forced", "foreign": "forced", "default": "default", "sdh": "sdh", "cc": "sdh"}
_CODES = {
    Subtitle.SIMPLIFIED: "zh",
    Subtitle.TRADITIONAL: "zh",
    Subtitle.JAPANESE: "ja",
    Subtitle.ENGLISH: "en",
    Subtitle.KOREAN: "ko",
    Subtitle.FRENCH: "fr",
    Subtitle.GERMAN: "de",
    Subtitle.SPANISH: "es",
    Subtitle.ITALIAN: "it",
    Subtitle.PORTUGUESE: "pt",
    Subtitle.RUSSIAN: "ru",
    Subtitle.THAI: "th",
    Subtitle.VIETNAMESE: "vi",
    Subtitle.INDONESIAN: "id",
    Subtitle.ARABIC: "ar",
}


def is_video(filename: str) -> bool:
    return extension_of(filename) in VIDEO_EXTENSIONS


def is_subtitle(filename: str) -> bool:
    return extension_of(filename) in SUBTITLE_EXTENSIONS


def subtitle_path(video: LibraryPath, filename: str, owner: str = "") -> LibraryPath:
    """The path beside the video, with the same stem and the language as media servers read it.
    `owner` is the former name of the video."""
    stem = f"{video.stem}{language_tail(filename, owner)}"
    return LibraryPath(video.folder, stem, extension_of(filename), video.show_folder)


def language_tail(filename: str, owner: str = "") -> str:
    """`.CHS-JPN.zh` for `….scjp.ass`. Media servers know one Chinese, by its code, which stands
    last; the part before it is shown to people, and keeps 简 and 繁 apart. Languages in the video's
    own name (`… [CHT].mkv`) belong to the video: only the rest of the subtitle's name counts."""
    words = _last_words(filename, owner)
    languages: frozenset[Subtitle] = frozenset().union(
        *(parse_language_label(word) for word in words)
    )
    flags = dict.fromkeys(flag for word in words if (flag := _FLAGS.get(word.lower())))
    ordered = sort_subtitles(languages)
    pieces = [_CODES[ordered[0]]] if ordered else []
    if len(ordered) > 1 or pieces == ["zh"]:
        pieces.insert(0, "-".join(ordered))
    return "".join(f".{piece}" for piece in (*pieces, *flags))


def _last_words(filename: str, owner: str) -> list[str]:
    """Only the end of a name has a subtitle's language; the rest belongs to the title."""
    stem, owner_stem = _stem(filename), _stem(owner)
    rest = stem.removeprefix(owner_stem) if owner_stem else ""
    if rest and rest != stem:
        words = ["", *(word for word in _WORDS.split(rest) if word)]
    else:
        words = [word for word in _WORDS.split(stem) if word]
    last_words: list[str] = []
    for word in reversed(words[1:][-_LOOKED_AT:]):
        if word.lower() not in _FLAGS and not parse_language_label(word):
            break
        last_words.append(word)
    return last_words


def _stem(filename: str) -> str:
    return filename.rpartition("/")[2].rpartition(".")[0]
