"""A show that a person collects, and how its releases are numbered."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from headwater.anime.release import ReleaseKind
from headwater.core.errors import BadInput
from headwater.core.values.keep import KEEP, Keep

LONGEST_TITLE = 512
MOST_TITLES = 32
MOST_SEASON = 9999
MOST_EPISODES = 9999


@dataclass(frozen=True, slots=True)
class Show:
    """Title, year and season are the user's, and name the folders of the library.

    `episode_offset` is added to the number in a title: -12 makes 13 the first of this season.
    `episodes` is the number of the season's episodes, where that is known. `titles` are the names
    of its releases; without any, every release of the feed belongs to this show. `main_kind` is
    the kind of the season itself: ReleaseKind.MOVIE for a film, ReleaseKind.OVA for a series of
    OVAs; None for a series. `specials` gives numbers in Season 00 to episodes that have none
    there: {"12.5": 1, "OVA1": 2}.
    """

    title: str
    year: int | None = None
    season: int = 1
    episode_offset: int = 0
    episodes: int | None = None
    titles: tuple[str, ...] = ()
    main_kind: ReleaseKind | None = None
    specials: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_film(self) -> bool:
        return self.main_kind is ReleaseKind.MOVIE


def check_show(show: Show) -> Show:
    """BadInput for a show that no library could hold."""
    if not show.title.strip() or len(show.title) > LONGEST_TITLE:
        raise BadInput(f"A show has a title of 1 to {LONGEST_TITLE} characters.")
    if show.year is not None and not 1900 <= show.year <= 2999:
        raise BadInput("The year of a show has four digits.", year=show.year)
    if not 0 <= show.season <= MOST_SEASON:
        raise BadInput(f"A season is a number from 0 to {MOST_SEASON}.", season=show.season)
    if abs(show.episode_offset) > MOST_EPISODES:
        raise BadInput("The episode offset is too large.", episode_offset=show.episode_offset)
    if show.episodes is not None and not 1 <= show.episodes <= MOST_EPISODES:
        raise BadInput(f"A season has 1 to {MOST_EPISODES} episodes.", episodes=show.episodes)
    if len(show.titles) > MOST_TITLES:
        raise BadInput(f"A show has at most {MOST_TITLES} other titles.")
    for label, number in show.specials.items():
        if not 0 <= number <= MOST_EPISODES:
            raise BadInput("The number of a special is too large.", special=label, number=number)
    return show


@dataclass(frozen=True, slots=True)
class ShowPatch:
    """`KEEP` leaves a field as it is; for a new show, as its feed proposes. `air_weekday`: 0 is
    Monday."""

    title: str | Keep = KEEP
    year: int | Keep | None = KEEP
    season: int | Keep = KEEP
    episode_offset: int | Keep = KEEP
    episodes: int | Keep | None = KEEP
    titles: tuple[str, ...] | Keep = KEEP
    main_kind: ReleaseKind | Keep | None = KEEP
    specials: Mapping[str, int] | Keep = KEEP
    air_weekday: int | Keep | None = KEEP

    def changes(self) -> dict[str, Any]:
        """The fields that were set."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not KEEP}


def apply_show_patch(show: Show, patch: ShowPatch) -> Show:
    """BadInput for a show that no library could hold."""
    changes = patch.changes()
    changes.pop("air_weekday", None)
    return check_show(replace(show, **changes))


def apply_weekday_patch(weekday: int | None, patch: ShowPatch) -> int | None:
    after = weekday if patch.air_weekday is KEEP else patch.air_weekday
    if after is not None and not 0 <= after <= 6:
        raise BadInput("A weekday is a number from 0 (Monday) to 6 (Sunday).", air_weekday=after)
    return after


@dataclass(frozen=True, slots=True)
class TrackedShow:
    """A show in the database. `air_weekday`: 0 is Monday; None where nobody set it."""

    id: int
    show: Show
    air_weekday: int | None
    created_at: datetime
    updated_at: datetime
