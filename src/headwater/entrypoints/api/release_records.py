"""Records of releases: what each says, what was decided of it and why; never an address."""

from typing import Any, Literal

from pydantic import Field

from headwater.collect.decisions.decided import Decided
from headwater.collect.download import Download, State
from headwater.collect.release import plain_number, release_as_json
from headwater.collect.slot import Slot
from headwater.collecting import Outcome
from headwater.entrypoints.api.records import Moment, Record


class SlotRecord(Record):
    """A place in the library. A film has neither season nor episode."""

    season: int | None
    episode: int | float | None
    name: str

    @classmethod
    def of(cls, slot: Slot) -> "SlotRecord":
        if slot.is_film:
            return cls(season=None, episode=None, name=str(slot))
        return cls(season=slot.season, episode=plain_number(slot.number), name=str(slot))


class TakenRecord(Record):
    """The download that a release became."""

    id: int
    state: State


class ReleaseRecord(Record):
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
    download: TakenRecord | None

    @classmethod
    def of(cls, row: Decided, download: Download | None) -> "ReleaseRecord":
        candidate = row.candidate
        return cls(
            id=row.id,
            tracking_id=row.tracking_id,
            feed_id=candidate.feed,
            entry_uid=candidate.uid,
            title=candidate.title,
            action=row.action,
            rule=row.rule,
            reason=row.reason,
            slots=[SlotRecord.of(slot) for slot in row.slots],
            release=dict(release_as_json(row.release)),
            infohash=candidate.infohash,
            size=candidate.size,
            seeders=candidate.seeders,
            doubts=list(candidate.doubts),
            published=candidate.published,
            first_seen=candidate.first_seen,
            found_at=row.found_at,
            decided_at=row.decided_at,
            download=download and TakenRecord(id=download.id, state=download.state),
        )


class ReleasePage(Record):
    """The newest first."""

    releases: list[ReleaseRecord]
    next_cursor: str | None


class OutcomeRecord(Record):
    """What was decided anew, by action; what stays as it was is not counted."""

    tracking_id: int
    fetch: int
    upgrade: int
    hold: int
    skip: int
    removed: int

    @classmethod
    def of(cls, tracking_id: int, outcome: Outcome) -> "OutcomeRecord":
        names = ("fetch", "upgrade", "hold", "skip", "removed")
        return cls(tracking_id=tracking_id, **{name: outcome.counts.get(name, 0) for name in names})
