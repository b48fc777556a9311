"""Records of shows and trackings, of what would be done, what is missing and what is expected."""

from collections.abc import Mapping
from datetime import date
from typing import Any, Literal

from pydantic import Field

from headwater.collect.calendar import Airing
from headwater.collect.episodes import Episode
from headwater.collect.languages import subtitles_in_words
from headwater.collect.priority import Preferences, StopLine
from headwater.collect.proposal import Proposal
from headwater.collect.show import Show
from headwater.collect.tracking import TrackedShow, Tracking
from headwater.collect.trackings.queries import TrackedFeed
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.release_records import SlotRecord
from headwater.outlook import Preview, Previewed


def _of_show(show: Show) -> dict[str, Any]:
    return {
        "title": show.title,
        "year": show.year,
        "season": show.season,
        "episode_offset": show.episode_offset,
        "episodes": show.episodes,
        "titles": list(show.titles),
        "kind": show.main_kind,
        "specials": dict(show.specials),
    }


class ProposedShowRecord(Record):
    """A show as a feed proposes it."""

    title: str
    year: int | None
    season: int
    episode_offset: int
    episodes: int | None
    titles: list[str]
    kind: str | None
    specials: dict[str, int]


class ShowRecord(ProposedShowRecord):
    """`air_weekday`: 0 is Monday."""

    id: int
    air_weekday: int | None
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, each: TrackedShow) -> "ShowRecord":
        return cls(
            id=each.id,
            air_weekday=each.air_weekday,
            created_at=each.created_at,
            updated_at=each.updated_at,
            **_of_show(each.show),
        )


class ShowPage(Record):
    shows: list[ShowRecord]
    next_cursor: str | None


class RemovedShowRecord(Record):
    id: int
    title: str
    removed: bool


class StopRecord(Record):
    group: str | None
    subtitles: str | None

    @classmethod
    def of(cls, stop: StopLine) -> "StopRecord":
        said = stop.subtitles
        return cls(group=stop.group, subtitles=None if said is None else subtitles_in_words(said))


class PreferencesRecord(Record):
    """In each list the first is the best."""

    groups: list[str]
    aliases: dict[str, str]
    subtitles: list[str]
    further: list[str]
    resolutions: list[str]
    sources: list[str]
    stop: StopRecord | None

    @classmethod
    def of(cls, given: Preferences) -> "PreferencesRecord":
        return cls(
            groups=list(given.groups),
            aliases=dict(given.aliases),
            subtitles=[subtitles_in_words(each) for each in given.subtitles],
            further=list(given.further),
            resolutions=list(given.resolutions),
            sources=list(given.sources),
            stop=None if given.stop is None else StopRecord.of(given.stop),
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


class CountedRecord(Record):
    name: str
    releases: int


class ProposalRecord(Record):
    """`show` is null where the feed is of several shows, or of none: `shows` are all of them then.
    `because` has the reasons. Of the `releases` that the feed lists, `of_show` are of it."""

    feed_id: str
    show: ProposedShowRecord | None
    because: dict[str, str]
    groups: list[CountedRecord]
    titles: list[CountedRecord]
    releases: int
    of_show: int
    shows: list[ProposedShowRecord]

    @classmethod
    def of(cls, feed_id: str, found: Proposal) -> "ProposalRecord":
        return cls(
            feed_id=feed_id,
            show=None if found.show is None else ProposedShowRecord(**_of_show(found.show)),
            because=dict(found.because),
            groups=[CountedRecord(name=name, releases=n) for name, n in found.groups.items()],
            titles=[CountedRecord(name=name, releases=n) for name, n in found.titles.items()],
            releases=found.releases,
            of_show=found.of_show,
            shows=[ProposedShowRecord(**_of_show(each)) for each in found.shows],
        )


class PreviewedRecord(Record):
    """`replaces` are the titles of releases that would lose their place."""

    title: str
    entry_uid: str
    published: Moment | None
    action: str
    rule: str
    reason: str
    slots: list[SlotRecord]
    groups: list[str]
    replaces: list[int] = Field(description="Ids of the downloads that would lose a place.")

    @classmethod
    def of(cls, each: Previewed) -> "PreviewedRecord":
        deciding = each.deciding
        candidate, release = deciding.offer.candidate, deciding.offer.release
        return cls(
            title=candidate.title,
            entry_uid=candidate.uid,
            published=candidate.published,
            action=deciding.action,
            rule=deciding.rule,
            reason=deciding.reason,
            slots=[SlotRecord.of(slot) for slot in deciding.slots],
            groups=list(release.groups),
            replaces=[int(one.standing.id) for one in each.replaces],
        )


class PreviewRecord(Record):
    """`removed` has every rule of the filter; `cut`: the feed keeps more than was looked at."""

    tracking_id: int
    removed: dict[str, int]
    decided: dict[str, int]
    entries: list[PreviewedRecord]
    cut: bool

    @classmethod
    def of(cls, tracking_id: int, found: Preview) -> "PreviewRecord":
        newest = sorted(
            found.entries, key=lambda each: each.deciding.offer.candidate.moment, reverse=True
        )
        return cls(
            tracking_id=tracking_id,
            removed=dict(found.removed),
            decided=dict(found.decided),
            entries=[PreviewedRecord.of(each) for each in newest],
            cut=found.is_cut,
        )


class EpisodeRecord(Record):
    """`release_id` is of a release that could be taken, and `reason` why it was not."""

    slot: SlotRecord
    state: Literal["here", "coming", "missing"]
    came_out: Moment | None
    title: str | None
    release_id: int | None
    reason: str | None

    @classmethod
    def of(cls, each: Episode) -> "EpisodeRecord":
        return cls(
            slot=SlotRecord.of(each.slot),
            state=each.state,
            came_out=each.came_out,
            title=each.title,
            release_id=each.release_id,
            reason=each.reason,
        )


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
        cls, show: TrackedShow, every: list[Episode], *, only_missing: bool = False
    ) -> "EpisodesRecord":
        states = [each.state for each in every]
        told = [each for each in every if each.state == "missing" or not only_missing]
        return cls(
            show_id=show.id,
            title=show.show.title,
            season=show.show.season,
            here=states.count("here"),
            coming=states.count("coming"),
            missing=states.count("missing"),
            episodes=[EpisodeRecord.of(each) for each in told],
        )


class MissingRecord(Record):
    """Only shows that miss something."""

    shows: list[EpisodesRecord]


class AiringRecord(Record):
    """`moment` is null where only the day is known; days are those of Japan."""

    show_id: int
    title: str
    slot: SlotRecord
    state: Literal["came", "expected", "late"]
    day: date
    moment: Moment | None

    @classmethod
    def of(cls, each: Airing) -> "AiringRecord":
        return cls(
            show_id=each.show_id,
            title=each.title,
            slot=SlotRecord.of(each.slot),
            state=each.state,
            day=each.day,
            moment=each.moment,
        )


class CalendarRecord(Record):
    """In order of time."""

    episodes: list[AiringRecord]
