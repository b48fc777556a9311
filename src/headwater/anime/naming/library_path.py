"""The library path of a release: the folder and the name of its file."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from headwater.anime.naming.safe_path import (
    LONGEST_BYTES,
    check_folder,
    extension_of,
    is_short_enough,
    safe_name,
    safe_text,
    shorten_name,
)
from headwater.anime.naming.template import Template, TemplateValue, parse_template
from headwater.anime.release import Release, plain_number
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import Slot
from headwater.anime.subtitles import format_subtitles
from headwater.core.errors import BadInput

EPISODE_TEMPLATE = (
    "{title}< ({year})>/Season {season:02}/"
    "{title} - S{season:02}E{episode:02}< - {half}>< {groups}>< - part{part}>"
)
FILM_TEMPLATE = "{title}< ({year})>/{title}< ({year})>< {groups}>< - part{part}>"

FOR_SIDECARS = 48
"""Bytes kept free for the endings of files beside a video: `.CHS-JPN.zh.forced.ass`, ` (2)`."""

SHORTEST_LIMIT = 128
_SHORT_TITLE = 64


@dataclass(frozen=True, slots=True)
class Naming:
    """The templates of a library, and the folder below it where a tracking's files go."""

    episode: Template = field(default=parse_template(EPISODE_TEMPLATE, needs=("season", "episode")))
    film: Template = field(default=parse_template(FILM_TEMPLATE, needs=("title",)))
    folder: str = ""
    longest: int = LONGEST_BYTES


DEFAULT_NAMING = Naming()


def build_naming(
    *,
    episode: str = EPISODE_TEMPLATE,
    film: str = FILM_TEMPLATE,
    folder: str = "",
    longest: int = LONGEST_BYTES,
) -> Naming:
    """BadTemplate or BadInput for templates that cannot name files. Checked when they are saved and
    again when they are used."""
    if not SHORTEST_LIMIT <= longest <= LONGEST_BYTES:
        raise BadInput(f"A name has at most {SHORTEST_LIMIT} to {LONGEST_BYTES} bytes.")
    return Naming(
        parse_template(episode, needs=("season", "episode")),
        parse_template(film, needs=("title",)),
        check_folder(folder),
        longest,
    )


@dataclass(frozen=True, slots=True)
class LibraryPath:
    """A file's place: `folder` is relative to the library, `stem` is its name without extension.

    `show_folder` is the first part of the template, below the tracking's own folder.
    """

    folder: str
    stem: str
    extension: str
    show_folder: str

    @property
    def name(self) -> str:
        return f"{self.stem}.{self.extension}" if self.extension else self.stem

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}" if self.folder else self.name


@dataclass(frozen=True, slots=True)
class EpisodeNumbers:
    """Numbers of episodes as media servers read them: `03`, or `01-E02` for two in one file."""

    first: int
    last: int

    def padded(self, width: int) -> str:
        first = f"{self.first:0{width}}"
        return first if self.first == self.last else f"{first}-E{self.last:0{width}}"


def library_path_of(
    show: Show,
    slots: Sequence[Slot],
    release: Release,
    filename: str,
    *,
    part: int | None = None,
    naming: Naming = DEFAULT_NAMING,
) -> LibraryPath:
    """`slots` are those of this one file: one, or several that follow each other. `filename` is
    its present name, of which only the extension is kept. `part` numbers the pieces of one episode
    or film that came as several files."""
    template = naming.film if show.is_film else naming.episode
    values = _values(show, slots, release, part)
    extension = extension_of(filename)
    longest, last = naming.longest - FOR_SIDECARS, len(template.parts) - 1
    # Each part on its own: a folder's name must not depend on who released an episode.
    parts = [
        _shortened_part(template, number, values, longest - (FOR_SIDECARS if number == last else 0))
        for number in range(len(template.parts))
    ]
    *below, stem = (safe_name(text, longest=naming.longest) for text in parts)
    above = [check_folder(naming.folder)] if naming.folder else []
    return LibraryPath("/".join(above + below), stem, extension, "/".join(above + below[:1]))


def season_and_numbers(slot: Slot) -> tuple[int, EpisodeNumbers]:
    """Season and number for media servers. They read S01E12.5 as episode 12, so a half goes to
    Season 00, with ten times its number: no special of any catalogue has the number 125."""
    if slot.is_film:
        return 0, EpisodeNumbers(0, 0)
    if slot.number % 1:
        number = int(slot.number * 10)
        return 0, EpisodeNumbers(number, number)
    return slot.season, EpisodeNumbers(int(slot.number), int(slot.number))


def _values(
    show: Show, slots: Sequence[Slot], release: Release, part: int | None
) -> dict[str, TemplateValue]:
    ordered = sorted(slots)
    season, first = season_and_numbers(ordered[0])
    last = season_and_numbers(ordered[-1])[1]
    half = ordered[0].number if ordered[0].number % 1 else None
    return {
        "title": _title(show),
        "year": show.year,
        "season": season,
        "episode": EpisodeNumbers(first.first, max(first.first, last.last)),
        "half": None if half is None else str(plain_number(half)),
        "part": part,
        "groups": " ".join(f"[{safe_text(group)}]" for group in release.groups) or None,
        "resolution": release.resolution,
        "source": release.source,
        "subtitles": format_subtitles(release.subtitles) if release.subtitles else None,
        "version": release.version,
        "kind": release.kind.value if release.kind else None,
    }


def _title(show: Show) -> str:
    """A title without any safe character gets a name that still tells its show from others."""
    title = safe_text(show.title)
    return title if title.strip(". -~") else safe_name(show.title)


def _shortened_part(
    template: Template, number: int, values: dict[str, TemplateValue], longest: int
) -> str:
    """Shorten the title, then drop the groups: the number of an episode is never cut."""
    title = shorten_name(str(values["title"]), longest)
    long = len(title.encode("utf-8", "ignore"))
    rooms = [long, *range(long - long % 8, _SHORT_TITLE, -8), _SHORT_TITLE]
    tries = [{"title": shorten_name(title, room)} for room in rooms]
    tries.append({"title": shorten_name(title, _SHORT_TITLE), "groups": ""})
    text = ""
    for shorter in tries:
        text = template.rendered({**values, **shorter})[number]
        if is_short_enough(text, longest):
            return text
    return text
