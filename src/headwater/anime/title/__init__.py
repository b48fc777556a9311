"""A release's title read: `read_title` says what it means and why."""

from collections.abc import Mapping

from headwater.anime.title.clean import clean_title
from headwater.anime.title.draft import Finding
from headwater.anime.title.file_path import is_path, read_path
from headwater.anime.title.read_name import NO_ALIASES, TitleReading, read_name

__all__ = ["Finding", "TitleReading", "read_title"]


LONGEST = 4096
"""What comes after so many characters of a title is not read."""


def read_title(
    title: str, *, aliases: Mapping[str, str] = NO_ALIASES, longest: int = LONGEST
) -> TitleReading:
    """The release a title speaks of. Never fails: what is not understood is left out.

    `aliases` has, for other names of a group (casefolded), the name to answer instead.
    """
    text = clean_title(title[:longest])
    return read_path(text, aliases) if is_path(text) else read_name(text, aliases)
