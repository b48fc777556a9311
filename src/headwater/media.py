"""What downloads work with: the client, the folders, a way to torrents, and what they keep to."""

from dataclasses import dataclass, field

from headwater.collect.naming.place import AS_USUAL, Naming
from headwater.media_ports import Downloader, Library
from headwater.ports import Web

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class MediaPolicy:
    """`client_downloads` is the downloads folder as the client names it. Times are in seconds."""

    client_downloads: str
    naming: Naming = field(default=AS_USUAL)
    pieces: bool = True
    keep_seeding: bool = False
    nfo: bool = False
    recycle_days: float = 30.0
    torrent_bytes: int = 10 * MIB
    torrent_files: int = 10_000
    free_bytes: int = 1024 * MIB
    look: float = 10.0
    pause_cap: float = 3_600.0
    attempts: int = 20
    stalled: float = 72 * 3_600.0
    at_once: int = 4
    lease: float = 60.0

    def pause(self, attempts: int) -> float:
        """After so many tries in a row: twice as long each time."""
        return min(self.pause_cap, 2.0 ** min(attempts, 32))


@dataclass(frozen=True, slots=True)
class Media:
    """`web` brings torrents: bounded by their size, through the same gate as feeds."""

    downloader: Downloader
    library: Library
    web: Web
    policy: MediaPolicy
