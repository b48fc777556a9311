"""Records of releases: what callers send about them, and what they get."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictInt

from headwater.anime.decide.decision import ReleaseDecision
from headwater.anime.decide.record_decisions import DecisionSummary
from headwater.anime.downloads.download import Download, DownloadState
from headwater.anime.release import release_as_json
from headwater.anime.shows.show import MOST_EPISODES, MOST_SEASON
from headwater.core.values.instant import from_micros
from headwater.entrypoints.api.errors import BadMoment
from headwater.entrypoints.api.models import Strict, parse_moment
from headwater.entrypoints.api.records import Moment, NounRecord, Record

MOST_EPISODES_NAMED = 500
"""How many episodes one request may name."""


def _parse_episode_number(value: Any) -> Decimal:
    """A whole number or a half, such as 3 or 12.5: there are no other fractions."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    number = Decimal(str(value))
    if not 0 <= number <= MOST_EPISODES or number * 2 % 1:
        raise ValueError(f"must be from 0 to {MOST_EPISODES}, whole or a half")
    return number


def _parse_since(value: object) -> datetime:
    try:
        micros = parse_moment(value if isinstance(value, str) else "", "since")
    except BadMoment as trouble:
        raise ValueError("must be an RFC 3339 time with a zone") from trouble
    assert micros is not None, "parse_moment answers None for None alone"
    return from_micros(micros)


EpisodeNumber = Annotated[
    Decimal, BeforeValidator(_parse_episode_number, json_schema_input_type=float)
]
Since = Annotated[
    datetime,
    BeforeValidator(_parse_since, json_schema_input_type=str),
    Field(description="RFC 3339; without it, all that is kept."),
]


class TakeIn(Strict):
    """Which episodes it is of, where its title does not say, or says it wrongly."""

    season: Annotated[StrictInt, Field(ge=0, le=MOST_SEASON)] | None = None
    episodes: Annotated[list[EpisodeNumber], Field(max_length=MOST_EPISODES_NAMED)] = Field(
        default=[]
    )


class BackfillIn(Strict):
    """How far back to collect."""

    since: Since | None = None


class SlotRecord(NounRecord):
    """A place in the library. A film has neither season nor episode."""

    season: int | None = Field(validation_alias="season_or_none")
    episode: int | float | None = Field(validation_alias="episode_or_none")
    name: str


class ReleaseDownloadRecord(NounRecord):
    """The download that a release became."""

    id: int
    state: DownloadState


class ReleaseRecord(NounRecord):
    """One entry that a tracking looked at. `release` is what its title says, null where it does not
    say. Addresses are left out: that of a torrent may hold somebody's key."""

    id: int
    tracking_id: int
    feed_id: str
    entry_uid: str
    title: str
    action: Literal["fetch", "upgrade", "skip", "hold", "removed", "refused"]
    rule: str
    reason: str
    slots: list[SlotRecord]
    release: dict[str, Any]
    infohash: str | None
    size: int | None = Field(description="In bytes, as the site says.")
    seeders: int | None = Field(description="When the entry was first seen.")
    doubts: list[str] = Field(description="Contradictions in what the entry says.")
    published: Moment | None
    first_seen: Moment
    found_at: Moment = Field(description="When the tracking first looked at it.")
    decided_at: Moment
    download: ReleaseDownloadRecord | None

    @classmethod
    def of_decision(cls, decision: ReleaseDecision, download: Download | None) -> "ReleaseRecord":
        candidate = decision.candidate
        return cls.of(
            decision,
            feed_id=candidate.feed,
            entry_uid=candidate.uid,
            title=candidate.title,
            release=release_as_json(decision.release),
            infohash=candidate.infohash,
            size=candidate.size,
            seeders=candidate.seeders,
            doubts=candidate.doubts,
            published=candidate.published,
            first_seen=candidate.first_seen,
            download=download,
        )


class ReleasePage(Record):
    """The newest first."""

    releases: list[ReleaseRecord]
    next_cursor: str | None


class ReleaseDecisionCountsRecord(Record):
    """How many decisions changed, by action. A decision that stays as it was is not counted."""

    tracking_id: int
    fetch: int
    upgrade: int
    hold: int
    skip: int
    removed: int

    @classmethod
    def of(cls, tracking_id: int, summary: DecisionSummary) -> "ReleaseDecisionCountsRecord":
        actions = ("fetch", "upgrade", "hold", "skip", "removed")
        counts = {action: summary.counts.get(action, 0) for action in actions}
        return cls(tracking_id=tracking_id, **counts)
