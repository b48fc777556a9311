"""A claimed download: its context, its torrent, and how the result of each step is written."""

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
from headwater.core.ports import Transaction
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.feeds.fetch.polite_fetcher import PoliteFetcher


class StepFailed(Exception):
    """A step that did not succeed. `counts`: it counts towards giving up; `lasting`: give up now.
    `state` is the state to go on from, `wait` the seconds until then (None: the usual pause).
    `again`: the client must forget the torrent first, so that it looks at the files anew."""

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
    """The show, the tracking and the decision that a download is for."""

    show: TrackedShow
    tracking: Tracking
    decision: ReleaseDecision


@dataclass(frozen=True, slots=True)
class ClaimedDownload:
    """One claimed download. A worker that has lost the claim writes nothing."""

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

    async def context(self) -> DownloadContext:
        async with self.services.database.read() as view:
            decision = await decision_rows.get_decision(view, self.download.release_id)
            return DownloadContext(
                await show_rows.get_show(view, self.download.show_id),
                await tracking_rows.get_tracking(view, decision.tracking_id),
                decision,
            )

    async def go_on(self, step: StepResult) -> Download | None:
        """Write the step and keep the claim: the next step follows at once."""
        return await self._write(step, (), self.services.registry.feeds.worker)

    async def put_down(self, step: StepResult, events: Sequence[Event] = ()) -> None:
        """Write the step and give up the claim: any worker may take the next step when it is
        due."""
        await self._write(step, events, None)

    async def _write(
        self, step: StepResult, events: Sequence[Event], holder: str | None
    ) -> Download | None:
        async with self.services.database.write() as tx:
            written = await download_rows.update_claimed_download(
                tx, self.download, step, self.now, holder=holder
            )
            if written is not None:
                await event_rows.append_events(tx, events, self.now)
        return written

    def step_to(self, state: DownloadState) -> StepResult:
        return StepResult(state, self.lease_end)

    async def is_ours(self, tx: Transaction) -> bool:
        """Whether the claim is still ours. The row is locked until the transaction ends."""
        return (await download_rows.get_download(tx, self.download.id, lock=True)).fence == (
            self.download.fence
        )

    @property
    def infohash(self) -> str:
        assert self.download.infohash is not None, "it is known before the client is asked"
        return self.download.infohash

    async def find_in_client(self) -> ClientTorrent | None:
        return (await self.media.downloader.list_torrents([self.infohash])).get(self.infohash)

    def client_folder(self) -> str:
        return path_for_client(self.media.policy.client_downloads, self.download.save_path)

    def folder_of(self, torrent: ClientTorrent) -> str:
        """The folder of the torrent's files, below our downloads."""
        folder = path_from_client(self.media.policy.client_downloads, torrent.save_path)
        if folder is None:
            raise StepFailed(
                "elsewhere",
                f"The client has this torrent already, in {torrent.save_path}, which is not below"
                " the downloads. Move it there, or correct media_client_downloads.",
            )
        return folder

    async def torrent(self) -> Torrent:
        """The torrent as we fetched it; for a magnet link as the client lists it, without
        hashes."""
        async with self.services.database.read() as view:
            body = await download_rows.find_torrent_file(view, self.download.id)
        if body is None:
            return await self._torrent_from_client()
        policy = self.media.policy
        return await asyncio.to_thread(
            parse_torrent, body, most_bytes=policy.torrent_bytes, most_files=policy.torrent_files
        )

    async def _torrent_from_client(self) -> Torrent:
        files = await self.media.downloader.files(self.infohash)
        if not files or len(files) > self.media.policy.torrent_files:
            raise StepFailed("no_files", f"The client lists {len(files)} files of this torrent.")
        for file in files:
            if not is_safe_relative_path(file.path):
                raise StepFailed(
                    "bad_torrent", f"{file.path[:200]!r} leaves its folder.", lasting=True
                )
        torrent_files = tuple(TorrentFile(tuple(f.path.split("/")), f.length) for f in files)
        first = torrent_files[0].path
        is_single = len(torrent_files) == 1 and len(first) == 1
        return Torrent(self.infohash, None, first[0], torrent_files, 0, (), is_single)
