"""Records of shows and episodes: what callers send about them, and what they get."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StrictInt

from headwater.anime.episodes.episodes import Episode
from headwater.anime.release import ReleaseKind
from headwater.anime.shows.show import (
    LONGEST_TITLE,
    MOST_EPISODES,
    MOST_SEASON,
    MOST_TITLES,
    ShowPatch,
    TrackedShow,
)
from headwater.entrypoints.api.anime.release_records import SlotRecord
from headwater.entrypoints.api.models import Strict, check_printable
from headwater.entrypoints.api.records import Moment, NounRecord, Record

MOST_SPECIALS = 500
ShowTitle = Annotated[
    str, Field(min_length=1, max_length=LONGEST_TITLE), AfterValidator(check_printable)
]
Year = Annotated[StrictInt, Field(ge=1900, le=2999)]
Season = Annotated[StrictInt, Field(ge=0, le=MOST_SEASON)]
Offset = Annotated[StrictInt, Field(ge=-MOST_EPISODES, le=MOST_EPISODES)]
Episodes = Annotated[StrictInt, Field(ge=1, le=MOST_EPISODES)]
Weekday = Annotated[StrictInt, Field(ge=0, le=6, description="0 is Monday, as in Japan.")]
Special = Annotated[StrictInt, Field(ge=0, le=MOST_EPISODES)]
Label = Annotated[str, Field(min_length=1, max_length=32)]
MainKind = Literal["TV", "Movie", "OVA", "OAD", "ONA", "SP"]


class ShowIn(Strict):
    """A show. For a new tracking the feed proposes the fields that are not named."""

    title: ShowTitle = "a title"
    year: Year | None = None
    season: Season = 1
    episode_offset: Offset = Field(0, description="Added to the number in a title.")
    episodes: Episodes | None = Field(None, description="How many the season has.")
    titles: Annotated[list[ShowTitle], Field(max_length=MOST_TITLES)] = Field(
        default=[], description="What its releases are called; empty: all of the feed is this show."
    )
    kind: MainKind | None = Field(None, description="What is collected as the show itself.")
    specials: Annotated[dict[Label, Special], Field(max_length=MOST_SPECIALS)] = Field(
        default={}, description="Numbers in Season 00, such as 12.5 or OVA1."
    )
    air_weekday: Weekday | None = None

    def patch(self) -> ShowPatch:
        fields = self.named_fields()
        if "titles" in fields:
            fields["titles"] = tuple(fields["titles"])
        if "kind" in fields:
            kind = fields.pop("kind")
            fields["main_kind"] = None if kind is None else ReleaseKind(kind)
        return ShowPatch(**fields)


class NewShowIn(ShowIn):
    """A show needs a title."""

    title: ShowTitle


class ProposedShowRecord(NounRecord):
    """A show as a feed proposes it."""

    title: str
    year: int | None
    season: int
    episode_offset: int
    episodes: int | None
    titles: list[str]
    kind: str | None = Field(validation_alias="main_kind")
    specials: dict[str, int]


class ShowRecord(ProposedShowRecord):
    """`air_weekday`: 0 is Monday."""

    id: int
    air_weekday: int | None
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of_tracked(cls, tracked: TrackedShow) -> Self:
        return cls.of(
            tracked.show,
            id=tracked.id,
            air_weekday=tracked.air_weekday,
            created_at=tracked.created_at,
            updated_at=tracked.updated_at,
        )


class ShowPage(Record):
    shows: list[ShowRecord]
    next_cursor: str | None


class RemovedShowRecord(Record):
    id: int
    title: str
    removed: bool


class EpisodeRecord(NounRecord):
    """`release_id` is of a release that could be taken, and `reason` why it was not."""

    slot: SlotRecord
    state: Literal["here", "coming", "missing"]
    came_out: Moment | None
    title: str | None
    release_id: int | None
    reason: str | None


class EpisodesRecord(Record):
    """In order; `here` and `coming` count them."""

    show_id: int
    title: str
    season: int
    here: int
    coming: int
    missing: int
    episodes: list[EpisodeRecord]

    @classmethod
    def of(
        cls, show: TrackedShow, episodes: Sequence[Episode], *, only_missing: bool = False
    ) -> "EpisodesRecord":
        states = [episode.state for episode in episodes]
        return cls(
            show_id=show.id,
            title=show.show.title,
            season=show.show.season,
            here=states.count("here"),
            coming=states.count("coming"),
            missing=states.count("missing"),
            episodes=[
                EpisodeRecord.of(episode)
                for episode in episodes
                if episode.state == "missing" or not only_missing
            ],
        )
