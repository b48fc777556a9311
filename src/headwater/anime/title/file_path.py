"""Step 2 of reading a title: of a file's path, read the name first, then the folders above it.

The folders give the fields that the name leaves out.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from headwater.anime.title.read_name import TitleReading, read_name

_ROOTED = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")
_FOLDER_THEN_FILE = re.compile(r"[\]】]/[\[【]")
_FOLDER_THEN_FILE_SLASH = re.compile(r"(?<=[\]】])/(?=[\[【])")
_SEPARATOR = re.compile(r"[\\/]+")
_SEASON_FOLDER = re.compile(r"(?i)(?:season|s|第)? ?(\d{1,2}) ?[季期]?|specials?")
_FOLDER_FIELDS = frozenset(("title", "titles", "other_titles", "season", "year"))
MOST_FOLDERS = 3
"""Folders above a file that are read for the fields its name leaves out."""


def is_path(text: str) -> bool:
    """Whether a title is the path of a file."""
    return _ROOTED.match(text) is not None or _FOLDER_THEN_FILE.search(text) is not None


def read_path(path: str, aliases: Mapping[str, str]) -> TitleReading:
    """Read a release from a file's name and the folders it lies in."""
    split = _SEPARATOR if _ROOTED.match(path) else _FOLDER_THEN_FILE_SLASH
    *folders, name = [part for part in split.split(path) if part] or [""]
    reading = read_name(name, aliases)
    for folder in reversed(folders[-MOST_FOLDERS:]):
        if reading.release.title is not None and reading.release.year is not None:
            break
        reading = _complete_from_folder(reading, folder, aliases)
    return reading


def _complete_from_folder(
    reading: TitleReading, folder: str, aliases: Mapping[str, str]
) -> TitleReading:
    folder_reading = read_name(folder, aliases)
    release, above = reading.release, folder_reading.release
    if release.title is not None and above.title is not None:
        if release.title.casefold() != above.title.casefold():
            return reading
    named = release.title is not None
    bare_season = _SEASON_FOLDER.fullmatch(folder.strip())
    return TitleReading(
        replace(
            release,
            title=release.title if named or bare_season else above.title,
            titles=release.titles if named or bare_season else above.titles,
            other_titles=release.other_titles if named or bare_season else above.other_titles,
            season=above.season if release.season is None else release.season,
            year=above.year if release.year is None else release.year,
        ),
        reading.notes + tuple(note for note in folder_reading.notes if note[0] in _FOLDER_FIELDS),
    )
