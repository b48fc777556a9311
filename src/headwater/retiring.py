"""The last steps: what was replaced leaves the library, then the client, and never before."""

from datetime import datetime, timedelta

from headwater.collect.download import STANDING, Download
from headwater.collect.downloads import queries
from headwater.collect.downloads.store import Step
from headwater.collect.files import store as files
from headwater.collect.naming.safe import collision_key
from headwater.download_work import Setback, Work
from headwater.errors import NotFound
from headwater.losing import clear, not_switched
from headwater.media_ports import Job
from headwater.ports import Transaction
from headwater.telemetry.log import logger
from headwater.watching import is_ours

_LOOK_SECONDS = 2.0
_WITHOUT_DELETION = "aria2"
"""It forgets a torrent, and leaves its files to us."""

lines = logger("downloads")


async def settle(work: Work) -> Download | None:
    """linked → done, once everybody who lost a place by it is gone from there."""
    await clear(work)
    async with work.engine.database.read() as view:
        for loss in work.download.replaces:
            try:
                loser = await queries.download(view, loss.download_id)
            except NotFound:  # nobody tracks it any more
                continue
            leaving = await queries.files(view, loser.id)
            if loser.state == "retiring" or any(f.state == "leaving" for f in leaving):
                soon = work.now + timedelta(seconds=_LOOK_SECONDS)
                await work.put_down(Step("linked", soon, detail=work.download.detail))
                return None
    await work.put_down(Step("done", None, detail=work.download.detail))
    return None


async def tidy(work: Work) -> Download | None:
    """done: a part of it may have lost its place."""
    await clear(work)
    await work.put_down(Step("done", None, detail=work.download.detail))
    return None


async def leave(work: Work) -> Download | None:
    """retiring → retired, or dropped."""
    await clear(work)
    async with work.engine.database.write() as tx:
        await free_neighbours(tx, work.download, work.now)
    if work.download.infohash is not None and not await _is_needed(work):
        await _leave_client(work)
    ends_as = work.download.ends_as or "retired"
    await work.put_down(Step(ends_as, None, detail=work.download.detail))
    return None


async def free_neighbours(tx: Transaction, download: Download, now: datetime) -> None:
    """It was to take a place, and will not: whoever has it keeps it, or leaves by itself."""
    own = await queries.files(tx, download.id)
    keys = sorted({collision_key(file.path) for file in own})
    for file in await queries.files_at(tx, keys):
        if file.state == "switching" and file.download_id != download.id:
            await not_switched(tx, file, now)
    await files.forget(tx, [file.id for file in own])


async def _is_needed(work: Work) -> bool:
    """The torrent is another download's too, or people want it seeded."""
    if work.media.policy.keep_seeding and work.download.linked_at is not None:
        return True
    async with work.engine.database.read() as view:
        others = await queries.of_hash(view, work.infohash)
    return any(
        each.state in STANDING or (each.state == "retiring" and each.id > work.download.id)
        for each in others
        if each.id != work.download.id
    )


async def _leave_client(work: Work) -> None:
    downloader = work.media.downloader
    job = await work.job()
    if job is not None and not await is_ours(work, job):
        lines.info("torrent_left", download=work.download.id, infohash=work.infohash)
        return
    forgets_only = downloader.kind == _WITHOUT_DELETION
    paths = await _paths(work, job, with_control_file=forgets_only)
    if job is not None:
        await downloader.remove(work.infohash, with_files=True)
    if job is not None or forgets_only:
        await work.media.library.discard(paths)


async def _paths(work: Work, job: Job | None, *, with_control_file: bool) -> list[str]:
    """Its files below the downloads, in the folder that was made for it."""
    try:
        torrent = await work.torrent()
    except Setback:  # a magnet link that never found its torrent has none
        return []
    folder = work.download.save_path if job is None else work.folder_of(job)
    found = [f"{folder}/{'/'.join(f.path)}" for f in torrent.files if not f.is_padding]
    return [*found, f"{folder}/{torrent.name}.aria2"] if with_control_file else found
