"""A candidate: an entry of a feed as something that a download client could fetch."""

from dataclasses import dataclass
from datetime import datetime

from headwater.anime.release import Release


@dataclass(frozen=True, slots=True)
class TorrentCandidate:
    """`uid` identifies the entry within its `feed`; `source` names the kind of site it is from.

    `infohash` is lower-case hex: 40 digits, or 64 for torrents that are version 2 only. `size` is
    in bytes and may be rounded by the site. `doubts` are contradictions in what the entry says.
    `edition` tells a torrent that came later, under an entry that was edited, from the first.
    """

    uid: str
    title: str
    first_seen: datetime
    published: datetime | None = None
    source: str = "other"
    infohash: str | None = None
    torrent_url: str | None = None
    magnet: str | None = None
    size: int | None = None
    seeders: int | None = None
    page: str | None = None
    feed: str = ""
    doubts: tuple[str, ...] = ()
    edition: str = ""

    @property
    def key(self) -> str:
        """What it is known by within its feed."""
        return f"{self.uid}\n{self.edition}" if self.edition else self.uid

    @property
    def can_be_fetched(self) -> bool:
        return self.torrent_url is not None or self.magnet is not None

    @property
    def moment(self) -> datetime:
        """When it came out. No date, or one of the future: when we first saw it."""
        if self.published is None or self.published > self.first_seen:
            return self.first_seen
        return self.published

    def is_torrent(self, infohash: str | None) -> bool:
        """Clients know a torrent of version 2 by the first 40 digits of its hash."""
        if infohash is None or self.infohash is None:
            return False
        return self.infohash[:40] == infohash.lower()[:40]


@dataclass(frozen=True, slots=True)
class Offer:
    candidate: TorrentCandidate
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
