"""Remove files from the library. Which release lost its place is written down first."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from headwater.anime.decide.plan import Replacement
from headwater.anime.downloads import download_rows, library_file_rows
from headwater.anime.downloads.claimed_download import ClaimedDownload, StepFailed
from headwater.anime.downloads.client_steps import is_our_torrent
from headwater.anime.downloads.download import (
    STATES_IN_LIBRARY,
    STATES_WITH_SLOTS,
    Download,
    DownloadState,
    LostSlots,
)
from headwater.anime.downloads.download_rows import LibraryFile, StepResult
from headwater.anime.downloads.ports import ClientTorrent, NotOurs, PlacedFile
from headwater.anime.naming.safe_path import collision_key
from headwater.anime.shows.slot import Slot
from headwater.core.errors import NotFound
from headwater.core.ports import Transaction
from headwater.core.telemetry.log import get_logger

logger = get_logger("downloads")
_SWITCH_SECONDS = 5.0


def losses_of(replacements: Sequence[Replacement], slots: Sequence[Slot]) -> tuple[LostSlots, ...]:
    """The losses in these slots alone, which the new release has filled: elsewhere another
    tracking, or a person, may have chosen the release that is on its way."""
    losses = []
    for replacement in replacements:
        loser = replacement.standing
        lost = tuple(slot for slot in replacement.slots if slot in slots)
        if lost:
            losses.append(LostSlots(int(loser.id), lost, set(loser.slots) <= set(lost)))
    return tuple(losses)


async def write_losses(
    tx: Transaction, losses: Sequence[LostSlots], winner: int, now: datetime
) -> list[Download]:
    """Write the losses, in the transaction in which the winner comes into the library. Returns the
    downloads that were in the library before."""
    former = []
    for loss in losses:
        loser = await download_rows.get_download(tx, loss.download_id, lock=True)
        if loser.state in STATES_IN_LIBRARY and loser.id != winner:
            former.append(loser)
        left = tuple(slot for slot in loser.slots if slot not in loss.slots)
        await _mark_files_leaving(tx, loser, left, now)
        if loss.is_whole:
            detail = f"Download {winner} has its place."
            ends_as: DownloadState = "retired" if loser.linked_at is not None else "dropped"
            await download_rows.set_download_due(
                tx, loser.id, "retiring", now, ends_as=ends_as, detail=detail
            )
        else:
            await download_rows.set_download_due(
                tx, loser.id, loser.state, now, slots=left, detail=loser.detail
            )
    return former


async def retire_download(
    tx: Transaction, download: Download, ends_as: DownloadState, detail: str, now: datetime
) -> None:
    """Let all of a download go, from the library and from the client."""
    await _mark_files_leaving(tx, download, (), now)
    await download_rows.set_download_due(
        tx, download.id, "retiring", now, ends_as=ends_as, detail=detail
    )


async def _mark_files_leaving(
    tx: Transaction, loser: Download, left: Sequence[Slot], now: datetime
) -> None:
    """Let its files leave, but for those of an episode that it still has."""
    leaving = [
        file.id
        for file in await download_rows.list_library_files(tx, loser.id)
        if file.state in ("wanted", "placed") and not set(left) & set(file.slots)
    ]
    await library_file_rows.mark_files_leaving(tx, leaving, "leaving", now)


async def cancel_switch(tx: Transaction, file: LibraryFile, now: datetime) -> None:
    """Another file will not take the place of this one after all: it stays, or leaves by itself."""
    owner = await download_rows.get_download(tx, file.download_id)
    state: download_rows.LibraryFileState = "leaving" if owner.state == "retiring" else "placed"
    await library_file_rows.mark_files_leaving(tx, [file.id], state, now)


async def remove_leaving_files(work: ClaimedDownload) -> None:
    """Remove files that are `leaving`, and note of each where it is now. A repeat after a crash
    finds what is gone."""
    async with work.services.database.read() as view:
        files = await download_rows.list_library_files(view, work.download.id)
    if any(file.state == "switching" for file in files):
        detail = "A file of another download is coming into its place."
        raise StepFailed("switching", detail, counts=False, wait=_SWITCH_SECONDS)
    for file in files:
        if file.state == "leaving":
            await _remove_file(work, file)


async def _remove_file(work: ClaimedDownload, file: LibraryFile) -> None:
    old = PlacedFile(file.path, file.length, file.mark, file.source)
    state: download_rows.LibraryFileState = "recycled"
    recycled_to: str | None = None
    try:
        recycled_to = await work.media.library.recycle(old, today=recycle_day_of(file, work.now))
    except NotOurs as trouble:
        state = "left"
        logger.warning("file_left", download=work.download.id, detail=trouble.message)
    async with work.services.database.write() as tx:
        await library_file_rows.mark_file_gone(tx, file.id, state, recycled_to, work.now)


async def remove_late_files(
    work: ClaimedDownload, placed: Sequence[tuple[LibraryFile, str]]
) -> None:
    """Remove files, each with its mark, that were placed too late: their download had lost its
    place meanwhile."""
    async with work.services.database.read() as view:
        rows = {
            row.id: row for row in await download_rows.list_library_files(view, work.download.id)
        }
    for file, mark in placed:
        row = rows.get(file.id)
        if row is not None and row.state in ("leaving", "recycled"):
            late = PlacedFile(file.path, file.length, mark, file.source)
            with suppress(NotOurs):
                await work.media.library.recycle(late, today=recycle_day_of(row, work.now))


async def remove_placed_files(work: ClaimedDownload) -> None:
    """Remove the files of a download that is given up, while its rows still say whose they are. A
    path that another download has, too, is left to that one."""
    async with work.services.database.read() as view:
        if (await download_rows.get_download(view, work.download.id)).fence != work.download.fence:
            return  # somebody else is at it
        files = await download_rows.list_library_files(view, work.download.id)
        coming = [file for file in files if file.state == "wanted"]
        keys = sorted({collision_key(file.path) for file in coming})
        others = await download_rows.list_library_files_at(view, keys)
    theirs = {collision_key(f.path) for f in others if f.download_id != work.download.id}
    for file in coming:
        if collision_key(file.path) not in theirs:
            late = PlacedFile(file.path, file.length, file.mark, file.source)
            with suppress(NotOurs):
                await work.media.library.recycle(late, today=recycle_day_of(file, work.now))


def recycle_day_of(file: LibraryFile, now: datetime) -> str:
    """The day on which the file lost its place: a repeat on another day finds it where it was
    put."""
    return f"{file.gone_at or now:%Y-%m-%d}"


_LOOK_SECONDS = 2.0


async def finish_download(work: ClaimedDownload) -> Download | None:
    """linked → done, once all that lost their places to it are gone from there."""
    await remove_leaving_files(work)
    async with work.services.database.read() as view:
        for loss in work.download.replaces:
            try:
                loser = await download_rows.get_download(view, loss.download_id)
            except NotFound:  # its show is not tracked any more
                continue
            leaving = await download_rows.list_library_files(view, loser.id)
            if loser.state == "retiring" or any(f.state == "leaving" for f in leaving):
                soon = work.now + timedelta(seconds=_LOOK_SECONDS)
                await work.put_down(StepResult("linked", soon, detail=work.download.detail))
                return None
    await work.put_down(StepResult("done", None, detail=work.download.detail))
    return None


async def tidy_download(work: ClaimedDownload) -> Download | None:
    """done: a part of it may have lost its place."""
    await remove_leaving_files(work)
    await work.put_down(StepResult("done", None, detail=work.download.detail))
    return None


async def finish_retiring(work: ClaimedDownload) -> Download | None:
    """retiring → retired, or dropped."""
    await remove_leaving_files(work)
    async with work.services.database.write() as tx:
        await cancel_own_switches(tx, work.download, work.now)
    if work.download.infohash is not None and not await _is_needed(work):
        await _leave_client(work)
    ends_as = work.download.ends_as or "retired"
    await work.put_down(StepResult(ends_as, None, detail=work.download.detail))
    return None


async def cancel_own_switches(tx: Transaction, download: Download, now: datetime) -> None:
    """The download will not take the places of other files after all: they stay, or leave by
    themselves."""
    own = await download_rows.list_library_files(tx, download.id)
    keys = sorted({collision_key(file.path) for file in own})
    for file in await download_rows.list_library_files_at(tx, keys):
        if file.state == "switching" and file.download_id != download.id:
            await cancel_switch(tx, file, now)
    await library_file_rows.delete_wanted_files(tx, [file.id for file in own])


async def _is_needed(work: ClaimedDownload) -> bool:
    """Whether another download has the same torrent, or the torrent must be seeded on."""
    if work.media.policy.keep_seeding and work.download.linked_at is not None:
        return True
    async with work.services.database.read() as view:
        others = await download_rows.list_downloads_of_torrent(view, work.infohash)
    return any(
        each.state in STATES_WITH_SLOTS or (each.state == "retiring" and each.id > work.download.id)
        for each in others
        if each.id != work.download.id
    )


async def _leave_client(work: ClaimedDownload) -> None:
    downloader = work.media.downloader
    torrent = await work.find_in_client()
    if torrent is not None and not await is_our_torrent(work, torrent):
        logger.info("torrent_left", download=work.download.id, infohash=work.infohash)
        return
    forgets_only = not downloader.deletes_files
    paths = await _downloaded_paths(work, torrent, with_control_file=forgets_only)
    if torrent is not None:
        await downloader.remove(work.infohash, with_files=True)
    if torrent is not None or forgets_only:
        await work.media.library.discard(paths)


async def _downloaded_paths(
    work: ClaimedDownload, client_torrent: ClientTorrent | None, *, with_control_file: bool
) -> list[str]:
    """Its files below the downloads, in the folder that was made for it."""
    try:
        torrent = await work.torrent()
    except StepFailed:  # a magnet link that never found its torrent has none
        return []
    folder = work.folder_of(client_torrent) if client_torrent else work.download.save_path
    paths = [f"{folder}/{'/'.join(f.path)}" for f in torrent.files if not f.is_padding]
    return [*paths, f"{folder}/{torrent.name}.aria2"] if with_control_file else paths
