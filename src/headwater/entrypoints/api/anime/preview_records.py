"""Records of previews: proposals, dry runs, missing episodes and the calendar."""

from datetime import date
from typing import Literal

from pydantic import Field

from headwater.anime.episodes.preview import Preview, Previewed
from headwater.anime.shows.propose import Proposal
from headwater.entrypoints.api.anime.release_records import SlotRecord
from headwater.entrypoints.api.anime.show_records import EpisodesRecord, ProposedShowRecord
from headwater.entrypoints.api.records import Moment, NounRecord, Record


class ReleaseCountRecord(Record):
    name: str
    releases: int


class ProposalRecord(NounRecord):
    """`show` is null where the feed is of several shows, or of none: `shows` are all of them then.
    `because` has the reasons. Of the `releases` that the feed lists, `of_show` are of the show."""

    feed_id: str
    show: ProposedShowRecord | None
    because: dict[str, str]
    groups: list[ReleaseCountRecord]
    titles: list[ReleaseCountRecord]
    releases: int
    of_show: int
    shows: list[ProposedShowRecord]

    @classmethod
    def of_proposal(cls, feed_id: str, proposal: Proposal) -> "ProposalRecord":
        return cls.of(
            proposal,
            feed_id=feed_id,
            groups=[
                ReleaseCountRecord(name=name, releases=releases)
                for name, releases in proposal.groups.items()
            ],
            titles=[
                ReleaseCountRecord(name=name, releases=releases)
                for name, releases in proposal.titles.items()
            ],
        )


class PreviewDecisionRecord(Record):
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
    def of(cls, previewed: Previewed) -> "PreviewDecisionRecord":
        decision = previewed.deciding
        candidate, release = decision.offer.candidate, decision.offer.release
        return cls(
            title=candidate.title,
            entry_uid=candidate.uid,
            published=candidate.published,
            action=decision.action,
            rule=decision.rule,
            reason=decision.reason,
            slots=[SlotRecord.of(slot) for slot in decision.slots],
            groups=list(release.groups),
            replaces=[int(replacement.standing.id) for replacement in previewed.replaces],
        )


class PreviewRecord(Record):
    """`removed` has every rule of the filter; `cut`: the feed keeps more than was looked at."""

    tracking_id: int
    removed: dict[str, int]
    decided: dict[str, int]
    entries: list[PreviewDecisionRecord]
    cut: bool

    @classmethod
    def of(cls, tracking_id: int, preview: Preview) -> "PreviewRecord":
        newest_first = sorted(
            preview.entries, key=lambda entry: entry.deciding.offer.candidate.moment, reverse=True
        )
        return cls(
            tracking_id=tracking_id,
            removed=dict(preview.removed),
            decided=dict(preview.decided),
            entries=[PreviewDecisionRecord.of(entry) for entry in newest_first],
            cut=preview.is_cut,
        )


class MissingEpisodesRecord(Record):
    """Only shows that miss something."""

    shows: list[EpisodesRecord]


class AiringRecord(NounRecord):
    """`moment` is null where only the day is known; days are those of Japan."""

    show_id: int
    title: str
    slot: SlotRecord
    state: Literal["came", "expected", "late"]
    day: date
    moment: Moment | None


class CalendarRecord(Record):
    """In order of time."""

    episodes: list[AiringRecord]
