"""Steps of a download in its client: add it, ask how far it is, verify every byte."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from headwater.anime.downloads import download_rows
from headwater.anime.downloads.claimed_download import ClaimedDownload, StepFailed
from headwater.anime.downloads.download import Download
from headwater.anime.downloads.download_rows import StepResult
from headwater.anime.downloads.download_services import DownloadServices
from headwater.anime.downloads.map_client_paths import path_from_client
from headwater.anime.downloads.ports import ClientTorrent, NewClientTorrent
from headwater.core.ports import Database

_FULL = 1_000
_UNSEEN = timedelta(hours=2)
"""If two looks are further apart, Headwater or the client was away: `media_look_sec` is an hour at
most, and a look may come a little late."""


async def add_to_client(work: ClaimedDownload) -> Download | None:
    """ready → added. The row was written first; adding the torrent again does no harm."""
    await _check_free_space(work)
    async with work.services.database.read() as view:
        body = await download_rows.find_torrent_file(view, work.download.id)
    torrent = NewClientTorrent(
        work.infohash, work.client_folder(), body, None if body else work.download.magnet
    )
    await work.media.downloader.add(torrent)
    soon = work.now + timedelta(seconds=min(1.0, work.media.policy.look))
    # Attempts count until it is complete: being added again and again is no success.
    step = StepResult("added", soon, attempts=work.download.attempts, progressed_at=work.now)
    await work.put_down(step)
    return None


async def _check_free_space(work: ClaimedDownload) -> None:
    policy = work.media.policy
    async with work.services.database.read() as view:
        promised = await download_rows.count_remaining_bytes(view)
    needed = promised + (work.download.size or 0) + policy.free_bytes
    free = await work.media.library.free_bytes()
    if free < needed:
        detail = f"{free:,} bytes are free in the downloads, and {needed:,} are needed."
        raise StepFailed("no_room", detail, counts=False, wait=min(60.0, policy.pause_cap))


async def list_client_torrents(
    media: DownloadServices, downloads: Sequence[Download]
) -> Mapping[str, ClientTorrent]:
    """The torrents of these downloads as the client has them, by one request."""
    return await media.downloader.list_torrents(
        sorted({d.infohash for d in downloads if d.infohash})
    )


def step_from_client(
    download: Download, torrent: ClientTorrent | None, media: DownloadServices, database: Database
) -> StepResult:
    """The step that follows from the torrent as the client has it; StepFailed when it has
    failed."""
    policy, now = media.policy, database.clock.now()
    if torrent is None:
        raise StepFailed("lost_by_client", "The client does not have it any more.", state="ready")
    if torrent.state == "complete":
        return StepResult("complete", now, progress=_FULL, progressed_at=now)
    if torrent.state == "failed":
        detail = f"The client says: {torrent.detail or 'it failed'}."
        raise StepFailed("client_failed", detail, state="ready", again=True)
    progress = max(0, min(_FULL - 1, int(torrent.progress * _FULL)))
    soon, since = now + timedelta(seconds=policy.look), stalled_since(download, now)
    if progress > download.progress:
        return StepResult("added", soon, 0, None, None, progress, now)
    if (now - since).total_seconds() > policy.stalled:
        hours = policy.stalled / 3_600
        raise StepFailed("stalled", f"Nothing came for {hours:g} hours.", lasting=True)
    return StepResult("added", soon, download.attempts, progress=progress, progressed_at=since)


def stalled_since(download: Download, now: datetime, *, is_unseen: bool = False) -> datetime:
    """The moment since which nothing came, as if no time had passed while nobody could look.

    A machine that was off for four days has not seen four days without progress.
    """
    since = download.progressed_at or download.added_at or now
    away = now - (download.updated_at or now)
    return min(now, since + away) if is_unseen or away > _UNSEEN else since


async def write_steps(database: Database, steps: Sequence[tuple[Download, StepResult]]) -> None:
    """Write all steps in one transaction, but for downloads whose claim is lost."""
    async with database.write() as tx:
        for download, step in steps:
            await download_rows.update_claimed_download(tx, download, step, tx.now)


async def verify_download(work: ClaimedDownload) -> Download | None:
    """complete → verified: we have looked at the files ourselves."""
    client_torrent = await work.find_in_client()
    if client_torrent is None or client_torrent.state != "complete":
        await work.put_down(StepResult("added", work.now, attempts=work.download.attempts))
        return None
    folder, torrent = work.folder_of(client_torrent), await work.torrent()
    lack = await work.media.library.lacks(folder, torrent, pieces=work.media.policy.pieces)
    if lack is not None:
        raise StepFailed("not_as_seeded", lack, state="ready", again=True)
    return await work.go_on(replace(work.step_to("verified"), size=torrent.size))


async def restart_in_client(work: ClaimedDownload) -> None:
    """Let the client forget the torrent: when it gets it again, it looks at the files anew. The
    files stay. Somebody else's torrent is left alone."""
    torrent = await work.find_in_client()
    if torrent is not None and await is_our_torrent(work, torrent):
        await work.media.downloader.remove(work.infohash, with_files=False)


async def is_our_torrent(work: ClaimedDownload, torrent: ClientTorrent) -> bool:
    """Whether it bears our tag, and is in a folder that we made for this very torrent."""
    if not torrent.is_ours:
        return False
    folder = path_from_client(work.media.policy.client_downloads, torrent.save_path)
    async with work.services.database.read() as view:
        downloads = await download_rows.list_downloads_of_torrent(view, work.infohash)
    return folder in {download.save_path for download in downloads}
