"""A claimed download: what is known of it, and how each of its steps is written down."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.anime.decide import decision_rows
from headwater.anime.decide.decision import ReleaseDecision
from headwater.anime.downloads import download_rows
from headwater.anime.downloads.download import Download, DownloadState
from headwater.anime.downloads.download_rows import StepResult
from headwater.anime.downloads.download_services import DownloadServices
from headwater.anime.downloads.map_client_paths import path_for_client, path_from_client
from headwater.anime.downloads.ports import ClientTorrent
from headwater.anime.naming.safe_path import is_safe_relative_path
from headwater.anime.services import ReleaseServices
from headwater.anime.shows import show_rows, tracking_rows
from headwater.anime.shows.show import TrackedShow
from headwater.anime.shows.tracking import Tracking
from headwater.anime.torrents.torrent_file import Torrent, TorrentFile, parse_torrent
from headwater.core.ports import Transaction, View
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.feeds.fetch.polite_fetcher import PoliteFetcher


class StepFailed(Exception):
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
        state: DownloadState | None = None,
        wait: float | None = None,
        again: bool = False,
    ) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail
        self.counts, self.lasting = counts, lasting
        self.state, self.wait, self.again = state, wait, again


@dataclass(frozen=True, slots=True)
class DownloadContext:
    """What a download is for, and why."""

    show: TrackedShow
    tracking: Tracking
    row: ReleaseDecision


@dataclass(frozen=True, slots=True)
class ClaimedDownload:
    """One claimed download. Whoever lost the claim writes nothing."""

    services: ReleaseServices
    media: DownloadServices
    fetcher: PoliteFetcher
    download: Download

    @property
    def now(self) -> datetime:
        return self.services.clock.now()

    @property
    def lease_end(self) -> datetime:
        return self.now + timedelta(seconds=self.media.policy.lease)

    async def facts(self) -> DownloadContext:
        async with self.services.database.read() as view:
            return await get_download_context(view, self.download)

    async def go_on(self, step: StepResult) -> Download | None:
        """Written, and still ours: the next step follows at once."""
        return await self._written(step, (), self.services.registry.feeds.worker)

    async def put_down(self, step: StepResult, events: Sequence[Event] = ()) -> None:
        """Written, and free for whoever comes when its time has come."""
        await self._written(step, events, None)

    async def _written(
        self, step: StepResult, events: Sequence[Event], holder: str | None
    ) -> Download | None:
        async with self.services.database.write() as tx:
            written = await download_rows.update_claimed_download(
                tx, self.download, step, self.now, holder=holder
            )
            if written is not None:
                await event_rows.append_events(tx, events, self.now)
        return written

    def onward(self, state: DownloadState) -> StepResult:
        return StepResult(state, self.lease_end)

    async def is_ours(self, tx: Transaction) -> bool:
        """Still, and until the transaction ends."""
        return (await download_rows.get_download(tx, self.download.id, lock=True)).fence == (
            self.download.fence
        )

    @property
    def infohash(self) -> str:
        assert self.download.infohash is not None, "it is known before the client is asked"
        return self.download.infohash

    async def job(self) -> ClientTorrent | None:
        return (await self.media.downloader.jobs([self.infohash])).get(self.infohash)

    def client_folder(self) -> str:
        return path_for_client(self.media.policy.client_downloads, self.download.save_path)

    def folder_of(self, job: ClientTorrent) -> str:
        """Where the job's files are, below our downloads."""
        folder = path_from_client(self.media.policy.client_downloads, job.save_path)
        if folder is None:
            raise StepFailed(
                "elsewhere",
                f"The client has this torrent already, in {job.save_path}, which is not below the"
                " downloads. Move it there, or correct media_client_downloads.",
            )
        return folder

    async def torrent(self) -> Torrent:
        """As it was fetched; for a magnet link as the client lists it, without hashes."""
        async with self.services.database.read() as view:
            body = await download_rows.find_torrent_file(view, self.download.id)
        if body is None:
            return await self._listed()
        policy = self.media.policy
        return await asyncio.to_thread(
            parse_torrent, body, most_bytes=policy.torrent_bytes, most_files=policy.torrent_files
        )

    async def _listed(self) -> Torrent:
        files = await self.media.downloader.files(self.infohash)
        if not files or len(files) > self.media.policy.torrent_files:
            raise StepFailed("no_files", f"The client lists {len(files)} files of this torrent.")
        for file in files:
            if not is_safe_relative_path(file.path):
                raise StepFailed(
                    "bad_torrent", f"{file.path[:200]!r} leaves its folder.", lasting=True
                )
        found = tuple(TorrentFile(tuple(each.path.split("/")), each.length) for each in files)
        is_single = len(found) == 1 and len(found[0].path) == 1
        return Torrent(self.infohash, None, found[0].path[0], found, 0, (), is_single)


async def get_download_context(view: View, download: Download) -> DownloadContext:
    row = await decision_rows.get_decision(view, download.release_id)
    return DownloadContext(
        await show_rows.get_show(view, download.show_id),
        await tracking_rows.get_tracking(view, row.tracking_id),
        row,
    )
