"""Trackings over HTTP: a show and the feed it is collected from; made, changed, removed."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from fastapi import Query
from pydantic import AfterValidator, Field, StrictBool, StrictInt, model_validator
from starlette.responses import Response

from headwater.anime import tracking_commands
from headwater.anime.decide import decision_rows
from headwater.anime.episodes import preview
from headwater.anime.shows import show_rows, tracking_rows
from headwater.anime.shows.preferences import LONGEST_NAME, MOST_NAMES, Preferences, Rank, StopLine
from headwater.anime.shows.show import TrackedShow
from headwater.anime.shows.tracking import NewTracking, Tracking, TrackingPatch
from headwater.anime.shows.tracking_rows import TrackedFeed
from headwater.anime.subtitles import format_subtitles, parse_wanted_subtitles
from headwater.anime.user_patterns import LONGEST_PATTERN, MOST_PATTERNS
from headwater.entrypoints.api.anime.releases import Since
from headwater.entrypoints.api.anime.shows import ShowIn, ShowRecord
from headwater.entrypoints.api.dependencies import (
    LARGEST_ID,
    App,
    Caller,
    Cursor,
    Limit,
    RouteContext,
    TrackingId,
    json_response,
    parse_number,
    parse_public_id,
)
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.models import Strict, check_printable
from headwater.entrypoints.api.paging import cursor, decode_cursor
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router
from headwater.wiring.policies import track_policy

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(check_printable)]
Names = Annotated[list[Name], Field(max_length=MOST_NAMES)]
TitlePattern = Annotated[str, Field(min_length=1, max_length=LONGEST_PATTERN)]
PatternList = Annotated[list[TitlePattern], Field(max_length=MOST_PATTERNS)]


class StopLineIn(Strict):
    """What is good enough."""

    group: Name | None = None
    subtitles: Name | None = None

    def line(self) -> StopLine:
        said = self.subtitles
        return StopLine(self.group, None if said is None else parse_wanted_subtitles(said))


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
    stop: StopLineIn | None = None

    def said(self) -> dict[str, Any]:
        """BadInput for subtitles that name no language."""
        given: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        for name in ("groups", "further", "resolutions", "sources"):
            if name in given:
                given[name] = tuple(given[name])
        if "subtitles" in given:
            given["subtitles"] = tuple(map(parse_wanted_subtitles, given["subtitles"]))
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
            patch=self.patch(),
            back_catalogue=self.back_catalogue,
        )


class StopLineRecord(Record):
    group: str | None
    subtitles: str | None

    @classmethod
    def of(cls, stop: StopLine) -> "StopLineRecord":
        said = stop.subtitles
        return cls(group=stop.group, subtitles=None if said is None else format_subtitles(said))


class PreferencesRecord(Record):
    """In each list the first is the best."""

    groups: list[str]
    aliases: dict[str, str]
    subtitles: list[str]
    further: list[str]
    resolutions: list[str]
    sources: list[str]
    stop: StopLineRecord | None

    @classmethod
    def of(cls, given: Preferences) -> "PreferencesRecord":
        return cls(
            groups=list(given.groups),
            aliases=dict(given.aliases),
            subtitles=[format_subtitles(each) for each in given.subtitles],
            further=list(given.further),
            resolutions=list(given.resolutions),
            sources=list(given.sources),
            stop=None if given.stop is None else StopLineRecord.of(given.stop),
        )


class TrackingRecord(Record):
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
    def of(cls, each: Tracking, show: TrackedShow, feed: TrackedFeed | None) -> "TrackingRecord":
        return cls(**cls.fields_of(each, show, feed))

    @staticmethod
    def fields_of(each: Tracking, show: TrackedShow, feed: TrackedFeed | None) -> dict[str, Any]:
        return {
            "id": each.id,
            "show": ShowRecord.of(show),
            "feed_id": each.feed_id,
            "feed_title": None if feed is None else feed.title,
            "feed_state": None if feed is None else feed.state,
            "preferences": PreferencesRecord.of(each.preferences),
            "include": list(each.include),
            "exclude": list(each.exclude),
            "packs": each.packs,
            "save_path": each.save_path,
            "enabled": each.enabled,
            "since": each.since,
            "created_at": each.created_at,
            "updated_at": each.updated_at,
        }


class TrackingPage(Record):
    trackings: list[TrackingRecord]
    next_cursor: str | None


class WholeTrackingRecord(TrackingRecord):
    """`counts` says how often each rule decided so far, such as `removed:pack`."""

    counts: dict[str, int]

    @classmethod
    def whole(
        cls,
        each: Tracking,
        show: TrackedShow,
        feed: TrackedFeed | None,
        counts: Mapping[str, int],
    ) -> "WholeTrackingRecord":
        return cls(**cls.fields_of(each, show, feed), counts=dict(counts))


class NewTrackingRecord(TrackingRecord):
    """`earlier_releases` are kept and came out before the tracking begins: backfilling takes
    them."""

    earlier_releases: int

    @classmethod
    def after(
        cls, each: Tracking, show: TrackedShow, feed: TrackedFeed | None, earlier: int
    ) -> "NewTrackingRecord":
        return cls(**cls.fields_of(each, show, feed), earlier_releases=earlier)


class RemovedTrackingRecord(Record):
    """`history`: whether what it decided and downloaded is still known."""

    id: int
    show_id: int
    removed: bool
    hard: bool
    history: Literal["kept", "deleted"]


router = Router(tags=["trackings"])
ShowFilter = Annotated[
    int | None, Query(ge=1, le=LARGEST_ID, description="Only those of this show.")
]


@router.get("/trackings", right="read", response_model=TrackingPage)
async def list_trackings(
    at: RouteContext,
    show: ShowFilter = None,
    feed: Annotated[str | None, Query(description="Only those of the feed of this id.")] = None,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """In the order they were made, disabled ones too."""
    size = at.page_size(limit)
    (after,) = decode_cursor(cursor_, "trackings", 1) if cursor_ else (0,)
    of = None if feed is None else parse_public_id(feed, "feed")
    async with at.database.read() as view:
        found = await tracking_rows.list_trackings(
            view, show_id=show, feed_id=of, after=after, limit=size + 1
        )
        shown = found[:size]
        every = await show_rows.list_shows_by_id(view, sorted({each.show_id for each in shown}))
        feeds = await tracking_rows.list_feed_titles(view, (each.feed_id for each in shown))
    more = cursor("trackings", found[size - 1].id) if len(found) > size else None
    records = [
        TrackingRecord.of(each, every[each.show_id], feeds.get(each.feed_id)) for each in shown
    ]
    return json_response(TrackingPage(trackings=records, next_cursor=more))


async def show_new_tracking(tracking_id: TrackingId, app: App) -> NewTrackingRecord:
    """The answer to a tracking that was made already."""
    async with app.database.read() as view:
        tracking = await tracking_rows.get_tracking(view, tracking_id)
        show = await show_rows.get_show(view, tracking.show_id)
        feeds = await tracking_rows.list_feed_titles(view, [tracking.feed_id])
    earlier = await preview.earlier_releases(app.database, tracking, show.show)
    return NewTrackingRecord.after(tracking, show, feeds.get(tracking.feed_id), earlier)


@router.post(
    "/trackings",
    right="admin",
    status_code=201,
    location="/trackings/{id}",
    again=show_new_tracking,
)
async def track(
    body: NewTrackingIn, app: App, caller: Caller, key: IdempotencyKey
) -> NewTrackingRecord:
    """Follows the feed if it is not followed yet, proposes what is not said of the show, and visits
    at once. Only what comes out from now on is collected, unless `back_catalogue` is true."""
    new = body.new()
    if new.feed_id is not None:
        parse_public_id(new.feed_id, "feed")
    tracking = await tracking_commands.create_tracking(
        app.releases, new, track_policy(app.settings), who=caller.name, idempotency=key
    )
    return await show_new_tracking(tracking.id, app)


@router.get("/trackings/{tracking_id}", right="read", response_model=WholeTrackingRecord)
async def show_tracking(tracking_id: str, at: RouteContext) -> Response:
    """One tracking, and how often each rule decided so far."""
    return json_response(await _whole(at, parse_number(tracking_id, "tracking")))


@router.patch("/trackings/{tracking_id}", right="admin", response_model=WholeTrackingRecord)
async def change_tracking(tracking_id: str, body: TrackingChanges, at: RouteContext) -> Response:
    """Only what is named changes, and its feed is visited at once. What was decided stays, until
    it is decided again on request."""
    known = parse_number(tracking_id, "tracking")
    await tracking_commands.change_tracking(
        at.releases, known, body.patch(), track_policy(at.settings)
    )
    return json_response(await _whole(at, known))


@router.delete("/trackings/{tracking_id}", right="admin", response_model=RemovedTrackingRecord)
async def remove_tracking(tracking_id: str, at: RouteContext, hard: bool = False) -> Response:
    """Soft: nothing more is collected, and what was downloaded stays known. `hard`: its records go
    for good. Files, torrents and the feed stay."""
    gone = await tracking_commands.remove_tracking(
        at.releases, parse_number(tracking_id, "tracking"), track_policy(at.settings), hard=hard
    )
    return json_response(
        RemovedTrackingRecord(
            id=gone.id,
            show_id=gone.show_id,
            removed=True,
            hard=hard,
            history="deleted" if hard else "kept",
        )
    )


async def _whole(at: RouteContext, tracking_id: int) -> WholeTrackingRecord:
    async with at.database.read() as view:
        found = await tracking_rows.get_current_tracking(view, tracking_id)
        show = await show_rows.get_show(view, found.show_id)
        feeds = await tracking_rows.list_feed_titles(view, [found.feed_id])
        counts = await decision_rows.count_decisions_by_rule(view, tracking_id)
    return WholeTrackingRecord.whole(found, show, feeds.get(found.feed_id), counts)
