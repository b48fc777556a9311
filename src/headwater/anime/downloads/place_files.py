"""Place the files of a finished download in the library. Worse releases lose their place there."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from headwater.anime.decide.decide_again import record_next_best
from headwater.anime.decide.decide_by_hand import BY_HAND
from headwater.anime.decide.plan import HeldRelease, superseded_releases
from headwater.anime.decide.record_decisions import count_decisions
from headwater.anime.downloads import download_rows, library_file_rows
from headwater.anime.downloads.claimed_download import ClaimedDownload, DownloadContext, StepFailed
from headwater.anime.downloads.client_steps import is_our_torrent
from headwater.anime.downloads.download import (
    STATES_IN_LIBRARY,
    STATES_WITH_SLOTS,
    Download,
    LostSlots,
)
from headwater.anime.downloads.download_rows import LibraryFile, StepResult
from headwater.anime.downloads.library_file_rows import NewLibraryFile
from headwater.anime.downloads.ports import ClientTorrentFile, PlacedFile, PlaceTaken, SourceGone
from headwater.anime.downloads.remove_files import (
    cancel_switch,
    losses_of,
    recycle_day_of,
    remove_late_files,
    retire_download,
    write_losses,
)
from headwater.anime.naming.match_files import TorrentContents, match_torrent_files
from headwater.anime.naming.name_files import NamedFile, NamedVideo, name_videos
from headwater.anime.naming.nfo import SHOW_FILE, show_nfo
from headwater.anime.naming.safe_path import collision_key
from headwater.anime.release_events import release_downloaded, release_upgraded
from headwater.anime.shows import show_rows
from headwater.anime.shows.slot import Slot
from headwater.anime.title import read_title
from headwater.core.ports import Transaction, View
from headwater.events import event_rows
from headwater.events.event import Event

_MOST_NAMES = 50
"""So many names are tried for a video when files that are not ours have them all."""

_LONGEST_DETAIL = 1_000
_NEIGHBOUR_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class DownloadedFiles:
    """The files of a finished download that come into the library, and their folder. `stay`: the
    files are somebody else's too, and must stay where they are."""

    context: DownloadContext
    folder: str
    contents: TorrentContents
    stay: bool

    def source(self, path: str) -> str:
        return f"{self.folder}/{path}" if self.folder else path


@dataclass(frozen=True, slots=True)
class FileToPlace:
    """One file on its way in, its name, and those of our files that have its path now."""

    file: LibraryFile
    named: NamedFile
    is_video: bool
    replaced: tuple[LibraryFile, ...] = ()


class RecycledFile(NamedTuple):
    """A file that was replaced, and its path in the recycle folder; None when it was deleted."""

    file_id: int
    recycled_to: str | None


@dataclass(slots=True)
class PlacementResult:
    """The result of placing files: ids and marks of those placed, ids of those left out, the
    files that were replaced, and the paths of those placed."""

    marks: list[tuple[int, str]] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    recycled: list[RecycledFile] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


class _PathIsTaken(Exception):
    """A file that is not ours has the path of this video."""

    def __init__(self, to_place: FileToPlace) -> None:
        super().__init__(to_place.file.path)
        self.to_place = to_place


async def place_download(work: ClaimedDownload) -> Download | None:
    """verified → linked. Rows are written first, then files are placed, then a commit says so."""
    downloaded = await _get_downloaded_files(work)
    avoid: set[str] = set()
    while len(avoid) < _MOST_NAMES:
        files = await _plan_files(work, downloaded, avoid)
        if files is None:
            return None
        try:
            result = await _place_files(work, downloaded, files)
        except _PathIsTaken as trouble:
            avoid.add(trouble.to_place.file.path)
            await _take_back(work, trouble.to_place, files)
            continue
        except SourceGone as trouble:
            raise StepFailed(trouble.code, trouble.message, state="ready", again=True) from trouble
        if not await _commit_linked(work, downloaded, result):
            marks = dict(result.marks)
            late = [each.file for each in files if not each.replaced and each.file.id in marks]
            await remove_late_files(work, [(file, marks[file.id]) for file in late])
        return None
    raise StepFailed("place_taken", f"Its place and {_MOST_NAMES} further ones are taken.")


async def _get_downloaded_files(work: ClaimedDownload) -> DownloadedFiles:
    client_torrent = await work.find_in_client()
    if client_torrent is None:
        raise StepFailed("lost_by_client", "The client does not have it any more.", state="ready")
    context, torrent = await work.context(), await work.torrent()
    listed = [
        ClientTorrentFile("/".join(f.path), f.length) for f in torrent.files if not f.is_padding
    ]
    contents = await asyncio.to_thread(
        match_torrent_files,
        listed,
        context.show.show,
        work.download.slots,
        lambda name: read_title(name).release,
    )
    if not contents.videos:
        raise StepFailed(
            "nothing_in_it",
            f"Nothing of it can be placed. {_left_out_in_words(contents)}",
            lasting=True,
        )
    async with work.services.database.read() as view:
        downloads = await download_rows.list_downloads_of_torrent(view, work.infohash)
    coming = STATES_WITH_SLOTS - STATES_IN_LIBRARY
    # Another download may still wait for files of the same torrent.
    is_awaited = any(each.state in coming for each in downloads if each.id != work.download.id)
    stay = is_awaited or not await is_our_torrent(work, client_torrent)
    return DownloadedFiles(context, work.folder_of(client_torrent), contents, stay)


async def _plan_files(
    work: ClaimedDownload, downloaded: DownloadedFiles, avoid: set[str]
) -> list[FileToPlace] | None:
    """Write down every file that will be placed, and which files it replaces. None when there is
    nothing for us to do any more."""
    async with work.services.database.write() as tx:
        await show_rows.get_show(tx, work.download.show_id, lock=True)
        if not await work.is_ours(tx):
            return None
        slots = await _slots_won(tx, work.download, downloaded.context)
        if not slots:
            detail = "Something better is in the library."
            await retire_download(tx, work.download, "dropped", detail, work.now)
            return None
        bundles = await _name_videos(tx, work, downloaded, slots, avoid)
        replaced = await _list_replaced_files(tx, work, bundles)
        return await _insert_files(tx, work, downloaded, bundles, replaced)


async def _slots_won(view: View, download: Download, context: DownloadContext) -> tuple[Slot, ...]:
    """The slots that it will keep once it is there: all of them if a person took the release."""
    if context.decision.rule == BY_HAND:
        return download.slots
    standing = _as_linked(
        await download_rows.list_held_releases(view, download.show_id), download.id
    )
    lost = {
        slot
        for each in superseded_releases(standing, context.tracking.preferences)
        if each.standing.id == str(download.id)
        for slot in each.slots
    }
    return tuple(slot for slot in download.slots if slot not in lost)


def _as_linked(standing: Sequence[HeldRelease], download_id: int) -> list[HeldRelease]:
    own_id = str(download_id)
    return [replace(each, is_complete=True) if each.id == own_id else each for each in standing]


async def _name_videos(
    view: View,
    work: ClaimedDownload,
    downloaded: DownloadedFiles,
    slots: Sequence[Slot],
    avoid: set[str],
) -> list[NamedVideo]:
    """Name the videos. Paths that other downloads have by our own records are avoided."""
    videos = [video for video in downloaded.contents.videos if set(video.slots) & set(slots)]
    naming = replace(work.media.policy.naming, folder=downloaded.context.tracking.save_path)
    avoided = set(avoid)
    while True:
        bundles = name_videos(
            videos,
            downloaded.context.show.show,
            downloaded.context.decision.release,
            naming,
            nfo=work.media.policy.nfo,
            avoid=sorted(avoided),
        )
        keys = {collision_key(bundle.video.path): bundle for bundle in bundles}
        taken = {
            keys[collision_key(file.path)].video.path
            for file in await download_rows.list_library_files_at(view, sorted(keys))
            if file.download_id != work.download.id
            and not await _may_replace(view, work, file, keys[collision_key(file.path)].video.slots)
        }
        if not taken:
            return bundles
        avoided |= taken


async def _may_replace(
    view: View, work: ClaimedDownload, file: LibraryFile, slots: Sequence[Slot]
) -> bool:
    """We may replace a file of the same show and of an episode that we have won."""
    owner = await download_rows.get_download(view, file.download_id)
    return owner.show_id == work.download.show_id and bool(set(file.slots) & set(slots))


async def _list_replaced_files(
    tx: Transaction, work: ClaimedDownload, bundles: Sequence[NamedVideo]
) -> Mapping[str, list[LibraryFile]]:
    """Files of other downloads whose paths the new files take, by the key of the path."""
    named_files = {collision_key(each.path): each for bundle in bundles for each in bundle.all}
    replaced: dict[str, list[LibraryFile]] = {}
    for file in await download_rows.list_library_files_at(tx, sorted(named_files)):
        key = collision_key(file.path)
        if file.download_id == work.download.id:
            continue
        if not await _may_replace(tx, work, file, named_files[key].slots):
            continue  # a file beside another download's video stays there
        owner = await download_rows.get_download(tx, file.download_id, lock=True)
        is_busy = owner.next_step_at is not None and owner.next_step_at > work.now
        if (owner.state == "verified" and file.state == "wanted") or (
            file.state == "leaving" and is_busy and owner.state in ("retiring", "linked", "done")
        ):
            detail = f"Download {owner.id} is busy in the same place."
            raise StepFailed("neighbour_busy", detail, counts=False, wait=_NEIGHBOUR_SECONDS)
        replaced.setdefault(key, []).append(file)
    return replaced


async def _insert_files(
    tx: Transaction,
    work: ClaimedDownload,
    downloaded: DownloadedFiles,
    bundles: Sequence[NamedVideo],
    replaced: Mapping[str, list[LibraryFile]],
) -> list[FileToPlace]:
    named_files = [(each, each is bundle.video) for bundle in bundles for each in bundle.all]
    # A new file takes the path of an old one to the letter: to some systems two spellings are one.
    old_paths = {key: files[0].path for key, files in replaced.items()}
    new_files = [
        NewLibraryFile(
            downloaded.source(named.source),
            old_paths.get(collision_key(named.path), named.path),
            named.length,
            named.slots,
        )
        for named, _ in named_files
    ]
    by_source = {
        file.source: file
        for file in await library_file_rows.upsert_library_files(tx, work.download.id, new_files)
    }
    files_to_place = []
    for named, is_video in named_files:
        file = by_source[downloaded.source(named.source)]
        old_files = tuple(replaced.get(collision_key(file.path), ()))
        await library_file_rows.mark_files_leaving(
            tx, [old.id for old in old_files], "switching", work.now
        )
        files_to_place.append(FileToPlace(file, named, is_video, old_files))
    return files_to_place


async def _place_files(
    work: ClaimedDownload, downloaded: DownloadedFiles, files: Sequence[FileToPlace]
) -> PlacementResult:
    """Place videos first. Files beside them are left out where a person has put another."""
    result = PlacementResult()
    for to_place in sorted(files, key=lambda each: not each.is_video):
        try:
            mark = await _place_file(work, downloaded, to_place, result)
            result.marks.append((to_place.file.id, mark))
            result.paths.append(to_place.file.path)
        except PlaceTaken as trouble:
            if to_place.is_video:
                raise _PathIsTaken(to_place) from trouble
            result.left += [to_place.file.id, *(old.id for old in to_place.replaced)]
    if work.media.policy.nfo and not downloaded.context.show.show.is_film:
        await _write_show_nfo(work, downloaded)
    return result


async def _place_file(
    work: ClaimedDownload,
    downloaded: DownloadedFiles,
    to_place: FileToPlace,
    result: PlacementResult,
) -> str:
    """Place one file, note in `result` which files it has replaced, and return its mark."""
    library, file = work.media.library, to_place.file
    if to_place.named.body is not None:
        ours = [_as_placed(each) for each in (*to_place.replaced, file)]
        mark = await library.write(file.path, to_place.named.body, over=ours)
        result.recycled += [RecycledFile(old.id, None) for old in to_place.replaced]
        return mark
    for old in to_place.replaced:
        placed = _as_placed(old)
        today = recycle_day_of(old, work.now)
        switched = await library.switch(file.source, placed, today=today, keep=downloaded.stay)
        result.recycled.append(RecycledFile(old.id, switched.kept))
        return switched.mark
    return await library.place(file.source, file.path, keep=downloaded.stay)


def _as_placed(file: LibraryFile) -> PlacedFile:
    return PlacedFile(file.path, file.length, file.mark, file.source)


async def _write_show_nfo(work: ClaimedDownload, downloaded: DownloadedFiles) -> None:
    show = downloaded.context.show.show
    naming = replace(work.media.policy.naming, folder=downloaded.context.tracking.save_path)
    first = downloaded.contents.videos[:1]
    for bundle in name_videos(first, show, downloaded.context.decision.release, naming):
        if not bundle.show_folder:
            return  # the template gives it no folder of its own
        try:
            body = show_nfo(show).encode()
            await work.media.library.write(f"{bundle.show_folder}/{SHOW_FILE}", body)
        except PlaceTaken:
            return  # it is there, ours or a person's own


async def _take_back(
    work: ClaimedDownload, video: FileToPlace, files: Sequence[FileToPlace]
) -> None:
    """The path turned out not to be ours: let another one be chosen for the video and the files
    beside it. The file that we had there once is not ours any more; those beside it are not
    switched."""
    together = [each for each in files if each.file.slots == video.file.slots]
    async with work.services.database.write() as tx:
        for old in video.replaced:
            await library_file_rows.mark_file_gone(tx, old.id, "left", None, work.now)
        for old in (old for each in together if each is not video for old in each.replaced):
            await cancel_switch(tx, old, work.now)
        await library_file_rows.delete_wanted_files(tx, [each.file.id for each in together])


async def _commit_linked(
    work: ClaimedDownload, downloaded: DownloadedFiles, result: PlacementResult
) -> bool:
    """Commit that the files are in the library, and which downloads lose slots by it, in one
    transaction. False when the claim is not ours any more."""
    context, now = downloaded.context, work.now
    async with work.services.database.write() as tx:
        await show_rows.get_show(tx, context.show.id, lock=True)
        if not await work.is_ours(tx):
            return False
        await library_file_rows.mark_files_placed(tx, result.marks, now)
        for recycled in result.recycled:
            await library_file_rows.mark_file_gone(
                tx, recycled.file_id, "recycled", recycled.recycled_to, now
            )
        for file_id in result.left:
            await library_file_rows.mark_file_gone(tx, file_id, "left", None, now)
        slots = await _slots_filled(tx, work.download)
        losses = await _losses_by(tx, work.download, context, slots)
        step = StepResult(
            "linked",
            now,
            slots=slots,
            replaces=losses,
            detail=_left_out_in_words(downloaded.contents),
        )
        linked = await download_rows.update_claimed_download(tx, work.download, step, now)
        if linked is None:
            return False
        former = await write_losses(tx, losses, linked.id, now)
        await event_rows.append_events(
            tx, [await _placed_event(tx, context, linked, result.paths, former)], now
        )
        missing = set(work.download.slots) - set(slots)
        summary = await record_next_best(tx, work.services, context.show.id, missing, now)
    count_decisions(summary, tracking=context.tracking.id)
    return True


async def _slots_filled(view: View, download: Download) -> tuple[Slot, ...]:
    filled = {
        slot
        for file in await download_rows.list_library_files(view, download.id)
        if file.state == "placed"
        for slot in file.slots
    }
    return tuple(slot for slot in download.slots if slot in filled)


async def _losses_by(
    view: View, download: Download, context: DownloadContext, slots: tuple[Slot, ...]
) -> tuple[LostSlots, ...]:
    if context.decision.rule == BY_HAND:
        return await _losses_by_hand(view, download, slots)
    own_id = str(download.id)
    standing = [
        replace(each, slots=slots) if each.id == own_id else each
        for each in _as_linked(
            await download_rows.list_held_releases(view, download.show_id), download.id
        )
    ]
    return losses_of(superseded_releases(standing, context.tracking.preferences), slots)


async def _losses_by_hand(
    view: View, download: Download, slots: tuple[Slot, ...]
) -> tuple[LostSlots, ...]:
    """All that have these slots lose them, better or not."""
    losses = []
    for held in await download_rows.list_held_releases(view, download.show_id):
        lost = tuple(slot for slot in held.slots if slot in slots)
        if lost and held.id != str(download.id):
            losses.append(LostSlots(int(held.id), lost, len(lost) == len(held.slots)))
    return tuple(losses)


async def _placed_event(
    view: View,
    context: DownloadContext,
    linked: Download,
    paths: Sequence[str],
    former: Sequence[Download],
) -> Event:
    feed, show, infohash = context.tracking.feed_id, context.show, linked.infohash or ""
    decision = replace(context.decision, slots=linked.slots)
    if not former:
        return release_downloaded(feed, show, decision, infohash, paths)
    titles = await download_rows.list_release_titles(view, [each.id for each in former])
    former_titles = [titles[each.id] for each in former]
    return release_upgraded(feed, show, decision, infohash, paths, former_titles)


def _left_out_in_words(contents: TorrentContents) -> str | None:
    """Nothing is left out silently."""
    reasons = [f"{slot} is not in it." for slot in contents.missing]
    reasons += [f"{each.file.path}: {each.reason}" for each in contents.left_out]
    text = " ".join(reasons)
    return (text if len(text) <= _LONGEST_DETAIL else text[: _LONGEST_DETAIL - 1] + "…") or None
