"""Records of trackings: what callers send about them, and what they get."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, StrictInt, model_validator

from headwater.anime.shows.preferences import LONGEST_NAME, MOST_NAMES, Rank, StopLine
from headwater.anime.shows.show import TrackedShow
from headwater.anime.shows.tracking import NewTracking, Tracking, TrackingPatch
from headwater.anime.shows.tracking_rows import TrackedFeed
from headwater.anime.subtitles import parse_wanted_subtitles
from headwater.anime.user_patterns import LONGEST_PATTERN, MOST_PATTERNS
from headwater.entrypoints.api.anime.release_records import Since
from headwater.entrypoints.api.anime.show_records import ShowIn, ShowRecord
from headwater.entrypoints.api.models import Strict, check_printable
from headwater.entrypoints.api.records import Moment, NounRecord, Record

PreferenceName = Annotated[
    str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(check_printable)
]
PreferenceNames = Annotated[list[PreferenceName], Field(max_length=MOST_NAMES)]
TitlePattern = Annotated[str, Field(min_length=1, max_length=LONGEST_PATTERN)]
PatternList = Annotated[list[TitlePattern], Field(max_length=MOST_PATTERNS)]


class StopLineIn(Strict):
    """A release that is good enough: nothing better is looked for after it."""

    group: PreferenceName | None = None
    subtitles: PreferenceName | None = None

    def stop_line(self) -> StopLine:
        subtitles = self.subtitles
        return StopLine(
            self.group, None if subtitles is None else parse_wanted_subtitles(subtitles)
        )


class PreferencesIn(Strict):
    """In each list the first is the best. Subtitles are written as 简日, 繁 or CHS+JPN."""

    groups: PreferenceNames = Field(default=[])
    aliases: Annotated[dict[PreferenceName, PreferenceName], Field(max_length=MOST_NAMES)] = Field(
        default={}, description="Other name of a group → its name."
    )
    subtitles: PreferenceNames = Field(default=[])
    further: Annotated[list[Rank], Field(max_length=8)] = Field(default=[])
    resolutions: PreferenceNames = Field(default=[])
    sources: PreferenceNames = Field(default=[])
    stop: StopLineIn | None = None

    def named_preferences(self) -> dict[str, Any]:
        """Those that the caller named. BadInput for subtitles that name no language."""
        fields = self.named_fields()
        for name in ("groups", "further", "resolutions", "sources"):
            if name in fields:
                fields[name] = tuple(fields[name])
        if "subtitles" in fields:
            fields["subtitles"] = tuple(map(parse_wanted_subtitles, fields["subtitles"]))
        if self.stop is not None:
            fields["stop"] = self.stop.stop_line()
        return fields


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
        names = TrackingChanges.model_fields.keys() - {"preferences"}
        fields = {name: value for name, value in self.named_fields().items() if name in names}
        for name in ("include", "exclude"):
            if name in fields:
                fields[name] = tuple(fields[name])
        return TrackingPatch(preferences=self.preferences.named_preferences(), **fields)


class NewTrackingIn(TrackingChanges):
    """A show to collect from a feed. Fields of the show that are not named are proposed from it."""

    feed_url: Annotated[str, Field(min_length=1, max_length=100_000)] | None = Field(
        None, description="A feed, or a page of a site that is known; followed if it is not yet."
    )
    feed_id: str | None = None
    show_id: Annotated[StrictInt, Field(ge=1, le=2**63 - 1)] | None = None
    show: ShowIn = ShowIn()
    back_catalogue: StrictBool = Field(False, description="Collect what came out before, too.")

    @model_validator(mode="after")
    def _check_is_clear(self) -> Self:
        if (self.feed_url is None) == (self.feed_id is None):
            raise ValueError("name the feed by feed_url or by feed_id")
        if self.show_id is not None and self.show.model_fields_set:
            raise ValueError("name a show by show_id, or say what it is in show")
        if self.back_catalogue and "since" in self.model_fields_set:
            raise ValueError("since says how far back; back_catalogue means all of it")
        return self

    def tracking(self) -> NewTracking:
        return NewTracking(
            url=self.feed_url,
            feed_id=self.feed_id,
            show_id=self.show_id,
            show=self.show.patch(),
            patch=self.patch(),
            back_catalogue=self.back_catalogue,
        )


class StopLineRecord(NounRecord):
    group: str | None
    subtitles: str | None = Field(validation_alias="subtitles_name")


class PreferencesRecord(NounRecord):
    """In each list the first is the best."""

    groups: list[str]
    aliases: dict[str, str]
    subtitles: list[str] = Field(validation_alias="subtitle_names")
    further: list[str]
    resolutions: list[str]
    sources: list[str]
    stop: StopLineRecord | None


class TrackingRecord(NounRecord):
    """`feed_state` is null when the feed is gone for good: then nothing new comes."""

    id: int
    show: ShowRecord
    feed_id: str
    feed_title: str | None
    feed_state: str | None
    preferences: PreferencesRecord
    include: list[str]
    exclude: list[str]
    packs: bool
    save_path: str
    enabled: bool
    since: Moment | None
    created_at: Moment | None
    updated_at: Moment | None

    @classmethod
    def of_tracking(
        cls, tracking: Tracking, show: TrackedShow, feed: TrackedFeed | None, **more: Any
    ) -> Self:
        return cls.of(
            tracking,
            show=ShowRecord.of_tracked(show),
            feed_title=feed and feed.title,
            feed_state=feed and feed.state,
            **more,
        )


class TrackingPage(Record):
    trackings: list[TrackingRecord]
    next_cursor: str | None


class WholeTrackingRecord(TrackingRecord):
    """`counts` says how often each rule decided so far, such as `removed:pack`."""

    counts: dict[str, int]


class NewTrackingRecord(TrackingRecord):
    """`earlier_releases` are kept and came out before the tracking begins: backfilling takes
    them."""

    earlier_releases: int


class RemovedTrackingRecord(Record):
    """`history`: whether what it decided and downloaded is still known."""

    id: int
    show_id: int
    removed: bool
    hard: bool
    history: Literal["kept", "deleted"]
