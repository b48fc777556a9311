"""A release: the fields that a title holds, and nothing that is not in the title."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

JsonValue = None | bool | int | float | str | list[str] | dict[str, str]


class ReleaseKind(StrEnum):
    """The kind of thing that was released. A plain episode has none unless its title names TV."""

    TV = "TV"
    MOVIE = "Movie"
    OVA = "OVA"
    OAD = "OAD"
    ONA = "ONA"
    SPECIAL = "SP"
    OPENING = "OP"
    ENDING = "ED"
    CREDITLESS_OPENING = "NCOP"
    CREDITLESS_ENDING = "NCED"
    PREVIEW = "PV"
    COMMERCIAL = "CM"
    MENU = "Menu"
    SOUNDTRACK = "OST"


class Subtitle(StrEnum):
    """Languages of subtitles, as release groups write them."""

    SIMPLIFIED = "CHS"
    TRADITIONAL = "CHT"
    JAPANESE = "JPN"
    ENGLISH = "ENG"
    KOREAN = "KOR"
    FRENCH = "FRE"
    GERMAN = "GER"
    SPANISH = "SPA"
    ITALIAN = "ITA"
    PORTUGUESE = "POR"
    RUSSIAN = "RUS"
    THAI = "THA"
    VIETNAMESE = "VIE"
    INDONESIAN = "IND"
    ARABIC = "ARA"


@dataclass(frozen=True, slots=True)
class Release:
    """The fields of a title: `None`, an empty tuple or an empty set where it names nothing.

    `season` is None, not 1, when no season is named; `season_end` is there for `S1-S3`. Episodes
    are decimals: 12.5 lies between 12 and 13 and is neither. `absolute` is the second number of
    `01(45)`.
    `batch` is true when the release holds several episodes, or whole seasons. `final` is true when
    a mark such as END makes this the last episode.
    """

    title: str | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    other_titles: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    season: int | None = None
    season_end: int | None = None
    part: int | None = None
    episode: Decimal | None = None
    episode_end: Decimal | None = None
    absolute: Decimal | None = None
    episode_title: str | None = None
    version: int | None = None
    kind: ReleaseKind | None = None
    batch: bool = False
    final: bool = False
    year: int | None = None
    resolution: str | None = None
    source: str | None = None
    platform: str | None = None
    video_codec: tuple[str, ...] = ()
    audio_codec: tuple[str, ...] = ()
    subtitles: frozenset[Subtitle] = frozenset()
    container: str | None = None
    checksum: str | None = None
    infohash: str | None = None

    @property
    def single_names(self) -> tuple[str, ...]:
        """Each name once, `title` first. Not the whole line, as `A / B`: no show has that name."""
        names = [name for language, name in self.titles.items() if language != "mul"]
        all_names = (self.title, *names, *self.other_titles)
        return tuple(dict.fromkeys(name for name in all_names if name))

    @property
    def names(self) -> tuple[str, ...]:
        """Each single name, and at last the whole line as written."""
        whole = self.titles.get("mul", "")
        single = self.single_names
        return single if not whole or whole in single else (*single, whole)


def plain_number(number: Decimal | None) -> int | float | None:
    """3 for 3 and 12.5 for 12.5: a number as JSON has it."""
    if number is None:
        return None
    whole = int(number)
    return whole if whole == number else float(number)


def release_as_json(release: Release) -> dict[str, JsonValue]:
    """Every field by its name, ready to be written as JSON; null where the title names nothing."""
    return {
        "title": release.title,
        "titles": list(release.names),
        "titles_by_language": dict(release.titles),
        "groups": list(release.groups),
        "season": release.season,
        "season_end": release.season_end,
        "part": release.part,
        "episode": plain_number(release.episode),
        "episode_end": plain_number(release.episode_end),
        "absolute": plain_number(release.absolute),
        "episode_title": release.episode_title,
        "version": release.version,
        "kind": release.kind,
        "batch": release.batch,
        "final": release.final,
        "year": release.year,
        "resolution": release.resolution,
        "source": release.source,
        "platform": release.platform,
        "video_codec": list(release.video_codec),
        "audio_codec": list(release.audio_codec),
        "subtitles": sorted(release.subtitles),
        "container": release.container,
        "checksum": release.checksum,
        "infohash": release.infohash,
    }
