"""An offer: a candidate, and what its title says."""

from dataclasses import dataclass

from headwater.collect.candidate import Candidate
from headwater.collect.release import Release


@dataclass(frozen=True, slots=True)
class Offer:
    candidate: Candidate
    release: Release

    @property
    def title(self) -> str:
        return self.candidate.title

    @property
    def names(self) -> tuple[str, ...]:
        """What it is known by: its entry, and its torrent where the hash was said.

        Two feeds may well use one uid for two things.
        """
        entry = f"{self.candidate.feed} {self.candidate.key}"
        infohash = self.candidate.infohash
        return (entry, infohash[:40]) if infohash else (entry,)
