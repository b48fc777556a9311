"""What the client has of ours: added, looked at together, and looked at byte by byte when done."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from headwater.collect.client_paths import from_client
from headwater.collect.download import Download
from headwater.collect.downloads import queries, store
from headwater.collect.downloads.store import Step
from headwater.download_work import Setback, Work
from headwater.engine import Engine
from headwater.media import Media
from headwater.media_ports import Job, NewJob
from headwater.ports import Reader

_FULL = 1_000
_UNSEEN = timedelta(hours=2)
"""Longer between two looks, and Headwater or the client was away: `media_look_sec` is an hour at
most, and a look may come a little late."""


async def add(work: Work) -> Download | None:
    """ready → added. The row was there first; adding it again is no trouble."""
    await _refuse_full_disk(work)
    async with work.engine.database.read() as view:
        body = await queries.torrent(view, work.download.id)
    job = NewJob(work.infohash, work.client_folder(), body, None if body else work.download.magnet)
    await work.media.downloader.add(job)
    soon = work.now + timedelta(seconds=min(1.0, work.media.policy.look))
    # Attempts are those of getting it complete: being added again and again is no success.
    step = Step("added", soon, attempts=work.download.attempts, progressed_at=work.now)
    await work.put_down(step)
    return None


async def _refuse_full_disk(work: Work) -> None:
    policy = work.media.policy
    async with work.engine.database.read() as view:
        promised = await queries.bytes_to_come(view)
    needed = promised + (work.download.size or 0) + policy.free_bytes
    free = await work.media.library.free_bytes()
    if free < needed:
        said = f"{free:,} bytes are free in the downloads, and {needed:,} are needed."
        raise Setback("no_room", said, counts=False, wait=min(60.0, policy.pause_cap))


async def jobs_of(media: Media, downloads: Sequence[Download]) -> Mapping[str, Job]:
    """One question for all of them."""
    return await media.downloader.jobs(sorted({d.infohash for d in downloads if d.infohash}))


def seen(download: Download, job: Job | None, media: Media, engine: Engine) -> Step:
    """What a look at the client says of a download; Setback when it says nothing good."""
    policy, now = media.policy, engine.clock.now()
    if job is None:
        raise Setback("lost_by_client", "The client does not have it any more.", state="ready")
    if job.state == "complete":
        return Step("complete", now, progress=_FULL, progressed_at=now)
    if job.state == "failed":
        said = f"The client says: {job.detail or 'it failed'}."
        raise Setback("client_failed", said, state="ready", again=True)
    progress = max(0, min(_FULL - 1, int(job.progress * _FULL)))
    soon, since = now + timedelta(seconds=policy.look), still_since(download, now)
    if progress > download.progress:
        return Step("added", soon, 0, None, None, progress, now)
    if (now - since).total_seconds() > policy.stalled:
        hours = policy.stalled / 3_600
        raise Setback("stalled", f"Nothing came for {hours:g} hours.", lasting=True)
    return Step("added", soon, download.attempts, progress=progress, progressed_at=since)


def still_since(download: Download, now: datetime, *, is_unseen: bool = False) -> datetime:
    """Since when nothing came, as if no time had passed while nobody could look.

    A machine that was off for four days has not seen four days without progress.
    """
    since = download.progressed_at or download.added_at or now
    away = now - (download.updated_at or now)
    return min(now, since + away) if is_unseen or away > _UNSEEN else since


async def note(engine: Engine, steps: Sequence[tuple[Download, Step]]) -> None:
    """All looks in one transaction; whose claim is lost is left out."""
    async with engine.database.write() as tx:
        for download, step in steps:
            await store.step(tx, download, step, engine.clock.now())


async def verify(work: Work) -> Download | None:
    """complete → verified: we have looked at what is there ourselves."""
    job = await work.job()
    if job is None or job.state != "complete":
        await work.put_down(Step("added", work.now, attempts=work.download.attempts))
        return None
    folder, torrent = work.folder_of(job), await work.torrent()
    lack = await work.media.library.lacks(folder, torrent, pieces=work.media.policy.pieces)
    if lack is not None:
        raise Setback("not_as_seeded", lack, state="ready", again=True)
    return await work.go_on(replace(work.onward("verified"), size=torrent.size))


async def begin_again(work: Work) -> None:
    """The client looks at the files anew when it is given the torrent anew; what is there stays.
    Somebody else's torrent is left alone."""
    job = await work.job()
    if job is not None and await is_ours(work, job):
        await work.media.downloader.remove(work.infohash, with_files=False)


async def is_ours(work: Work, job: Job) -> bool:
    """By its tag and by our own record: it is in a folder that we made for this very torrent."""
    async with work.engine.database.read() as view:
        return job.is_ours and await _is_recorded(view, work, job)


async def _is_recorded(view: Reader, work: Work, job: Job) -> bool:
    folder = from_client(work.media.policy.client_downloads, job.save_path)
    return folder in {each.save_path for each in await queries.of_hash(view, work.infohash)}
