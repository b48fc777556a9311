"""Read the title of a release: `read_title` gives the release and the reason for each field.

The steps, in order. The first sentence of each module names its step.

1. `clean.py` removes invisible characters, and makes the folded copy that rules are matched on.
2. `file_path.py` splits a path: its file name and then its folders are read by the steps below.
3. `split.py` cuts a name at its brackets into segments.
4. `roles.py` finds the role of each bracket, with the words of `terms.py` and `vocabulary.py`.
5. `layout.py` finds the group's bracket, and the line in which numbers and names are looked for.
6. `episode.py` finds the episode's number, with the patterns of `number_patterns.py`.
7. `names.py` finds where the names of the show stand, and reads them; `kinds.py` reads the kind,
   `season_marks.py` and `season.py` the season, `group.py` the group.
8. `technical.py` reads resolution, source, codecs, checksum, and subtitles by `../subtitles.py`.
9. `pack.py` decides whether it is a batch or the last episode, and reads the episode's title.

`read_name.py` runs steps 3 to 9 on one name, and collects the fields in a `draft.py` draft.
"""

from collections.abc import Mapping

from headwater.anime.title.clean import clean_title
from headwater.anime.title.draft import Finding
from headwater.anime.title.file_path import is_path, read_path
from headwater.anime.title.read_name import NO_ALIASES, TitleReading, read_name

__all__ = ["Finding", "TitleReading", "read_title"]


LONGEST = 4096
"""Characters of a title that are read; the rest is ignored."""


def read_title(
    title: str, *, aliases: Mapping[str, str] = NO_ALIASES, longest: int = LONGEST
) -> TitleReading:
    """Read the release that a title names. Never fails: what is not understood is left out.

    `aliases` maps other names of a group (casefolded) to the name to give instead.
    """
    text = clean_title(title[:longest])
    return read_path(text, aliases) if is_path(text) else read_name(text, aliases)
