"""What callers send about shows and trackings: only what is named counts, the rest is proposed."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, StrictInt, model_validator

from headwater.collect.languages import subtitles_named
from headwater.collect.patterns import LONGEST_PATTERN, MOST_PATTERNS
from headwater.collect.priority import LONGEST_NAME, MOST_NAMES, Rank, StopLine
from headwater.collect.release import Kind
from headwater.collect.show import LONGEST_TITLE, MOST_EPISODES, MOST_SEASON, MOST_TITLES
from headwater.collect.shows.wish import ShowWish
from headwater.collect.trackings.wish import NewTracking, TrackingPatch
from headwater.entrypoints.api.models import Strict, printable
from headwater.entrypoints.api.release_models import Since

MOST_SPECIALS = 500

ShowTitle = Annotated[str, Field(min_length=1, max_length=LONGEST_TITLE), AfterValidator(printable)]
Year = Annotated[StrictInt, Field(ge=1900, le=2999)]
Season = Annotated[StrictInt, Field(ge=0, le=MOST_SEASON)]
Offset = Annotated[StrictInt, Field(ge=-MOST_EPISODES, le=MOST_EPISODES)]
Episodes = Annotated[StrictInt, Field(ge=1, le=MOST_EPISODES)]
Weekday = Annotated[StrictInt, Field(ge=0, le=6, description="0 is Monday, as in Japan.")]
Special = Annotated[StrictInt, Field(ge=0, le=MOST_EPISODES)]
Label = Annotated[str, Field(min_length=1, max_length=32)]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(printable)]
Names = Annotated[list[Name], Field(max_length=MOST_NAMES)]
Words = Annotated[str, Field(min_length=1, max_length=LONGEST_PATTERN)]
PatternList = Annotated[list[Words], Field(max_length=MOST_PATTERNS)]
MainKind = Literal["TV", "Movie", "OVA", "OAD", "ONA", "SP"]


class ShowIn(Strict):
    """What is said of a show; for a new tracking the feed proposes the rest."""

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

    def wish(self) -> ShowWish:
        said: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        if "titles" in said:
            said["titles"] = tuple(said["titles"])
        if "kind" in said:
            kind = said.pop("kind")
            said["main_kind"] = None if kind is None else Kind(kind)
        return ShowWish(**said)


class NewShowIn(ShowIn):
    """A show needs a title."""

    title: ShowTitle


class StopIn(Strict):
    """What is good enough."""

    group: Name | None = None
    subtitles: Name | None = None

    def line(self) -> StopLine:
        said = self.subtitles
        return StopLine(self.group, None if said is None else subtitles_named(said))


class PreferencesIn(Strict):
    """In each list the first is the best. Subtitles are written as 简日, 繁 or CHS+JPN."""

    groups: Names = Field(default=[])
    aliases: Annotated[dict[Name, Name], Field(max_length=MOST_NAMES)] = Field(
        default={}, description="Other name of a group → its name."
    )
    subtitles: Names = Field(default=[])
    further: Annotated[list[Rank], Field(max_length=8)] = Field(default=[])
    resolutions: Names = Field(default=[])
    sources: Names = Field(default=[])
    stop: StopIn | None = None

    def said(self) -> dict[str, Any]:
        """BadInput for subtitles that name no language."""
        given: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        for name in ("groups", "further", "resolutions", "sources"):
            if name in given:
                given[name] = tuple(given[name])
        if "subtitles" in given:
            given["subtitles"] = tuple(map(subtitles_named, given["subtitles"]))
        if given.get("stop") is not None:
            given["stop"] = self.stop and self.stop.line()
        return given


class TrackingChanges(Strict):
    """Only what is named changes."""

    preferences: PreferencesIn = PreferencesIn()
    include: PatternList = Field(default=[], description="RE2; titles that none matches go.")
    exclude: PatternList = Field(default=[], description="RE2; titles that one matches go.")
    packs: StrictBool = Field(False, description="Whether packs are collected too.")
    save_path: Annotated[str, Field(max_length=1_024)] = Field(
        "", description="A folder below the library."
    )
    enabled: StrictBool = True
    since: Since | None = Field(
        None, description="What came out before is not collected; null: all of it is."
    )

    def patch(self) -> TrackingPatch:
        said: dict[str, Any] = {name: getattr(self, name) for name in self._named()}
        for name in ("include", "exclude"):
            if name in said:
                said[name] = tuple(said[name])
        return TrackingPatch(preferences=self.preferences.said(), **said)

    def _named(self) -> set[str]:
        return self.model_fields_set & set(TrackingChanges.model_fields) - {"preferences"}


class NewTrackingIn(TrackingChanges):
    """A show to collect from a feed; what is not said of it is proposed from the feed."""

    feed_url: Annotated[str, Field(min_length=1, max_length=100_000)] | None = Field(
        None, description="A feed, or a page of a site that is known; followed if it is not yet."
    )
    feed_id: str | None = None
    show_id: Annotated[StrictInt, Field(ge=1, le=2**63 - 1)] | None = None
    show: ShowIn = ShowIn()
    back_catalogue: StrictBool = Field(False, description="Collect what came out before, too.")

    @model_validator(mode="after")
    def _is_clear(self) -> Self:
        if (self.feed_url is None) == (self.feed_id is None):
            raise ValueError("name the feed by feed_url or by feed_id")
        if self.show_id is not None and self.show.model_fields_set:
            raise ValueError("name a show by show_id, or say what it is in show")
        if self.back_catalogue and "since" in self.model_fields_set:
            raise ValueError("since says how far back; back_catalogue means all of it")
        return self

    def new(self) -> NewTracking:
        return NewTracking(
            url=self.feed_url,
            feed_id=self.feed_id,
            show_id=self.show_id,
            show=self.show.wish(),
            wish=self.patch(),
            back_catalogue=self.back_catalogue,
        )
