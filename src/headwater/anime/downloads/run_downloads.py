"""Run downloads, from the intent to the library and out of it, one step at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from headwater.anime.decide.decide_again import record_next_best
from headwater.anime.decide.record_decisions import DecisionSummary, count_decisions
from headwater.anime.downloads import download_rows
from headwater.anime.downloads.claimed_download import (
    ClaimedDownload,
    DownloadContext,
    StepFailed,
)
from headwater.anime.downloads.client_steps import (
    add_to_client,
    list_client_torrents,
    restart_in_client,
    stalled_since,
    step_from_client,
    verify_download,
    write_steps,
)
from headwater.anime.downloads.download import Download, DownloadState
from headwater.anime.downloads.download_rows import StepResult
from headwater.anime.downloads.download_services import DownloadServices
from headwater.anime.downloads.fetch_torrent import fetch_torrent
from headwater.anime.downloads.place_files import place_download
from headwater.anime.downloads.ports import (
    ClientDown,
    ClientRefused,
    FolderGone,
    LibraryTrouble,
    NoRoom,
)
from headwater.anime.downloads.remove_files import (
    cancel_own_switches,
    finish_download,
    finish_retiring,
    remove_placed_files,
    tidy_download,
)
from headwater.anime.metrics import count_download_step
from headwater.anime.release_events import release_failed
from headwater.anime.services import ReleaseServices
from headwater.anime.shows import show_rows
from headwater.core.errors import DatabaseError, HeadwaterError
from headwater.core.telemetry.log import get_logger
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.feeds.fetch.polite_fetcher import PoliteFetcher

Step = Callable[[ClaimedDownload], Awaitable[Download | None]]

ACCEPT = "application/x-bittorrent, application/octet-stream;q=0.8, */*;q=0.1"

STEPS: Mapping[DownloadState, Step] = {
    "intended": fetch_torrent,
    "ready": add_to_client,
    "complete": verify_download,
    "verified": place_download,
    "linked": finish_download,
    "done": tidy_download,
    "retiring": finish_retiring,
}
_WITHOUT_CLIENT: tuple[DownloadState, ...] = ("intended", "linked", "done")
_MAY_FAIL: frozenset[DownloadState] = frozenset({"intended", "ready", "added", "complete"})
"""Downloads in later states have files in the library: they wait visibly, and never fail."""

_WATCHED_AT_ONCE = 500
_SWEEP_SECONDS = 3_600.0
_SLACK_SECONDS = 60.0
"""A host's turn may come a little after its rest."""

logger = get_logger("downloads")


@dataclass(slots=True)
class DownloadRunner:
    """Run the downloads of this process. Several processes share them by claims."""

    services: ReleaseServices
    media: DownloadServices
    _fetcher: PoliteFetcher = field(init=False)
    _running: dict[asyncio.Task[None], list[Download]] = field(default_factory=dict)
    _has_begun: bool = False
    _client_rests_until: float = 0.0
    _client_failures: int = 0
    _swept: float | None = None

    def __post_init__(self) -> None:
        torrents = replace(
            self.services.registry.feeds.fetcher.policy, accept=ACCEPT, accepted_types=None
        )
        self._fetcher = replace(
            self.services.registry.feeds.fetcher, web=self.media.web, policy=torrents
        )

    async def look(self) -> None:
        """Begin the next step of every download that is due."""
        if not self._has_begun:
            await self._release()
            self._has_begun = True
        await self._sweep()
        await self._renew_leases()
        async with self.services.database.read() as view:
            wait = await download_rows.seconds_until_next_step(view, view.now, self._too_far())
        if wait is not None and wait <= 0:
            await self._begin()

    async def all_done(self) -> None:
        """Wait until every step that was begun has ended."""
        while self._running:
            await asyncio.gather(*self._running, return_exceptions=True)

    async def end(self, seconds: float) -> None:
        """Let running steps finish within these seconds, cancel the rest, and release all
        claims."""
        if self._running:
            await asyncio.wait(set(self._running), timeout=seconds)
        for task in list(self._running):
            task.cancel()
        await self.all_done()
        await self._release()

    async def _release(self) -> None:
        """Release what we held when we died, or hold when we stop: these downloads are due now."""
        async with self.services.database.write() as tx:
            await download_rows.release_downloads(tx, self.services.registry.feeds.worker, tx.now)

    async def _begin(self) -> None:
        policy, clock = self.media.policy, self.services.clock
        now, client_rests = clock.now(), clock.monotonic() < self._client_rests_until
        lease_end = now + timedelta(seconds=policy.lease)
        states = _WITHOUT_CLIENT if client_rests else tuple(STEPS)
        is_watching = any(held and held[0].state == "added" for held in self._running.values())
        room = policy.at_once - len(self._running) + is_watching
        worker = self.services.registry.feeds.worker
        async with self.services.database.write() as tx:
            await download_rows.reset_far_steps(tx, now, self._too_far())
            claimed = await download_rows.claim_downloads(tx, worker, states, now, lease_end, room)
            watched = []
            if not client_rests and not is_watching:
                watched = await download_rows.claim_downloads(
                    tx, worker, ("added",), now, lease_end, _WATCHED_AT_ONCE
                )
        for download in claimed:
            self._start(self._take_steps(download), [download])
        if watched:
            self._start(self._watch(watched), watched)

    def _too_far(self) -> datetime:
        """No step is planned for later: the longest pause is the rest that a site asks for."""
        policy = self.media.policy
        pauses = (
            policy.look,
            policy.pause_cap,
            self.services.registry.feeds.fetcher.policy.retry_after_cap,
        )
        longest = max(policy.lease, *pauses)
        return self.services.clock.now() + timedelta(seconds=longest + _SLACK_SECONDS)

    def _start(self, steps: Awaitable[None], held: list[Download]) -> None:
        task = asyncio.ensure_future(steps)
        self._running[task] = held
        task.add_done_callback(self._on_end)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task)
        if not task.cancelled() and (trouble := task.exception()) is not None:
            logger.error("download_crashed", exc_info=trouble)

    async def _renew_leases(self) -> None:
        """Hashing a large pack takes longer than a lease."""
        held = [download for downloads in self._running.values() for download in downloads]
        if held:
            lease_end = self.services.clock.now() + timedelta(seconds=self.media.policy.lease)
            async with self.services.database.write() as tx:
                await download_rows.renew_downloads(tx, held, lease_end)

    async def _take_steps(self, download: Download) -> None:
        """Take step after step, as long as each leads at once to the next."""
        current: Download | None = download
        task = asyncio.current_task()
        while current is not None:
            if task in self._running:
                self._running[task] = [current]
            current = await self._take_step(self._claimed(current))

    def _claimed(self, download: Download) -> ClaimedDownload:
        return ClaimedDownload(self.services, self.media, self._fetcher, download)

    async def _take_step(self, work: ClaimedDownload) -> Download | None:
        state = work.download.state
        try:
            next_download = await STEPS[state](work)
        except Exception as trouble:  # noqa: BLE001  # one download must not stop others
            count_download_step(state, "failed")
            await self._after_trouble(work, trouble)
            return None
        count_download_step(state, "done")
        if state not in _WITHOUT_CLIENT:
            self._client_failures = 0
        return next_download

    async def _watch(self, downloads: list[Download]) -> None:
        """Ask the client how far all of these are: one request, one transaction."""
        try:
            torrents = await list_client_torrents(self.media, downloads)
        except ClientDown as trouble:
            self._let_client_rest(trouble)
            for download in downloads:
                await self._put_off(self._claimed(download), trouble)
            return
        self._client_failures = 0
        steps = list[tuple[Download, StepResult]]()
        for download in downloads:
            try:
                torrent = torrents.get(download.infohash or "")
                step = step_from_client(download, torrent, self.media, self.services.database)
                steps.append((download, step))
            except StepFailed as trouble:
                await self._after_trouble(self._claimed(download), trouble)
        await write_steps(self.services.database, steps)

    async def _after_trouble(self, work: ClaimedDownload, trouble: Exception) -> None:
        """Write down the trouble, so that it does not repeat at once and people can see it."""
        match trouble:
            case DatabaseError():
                logger.error("download_waits", download=work.download.id, error=trouble.code)
                return  # the end of the lease brings it back
            case ClientDown():
                self._let_client_rest(trouble)
                await self._put_off(work, trouble)
                return
            case StepFailed():
                setback = trouble
            case NoRoom() | FolderGone():
                setback = StepFailed(trouble.code, trouble.message, counts=False, wait=60.0)
            case ClientRefused() | LibraryTrouble() | HeadwaterError():
                setback = StepFailed(trouble.code, trouble.message)
            case _:
                logger.error("download_crashed", download=work.download.id, exc_info=trouble)
                setback = StepFailed("internal_error", f"{type(trouble).__name__}: {trouble}")
        await self._set_back(work, setback)

    async def _put_off(self, work: ClaimedDownload, trouble: ClientDown) -> None:
        """Wait for a client that is down, however long: that counts against no download."""
        pause = max(0.0, self._client_rests_until - self.services.clock.monotonic())
        setback = StepFailed(trouble.code, trouble.message, counts=False, wait=pause)
        await self._write_setback(work, setback)

    def _let_client_rest(self, trouble: ClientDown) -> None:
        clock = self.services.clock
        if clock.monotonic() < self._client_rests_until:
            return
        self._client_failures += 1
        pause = self.media.policy.pause(self._client_failures)
        self._client_rests_until = clock.monotonic() + pause
        logger.warning("download_client_down", detail=trouble.message, pause=pause)

    async def _set_back(self, work: ClaimedDownload, setback: StepFailed) -> None:
        if setback.again:
            try:
                await restart_in_client(work)
            except ClientDown as trouble:
                self._let_client_rest(trouble)
                await self._put_off(work, trouble)
                return
            except ClientRefused as trouble:
                logger.warning("client_refused", download=work.download.id, detail=trouble.message)
        await self._write_setback(work, setback)

    async def _write_setback(self, work: ClaimedDownload, setback: StepFailed) -> None:
        download, policy = work.download, self.media.policy
        attempts = download.attempts + setback.counts
        is_over = attempts >= policy.attempts and download.state in _MAY_FAIL
        if setback.lasting or (is_over and setback.counts):
            await self._give_up(work, setback, attempts)
            return
        wait = policy.pause(attempts) if setback.wait is None else setback.wait
        next_at = work.now + timedelta(seconds=wait)
        state = setback.state or download.state
        logger.info("download_set_back", download=download.id, state=state, error=setback.code)
        step = StepResult(state, next_at, attempts, setback.code, setback.detail)
        if state == "added" and not setback.counts:  # the client could not be asked
            step = replace(step, progressed_at=stalled_since(download, work.now, is_unseen=True))
        await work.put_down(step)

    async def _give_up(self, work: ClaimedDownload, setback: StepFailed, attempts: int) -> None:
        try:
            await remove_placed_files(work)
        except LibraryTrouble as trouble:
            logger.warning("file_left", download=work.download.id, detail=trouble.message)
        context = await work.context()
        event = release_failed(
            context.tracking.feed_id,
            context.show,
            context.decision,
            setback.code,
            setback.detail,
        )
        logger.warning("download_failed", download=work.download.id, error=setback.code)
        step = StepResult("failed", None, attempts, setback.code, setback.detail)
        summary = await self._commit_failure(work, step, event, context)
        count_decisions(summary, tracking=context.tracking.id)

    async def _commit_failure(
        self, work: ClaimedDownload, step: StepResult, event: Event, context: DownloadContext
    ) -> DecisionSummary:
        """Commit together that it is given up, and the release that is downloaded instead."""
        async with self.services.database.write() as tx:
            await show_rows.get_show(tx, context.show.id, lock=True)
            failed = await download_rows.update_claimed_download(tx, work.download, step, work.now)
            if failed is None:
                return DecisionSummary()
            await cancel_own_switches(tx, work.download, work.now)
            await event_rows.append_events(tx, [event], work.now)
            return await record_next_best(
                tx, self.services, context.show.id, work.download.slots, work.now
            )

    async def _sweep(self) -> None:
        """Delete files for good that were recycled long enough ago."""
        now, days = self.services.clock.monotonic(), self.media.policy.recycle_days
        if days <= 0 or (self._swept is not None and now - self._swept < _SWEEP_SECONDS):
            return
        self._swept = now
        before = self.services.clock.now() - timedelta(days=days)
        try:
            deleted = await self.media.library.sweep(f"{before:%Y-%m-%d}")
        except LibraryTrouble as trouble:
            logger.warning("recycle_not_swept", detail=trouble.message)
            return
        if deleted:
            logger.info("recycle_swept", files=deleted)
