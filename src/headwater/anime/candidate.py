"""A candidate: an entry of a feed as a torrent that a download client could fetch."""

from dataclasses import dataclass
from datetime import datetime

from headwater.anime.release import Release


@dataclass(frozen=True, slots=True)
class TorrentCandidate:
    """`uid` identifies the entry within its `feed`; `source` names the kind of site it is from.

    `infohash` is lower-case hex: 40 digits, or 64 for torrents that are version 2 only. `size` is
    in bytes and may be rounded by the site. `doubts` are contradictions inside the entry. When an
    entry was edited, `edition` tells its later torrent from the first.
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
        """Identifies the candidate within its feed."""
        return f"{self.uid}\n{self.edition}" if self.edition else self.uid

    @property
    def can_be_fetched(self) -> bool:
        return self.torrent_url is not None or self.magnet is not None

    @property
    def moment(self) -> datetime:
        """When it came out. Without a date, or with one in the future: when we first saw it."""
        if self.published is None or self.published > self.first_seen:
            return self.first_seen
        return self.published

    def is_torrent(self, infohash: str | None) -> bool:
        """Clients identify a torrent of version 2 by the first 40 digits of its hash."""
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
        """The entry's name with its feed, and the torrent's hash where it is known.

        Two feeds may use one uid for two things, so the feed is part of the name.
        """
        entry = f"{self.candidate.feed} {self.candidate.key}"
        infohash = self.candidate.infohash
        return (entry, infohash[:40]) if infohash else (entry,)
