"""A show: what a person wants collected, and how its releases are numbered."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headwater.collect.release import Kind
from headwater.errors import BadInput

LONGEST_TITLE = 512
MOST_TITLES = 32
MOST_SEASON = 9999
MOST_EPISODES = 9999


@dataclass(frozen=True, slots=True)
class Show:
    """Title, year and season are the user's, and name the folders of the library.

    `episode_offset` is added to the number in a title: -12 makes 13 the first of this season.
    `episodes` is how many the season has, where that is known. `titles` are what its releases are
    called; without any, everything in the feed is this show. `main_kind` is what is collected as
    the season itself: Kind.MOVIE for a film, Kind.OVA for a series of OVAs; None for a series.
    `specials` are numbers in Season 00 for what has none there: {"12.5": 1, "OVA1": 2}.
    """

    title: str
    year: int | None = None
    season: int = 1
    episode_offset: int = 0
    episodes: int | None = None
    titles: tuple[str, ...] = ()
    main_kind: Kind | None = None
    specials: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_film(self) -> bool:
        return self.main_kind is Kind.MOVIE


def checked_show(show: Show) -> Show:
    """BadInput for what no library could hold."""
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
