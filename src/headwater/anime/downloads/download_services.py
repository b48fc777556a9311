"""The services of downloads: the client, the library, the web for torrents, and the policy."""

from dataclasses import dataclass, field

from headwater.anime.downloads.ports import DownloadClient, MediaLibrary
from headwater.anime.naming.library_path import DEFAULT_NAMING, Naming
from headwater.web.ports import Web

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class DownloadPolicy:
    """`client_downloads` is the downloads folder as the client names it. Times are in seconds."""

    client_downloads: str
    naming: Naming = field(default=DEFAULT_NAMING)
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
        """Seconds to wait after so many tries in a row: twice as long each time."""
        return min(self.pause_cap, 2.0 ** min(attempts, 32))


@dataclass(frozen=True, slots=True)
class DownloadServices:
    """`web` fetches .torrent files: bounded by their size, through the same gate as feeds."""

    downloader: DownloadClient
    library: MediaLibrary
    web: Web
    policy: DownloadPolicy
