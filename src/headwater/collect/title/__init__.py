"""A release's title read: `read_title` says what it means and why."""

from collections.abc import Mapping

from headwater.collect.title.paths import is_path, read_path
from headwater.collect.title.reading import NO_ALIASES, Reading, read_name
from headwater.collect.title.text import tidy
from headwater.collect.title.trace import Finding

__all__ = ["Finding", "Reading", "read_title"]


LONGEST = 4096
"""What comes after so many characters of a title is not read."""


def read_title(
    title: str, *, aliases: Mapping[str, str] = NO_ALIASES, longest: int = LONGEST
) -> Reading:
    """The release a title speaks of. Never fails: what is not understood is left out.

    `aliases` has, for other names of a group (casefolded), the name to answer instead.
    """
    text = tidy(title[:longest])
    return read_path(text, aliases) if is_path(text) else read_name(text, aliases)
