"""A decision: one entry that a tracking looked at, and whether it takes it, with the reason."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from headwater.anime.candidate import Offer, TorrentCandidate
from headwater.anime.release import Release
from headwater.anime.shows.slot import Slot

DecisionAction = Literal["fetch", "upgrade", "skip", "hold", "removed", "refused"]
"""`removed` by a rule of the filter, `refused` by a person; the others are a plan's verdicts."""


@dataclass(frozen=True, slots=True)
class ReleaseDecision:
    """A row of `releases`. `found_at` is when the tracking first looked at it."""

    id: int
    tracking_id: int
    candidate: TorrentCandidate
    release: Release
    slots: tuple[Slot, ...]
    action: DecisionAction
    rule: str
    reason: str
    found_at: datetime
    decided_at: datetime

    @property
    def offer(self) -> Offer:
        return Offer(self.candidate, self.release)


@dataclass(frozen=True, slots=True)
class NewReleaseDecision:
    """A decision that is not in the database yet."""

    tracking_id: int
    offer: Offer
    action: DecisionAction
    rule: str
    reason: str
    slots: tuple[Slot, ...] = ()
