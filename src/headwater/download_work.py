"""A download in somebody's hands: what is known of it, and how a step is written down."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.announce import store as log
from headwater.announce.event import Event
from headwater.collect.client_paths import from_client, to_client
from headwater.collect.decisions import queries as decisions
from headwater.collect.decisions.decided import Decided
from headwater.collect.download import Download, State
from headwater.collect.downloads import queries, store
from headwater.collect.downloads.store import Step
from headwater.collect.naming.inside import is_inside
from headwater.collect.shows import queries as shows
from headwater.collect.torrent import Torrent, TorrentFile, read_torrent
from headwater.collect.tracking import TrackedShow, Tracking
from headwater.collect.trackings import queries as trackings
from headwater.engine import Engine
from headwater.media import Media
from headwater.media_ports import Job
from headwater.ports import Reader, Transaction
from headwater.visit import Visits


class Setback(Exception):
    """A step that did not succeed. `counts`: towards giving up; `lasting`: give up now. `state` is
    where to go on, `wait` when (None: the usual pause). `again`: the client is to forget it first,
    so that it looks at the files anew."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        counts: bool = True,
        lasting: bool = False,
        state: State | None = None,
        wait: float | None = None,
        again: bool = False,
    ) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail
        self.counts, self.lasting = counts, lasting
        self.state, self.wait, self.again = state, wait, again


@dataclass(frozen=True, slots=True)
class Facts:
    """What a download is for, and why."""

    show: TrackedShow
    tracking: Tracking
    row: Decided


@dataclass(frozen=True, slots=True)
class Work:
    """One claimed download. Whoever lost the claim writes nothing."""

    engine: Engine
    media: Media
    visits: Visits
    download: Download

    @property
    def now(self) -> datetime:
        return self.engine.clock.now()

    @property
    def lease_end(self) -> datetime:
        return self.now + timedelta(seconds=self.media.policy.lease)

    async def facts(self) -> Facts:
        async with self.engine.database.read() as view:
            return await facts_of(view, self.download)

    async def go_on(self, step: Step) -> Download | None:
        """Written, and still ours: the next step follows at once."""
        return await self._written(step, (), self.engine.worker)

    async def put_down(self, step: Step, events: Sequence[Event] = ()) -> None:
        """Written, and free for whoever comes when its time has come."""
        await self._written(step, events, None)

    async def _written(
        self, step: Step, events: Sequence[Event], holder: str | None
    ) -> Download | None:
        async with self.engine.database.write() as tx:
            written = await store.step(tx, self.download, step, self.now, holder=holder)
            if written is not None:
                await log.append(tx, events, self.now)
        return written

    def onward(self, state: State) -> Step:
        return Step(state, self.lease_end)

    async def is_ours(self, tx: Transaction) -> bool:
        """Still, and until the transaction ends."""
        return (await queries.download(tx, self.download.id, lock=True)).fence == (
            self.download.fence
        )

    @property
    def infohash(self) -> str:
        assert self.download.infohash is not None, "it is known before the client is asked"
        return self.download.infohash

    async def job(self) -> Job | None:
        return (await self.media.downloader.jobs([self.infohash])).get(self.infohash)

    def client_folder(self) -> str:
        return to_client(self.media.policy.client_downloads, self.download.save_path)

    def folder_of(self, job: Job) -> str:
        """Where the job's files are, below our downloads."""
        folder = from_client(self.media.policy.client_downloads, job.save_path)
        if folder is None:
            raise Setback(
                "elsewhere",
                f"The client has this torrent already, in {job.save_path}, which is not below the"
                " downloads. Move it there, or correct media_client_downloads.",
            )
        return folder

    async def torrent(self) -> Torrent:
        """As it was fetched; for a magnet link as the client lists it, without hashes."""
        async with self.engine.database.read() as view:
            body = await queries.torrent(view, self.download.id)
        if body is None:
            return await self._listed()
        policy = self.media.policy
        return await asyncio.to_thread(
            read_torrent, body, most_bytes=policy.torrent_bytes, most_files=policy.torrent_files
        )

    async def _listed(self) -> Torrent:
        files = await self.media.downloader.files(self.infohash)
        if not files or len(files) > self.media.policy.torrent_files:
            raise Setback("no_files", f"The client lists {len(files)} files of this torrent.")
        for file in files:
            if not is_inside(file.path):
                raise Setback(
                    "bad_torrent", f"{file.path[:200]!r} leaves its folder.", lasting=True
                )
        found = tuple(TorrentFile(tuple(each.path.split("/")), each.length) for each in files)
        is_single = len(found) == 1 and len(found[0].path) == 1
        return Torrent(self.infohash, None, found[0].path[0], found, 0, (), is_single)


async def facts_of(view: Reader, download: Download) -> Facts:
    row = await decisions.decision(view, download.release_id)
    return Facts(
        await shows.show(view, download.show_id),
        await trackings.tracking(view, row.tracking_id),
        row,
    )
