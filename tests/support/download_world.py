"""Everything a download needs, real but for the client and the clock: both are the test's."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headwater.adapters.database import SqlDatabase
from headwater.anime.candidate import Offer, TorrentCandidate
from headwater.anime.decide import decision_rows
from headwater.anime.decide.record_decisions import record_decisions
from headwater.anime.downloads import download_rows
from headwater.anime.downloads.disk_library import DiskMediaLibrary, LibraryFolders, PlaceMethod
from headwater.anime.downloads.download import Download
from headwater.anime.downloads.download_rows import LibraryFile
from headwater.anime.downloads.download_services import DownloadPolicy, DownloadServices
from headwater.anime.downloads.ports import (
    ClientDown,
    ClientRefused,
    ClientTorrent,
    ClientTorrentFile,
    ClientTorrentState,
    DownloadClient,
    NewClientTorrent,
)
from headwater.anime.downloads.run_downloads import DownloadRunner
from headwater.anime.shows import show_rows, tracking_rows
from headwater.anime.shows.preferences import Preferences
from headwater.anime.shows.show import Show
from headwater.anime.shows.tracking import Tracking
from headwater.anime.title import read_title
from headwater.core.ports import Clock
from headwater.events import event_rows
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin, OriginFeed, Reply
from tests.support.torrents import Made

FEED = "0198a000-0000-7000-8000-000000000001"


@dataclass(slots=True)
class Held:
    """A torrent in the toy client."""

    wish: NewClientTorrent
    state: ClientTorrentState = "downloading"
    progress: float = 0.0
    is_ours: bool = True
    files: Sequence[ClientTorrentFile] = ()


@dataclass(slots=True)
class ToyClient:
    """A `DownloadClient` in memory. It downloads nothing by itself: a test delivers."""

    deletes_files: bool = True
    held: dict[str, Held] = field(default_factory=dict)
    is_down: bool = False
    asked: list[str] = field(default_factory=list)

    async def version(self) -> str:
        self._note("version")
        return "Toy 1.0"

    async def add(self, job: NewClientTorrent) -> None:
        self._note(f"add {job.infohash}")
        self.held.setdefault(job.infohash, Held(job))

    async def list_torrents(self, infohashes: Sequence[str]) -> Mapping[str, ClientTorrent]:
        self._note("list_torrents")
        return {
            name: ClientTorrent(
                name,
                "",
                held.state,
                held.progress,
                0,
                held.wish.save_path,
                held.is_ours,
                "toy says so",
            )
            for name in infohashes
            if (held := self.held.get(name)) is not None
        }

    async def files(self, infohash: str) -> Sequence[ClientTorrentFile]:
        self._note("files")
        return self.held[infohash].files if infohash in self.held else ()

    async def remove(self, infohash: str, *, with_files: bool) -> bool:
        self._note(f"remove {infohash}")
        if infohash not in self.held:
            return False
        if not self.held[infohash].is_ours:
            raise ClientRefused("It is somebody else's.")
        del self.held[infohash]
        return True

    async def close(self) -> None: ...

    def _note(self, what: str) -> None:
        if self.is_down:
            raise ClientDown("The toy is down.", client="toy")
        self.asked.append(what)

    def deliver(self, made: Made, bodies: Mapping[str, bytes] | None = None) -> None:
        """The files are there, and the client says so."""
        held = self.held[made.infohash]
        for path, body in (bodies or made.files).items():
            place = Path(held.wish.save_path) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(body)
        held.state, held.progress = "complete", 1.0
        held.files = [ClientTorrentFile(path, len(body)) for path, body in made.files.items()]


@dataclass(slots=True)
class Yard:
    engine: EngineParts
    client: ToyClient
    clock: VirtualClock
    root: Path
    origin: Origin
    tracking: Tracking
    downloads: DownloadRunner
    offered: int = 0
    sites: list[OriginFeed] = field(default_factory=list)

    @property
    def library(self) -> Path:
        return self.root / "library"

    async def offer(self, title: str, made: Made, **said: Any) -> Download:
        """An entry of the feed, decided: its intent."""
        await self._decided(title, made, said)
        async with self.engine.database.read() as view:
            return (await download_rows.list_downloads(view))[0]

    async def offer_skipped(self, title: str, made: Made) -> int:
        """An entry that is not wanted: the number of its release."""
        await self._decided(title, made, {})
        async with self.engine.database.read() as view:
            return (await decision_rows.list_decisions(view))[0].id

    async def _decided(self, title: str, made: Made, said: dict[str, Any]) -> None:
        self.offered += 1
        await self.origin.listen(f"127.0.7.{self.offered}")
        site = self.origin.feed(f"/{self.offered}.torrent", [], address=f"127.0.7.{self.offered}")
        site.stand_in = Reply(200, made.torrent)
        self.sites.append(site)
        said = {"torrent_url": site.url, "infohash": made.infohash} | said
        candidate = TorrentCandidate(
            f"uid-{self.offered}", title, self.engine.clock.now(), feed=FEED, **said
        )
        offers = [Offer(candidate, read_title(title).release)]
        engine = self.engine
        await record_decisions(
            engine.database, engine.clock, engine.collect, self.tracking.id, offers
        )

    async def turn(self, times: int = 1) -> None:
        """Everything whose time has come, and then a little time."""
        for _ in range(times):
            await self.downloads.look()
            await self.downloads.all_done()
            await self.clock.advance(self.downloads.media.policy.look)

    async def hours(self, number: int) -> None:
        """So long, with a look now and then."""
        for _ in range(number):
            await self.clock.advance(3_600 - self.downloads.media.policy.look)
            await self.turn()

    async def collect(self, title: str, made: Made, **said: Any) -> Download:
        """From the offer to the library, and until whoever it replaced is gone."""
        download = await self.offer(title, made, **said)
        await self.turn(2)
        self.client.deliver(made)
        await self.turn(6)
        return await self.now(download)

    async def now(self, download: Download) -> Download:
        async with self.engine.database.read() as view:
            return await download_rows.get_download(view, download.id)

    async def files(self, download: Download) -> list[LibraryFile]:
        async with self.engine.database.read() as view:
            return await download_rows.list_library_files(view, download.id)

    async def told(self) -> list[tuple[str, dict[str, Any]]]:
        async with self.engine.database.read() as view:
            page = await event_rows.read_events(view, 0, limit=1_000)
        return [(event.type, dict(event.payload)) for event in page.events]

    def shown(self) -> dict[str, bytes]:
        """What a media server sees."""
        return {
            place.relative_to(self.library).as_posix(): place.read_bytes()
            for place in sorted(self.library.rglob("*"))
            if place.is_file() and ".recycle" not in place.parts
        }

    def recycled(self) -> list[bytes]:
        bin = self.library / ".recycle"
        return [p.read_bytes() for p in sorted(bin.rglob("*")) if p.is_file() and p.stat().st_size]

    def policy(self, **changes: Any) -> None:
        media = self.downloads.media
        self.downloads.media = replace(media, policy=replace(media.policy, **changes))


@asynccontextmanager
async def opened_yard(
    database: SqlDatabase,
    root: Path,
    *,
    show: Show | None = None,
    preferences: Preferences | None = None,
    way: PlaceMethod = "hardlink",
    downloader: DownloadClient | None = None,
    own_clock: Clock | None = None,
) -> AsyncIterator[Yard]:
    """With a `downloader` of the test's own, the toy stands beside and does nothing."""
    clock = VirtualClock()
    for name in ("downloads", "library"):
        (root / name).mkdir(exist_ok=True)
    time = own_clock or clock
    async with opened_engine(database, time, root / "blobs") as engine, Origin() as origin:
        folders = LibraryFolders(
            root / "downloads", root / "library", root / "library" / ".recycle", way
        )
        policy = DownloadPolicy(str(root / "downloads"), free_bytes=0, look=10.0)
        client = ToyClient()
        media = DownloadServices(
            downloader or client, DiskMediaLibrary(folders), engine.web, policy
        )
        wanted = show or Show("Show", 2025, episodes=12)
        async with database.write() as tx:
            kept = await show_rows.insert_show(tx, wanted, None, time.now())
            wish = Tracking(
                0, kept.id, FEED, preferences or Preferences(groups=("Best", "Good")), packs=True
            )
            tracking = await tracking_rows.insert_tracking(tx, wish, time.now())
        downloads = DownloadRunner(engine.releases, media)
        yield Yard(engine, client, clock, root, origin, tracking, downloads)
        await downloads.end(1.0)
