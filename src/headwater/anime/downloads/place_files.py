"""Place the files of a finished download in the library; what they outdo loses its place."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

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
"""So many names are tried for a video whose places are all taken by strangers."""

_LONGEST_DETAIL = 1_000
_NEIGHBOUR_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class DownloadedFiles:
    """What is to come into the library, and from where."""

    facts: DownloadContext
    folder: str
    contents: TorrentContents
    is_kept: bool
    """The files are somebody else's too, and must stay where they are."""

    def source(self, path: str) -> str:
        return f"{self.folder}/{path}" if self.folder else path


@dataclass(frozen=True, slots=True)
class FileToPlace:
    """One file on its way in, and those of ours that have its place now."""

    file: LibraryFile
    shelved: NamedFile
    is_video: bool
    olds: tuple[LibraryFile, ...] = ()


@dataclass(slots=True)
class PlacementResult:
    """What the disk says of it: the mark of each file, what was left out, where old ones are."""

    marks: list[tuple[int, str]] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    kept: list[tuple[int, str | None]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


class _PathIsTaken(Exception):
    """A stranger has the place of this video."""

    def __init__(self, placing: FileToPlace) -> None:
        super().__init__(placing.file.path)
        self.placing = placing


async def place_download(work: ClaimedDownload) -> Download | None:
    """verified → linked. Rows first, then files, then the commit that says so."""
    load = await _get_downloaded_files(work)
    avoid: set[str] = set()
    while len(avoid) < _MOST_NAMES:
        placings = await _plan_files(work, load, avoid)
        if placings is None:
            return None
        try:
            done = await _place_files(work, load, placings)
        except _PathIsTaken as trouble:
            avoid.add(trouble.placing.file.path)
            await _take_back(work, trouble.placing, placings)
            continue
        except SourceGone as trouble:
            raise StepFailed(trouble.code, trouble.message, state="ready", again=True) from trouble
        if not await _commit_linked(work, load, done):
            marks = dict(done.marks)
            mine = [each.file for each in placings if not each.olds and each.file.id in marks]
            await remove_late_files(work, [(file, marks[file.id]) for file in mine])
        return None
    raise StepFailed("place_taken", f"Its place and {_MOST_NAMES} further ones are taken.")


async def _get_downloaded_files(work: ClaimedDownload) -> DownloadedFiles:
    job = await work.job()
    if job is None:
        raise StepFailed("lost_by_client", "The client does not have it any more.", state="ready")
    facts, torrent = await work.facts(), await work.torrent()
    listed = [
        ClientTorrentFile("/".join(f.path), f.length) for f in torrent.files if not f.is_padding
    ]
    contents = await asyncio.to_thread(
        match_torrent_files,
        listed,
        facts.show.show,
        work.download.slots,
        lambda name: read_title(name).release,
    )
    if not contents.videos:
        raise StepFailed(
            "nothing_in_it",
            f"Nothing of it can be placed. {_left_out_in_words(contents)}",
            lasting=True,
        )
    is_kept = await _is_awaited(work) or not await is_our_torrent(work, job)
    return DownloadedFiles(facts, work.folder_of(job), contents, is_kept)


async def _is_awaited(work: ClaimedDownload) -> bool:
    """Another show is to have files of the same torrent, and has not got them yet."""
    async with work.services.database.read() as view:
        others = await download_rows.list_downloads_of_torrent(view, work.infohash)
    coming = STATES_WITH_SLOTS - STATES_IN_LIBRARY
    return any(each.state in coming for each in others if each.id != work.download.id)


async def _plan_files(
    work: ClaimedDownload, load: DownloadedFiles, avoid: set[str]
) -> list[FileToPlace] | None:
    """Every file that will be there is written down, and whose place it takes. None when there is
    nothing for us to do any more."""
    async with work.services.database.write() as tx:
        await show_rows.get_show(tx, work.download.show_id, lock=True)
        if not await work.is_ours(tx):
            return None
        slots = await _slots_won(tx, work.download, load.facts)
        if not slots:
            said = "Something better is in the library."
            await retire_download(tx, work.download, "dropped", said, work.now)
            return None
        bundles = await _name_videos(tx, work, load, slots, avoid)
        rivals = await _rivals(tx, work, bundles, load)
        return await _insert_files(tx, work, load, bundles, rivals)


async def _slots_won(view: View, download: Download, facts: DownloadContext) -> tuple[Slot, ...]:
    """Of its slots, those where it will stay when it is there. What a person took, stays."""
    if facts.row.rule == BY_HAND:
        return download.slots
    there = _as_linked(await download_rows.list_held_releases(view, download.show_id), download.id)
    lost = {
        slot
        for each in superseded_releases(there, facts.tracking.preferences)
        if each.standing.id == str(download.id)
        for slot in each.slots
    }
    return tuple(slot for slot in download.slots if slot not in lost)


def _as_linked(standing: Sequence[HeldRelease], download_id: int) -> list[HeldRelease]:
    me = str(download_id)
    return [replace(each, is_complete=True) if each.id == me else each for each in standing]


async def _name_videos(
    view: View, work: ClaimedDownload, load: DownloadedFiles, slots: Sequence[Slot], avoid: set[str]
) -> list[NamedVideo]:
    """Places that strangers have in our own records are passed by."""
    videos = [video for video in load.contents.videos if set(video.slots) & set(slots)]
    naming = replace(work.media.policy.naming, folder=load.facts.tracking.save_path)
    passed = set(avoid)
    while True:
        bundles = name_videos(
            videos,
            load.facts.show.show,
            load.facts.row.release,
            naming,
            nfo=work.media.policy.nfo,
            avoid=sorted(passed),
        )
        keys = {collision_key(bundle.video.path): bundle for bundle in bundles}
        strange = {
            keys[collision_key(file.path)].video.path
            for file in await download_rows.list_library_files_at(view, sorted(keys))
            if file.download_id != work.download.id
            and not await _may_take(view, work, file, keys[collision_key(file.path)].video.slots)
        }
        if not strange:
            return bundles
        passed |= strange


async def _may_take(
    view: View, work: ClaimedDownload, file: LibraryFile, slots: Sequence[Slot]
) -> bool:
    """A file of ours in the place of this episode: we have won it."""
    owner = await download_rows.get_download(view, file.download_id)
    return owner.show_id == work.download.show_id and bool(set(file.slots) & set(slots))


async def _rivals(
    tx: Transaction, work: ClaimedDownload, bundles: Sequence[NamedVideo], load: DownloadedFiles
) -> Mapping[str, list[LibraryFile]]:
    """Files of ours that have a place which is wanted now, by the key of their path."""
    wanted = {collision_key(e.path): e for bundle in bundles for e in bundle.all}
    found: dict[str, list[LibraryFile]] = {}
    for file in await download_rows.list_library_files_at(tx, sorted(wanted)):
        key = collision_key(file.path)
        if file.download_id == work.download.id:
            continue
        if not await _may_take(tx, work, file, wanted[key].slots):
            continue  # what stands beside a video of somebody else's stays there
        owner = await download_rows.get_download(tx, file.download_id, lock=True)
        is_busy = owner.next_step_at is not None and owner.next_step_at > work.now
        if (owner.state == "verified" and file.state == "wanted") or (
            file.state == "leaving" and is_busy and owner.state in ("retiring", "linked", "done")
        ):
            said = f"Download {owner.id} is busy in the same place."
            raise StepFailed("neighbour_busy", said, counts=False, wait=_NEIGHBOUR_SECONDS)
        found.setdefault(key, []).append(file)
    return found


async def _insert_files(
    tx: Transaction,
    work: ClaimedDownload,
    load: DownloadedFiles,
    bundles: Sequence[NamedVideo],
    rivals: Mapping[str, list[LibraryFile]],
) -> list[FileToPlace]:
    every = [(each, each is bundle.video) for bundle in bundles for each in bundle.all]
    # What has the place of an old file has its path to the letter: some systems take two for one.
    old_path = {key: olds[0].path for key, olds in rivals.items()}
    wishes = [
        NewLibraryFile(
            load.source(each.source),
            old_path.get(collision_key(each.path), each.path),
            each.length,
            each.slots,
        )
        for each, _ in every
    ]
    rows = {
        row.source: row
        for row in await library_file_rows.upsert_library_files(tx, work.download.id, wishes)
    }
    placings = []
    for each, is_video in every:
        row = rows[load.source(each.source)]
        olds = tuple(rivals.get(collision_key(row.path), ()))
        await library_file_rows.mark_files_leaving(
            tx, [old.id for old in olds], "switching", work.now
        )
        placings.append(FileToPlace(row, each, is_video, olds))
    return placings


async def _place_files(
    work: ClaimedDownload, load: DownloadedFiles, placings: Sequence[FileToPlace]
) -> PlacementResult:
    """Videos first; what stands beside them gives way to what a person has put there."""
    done = PlacementResult()
    for placing in sorted(placings, key=lambda each: not each.is_video):
        try:
            done.marks.append((placing.file.id, await _place_file(work, load, placing, done)))
            done.paths.append(placing.file.path)
        except PlaceTaken as trouble:
            if placing.is_video:
                raise _PathIsTaken(placing) from trouble
            done.left += [placing.file.id, *(old.id for old in placing.olds)]
    if work.media.policy.nfo and not load.facts.show.show.is_film:
        await _describe_show(work, load)
    return done


async def _place_file(
    work: ClaimedDownload, load: DownloadedFiles, placing: FileToPlace, done: PlacementResult
) -> str:
    library, file = work.media.library, placing.file
    if placing.shelved.body is not None:
        ours = [_as_placed(each) for each in (*placing.olds, file)]
        mark = await library.write(file.path, placing.shelved.body, over=ours)
        done.kept += [(old.id, None) for old in placing.olds]
        return mark
    for old in placing.olds:
        was = _as_placed(old)
        today = recycle_day_of(old, work.now)
        switched = await library.switch(file.source, was, today=today, keep=load.is_kept)
        done.kept.append((old.id, switched.kept))
        return switched.mark
    return await library.place(file.source, file.path, keep=load.is_kept)


def _as_placed(file: LibraryFile) -> PlacedFile:
    return PlacedFile(file.path, file.length, file.mark, file.source)


async def _describe_show(work: ClaimedDownload, load: DownloadedFiles) -> None:
    show = load.facts.show.show
    naming = replace(work.media.policy.naming, folder=load.facts.tracking.save_path)
    first = load.contents.videos[:1]
    for bundle in name_videos(first, show, load.facts.row.release, naming):
        if not bundle.show_folder:
            return  # the template gives it no folder of its own
        try:
            body = show_nfo(show).encode()
            await work.media.library.write(f"{bundle.show_folder}/{SHOW_FILE}", body)
        except PlaceTaken:
            return  # it is there, ours or a person's own


async def _take_back(
    work: ClaimedDownload, taken: FileToPlace, placings: Sequence[FileToPlace]
) -> None:
    """The place is a stranger's after all: another one is chosen for the video and what is beside
    it. What we had there once is not ours any more; what stands beside that is not switched."""
    together = [each for each in placings if each.file.slots == taken.file.slots]
    async with work.services.database.write() as tx:
        for old in taken.olds:
            await library_file_rows.mark_file_gone(tx, old.id, "left", None, work.now)
        for old in (old for each in together if each is not taken for old in each.olds):
            await cancel_switch(tx, old, work.now)
        await library_file_rows.delete_wanted_files(tx, [each.file.id for each in together])


async def _commit_linked(
    work: ClaimedDownload, load: DownloadedFiles, done: PlacementResult
) -> bool:
    """The library shows it: this, and who lost what by it, become true together. False when it is
    not ours any more."""
    facts, now = load.facts, work.now
    async with work.services.database.write() as tx:
        await show_rows.get_show(tx, facts.show.id, lock=True)
        if not await work.is_ours(tx):
            return False
        await library_file_rows.mark_files_placed(tx, done.marks, now)
        for file_id, kept in done.kept:
            await library_file_rows.mark_file_gone(tx, file_id, "recycled", kept, now)
        for file_id in done.left:
            await library_file_rows.mark_file_gone(tx, file_id, "left", None, now)
        slots = await _filled(tx, work.download)
        losses = await _losses(tx, work.download, facts, slots)
        step = StepResult(
            "linked", now, slots=slots, replaces=losses, detail=_left_out_in_words(load.contents)
        )
        linked = await download_rows.update_claimed_download(tx, work.download, step, now)
        if linked is None:
            return False
        former = await write_losses(tx, losses, linked.id, now)
        await event_rows.append_events(
            tx, [await _event(tx, facts, linked, done.paths, former)], now
        )
        lacking = set(work.download.slots) - set(slots)
        outcome = await record_next_best(tx, work.services, facts.show.id, lacking, now)
    count_decisions(outcome, tracking=facts.tracking.id)
    return True


async def _filled(view: View, download: Download) -> tuple[Slot, ...]:
    there = {
        slot
        for file in await download_rows.list_library_files(view, download.id)
        if file.state == "placed"
        for slot in file.slots
    }
    return tuple(slot for slot in download.slots if slot in there)


async def _losses(
    view: View, download: Download, facts: DownloadContext, slots: tuple[Slot, ...]
) -> tuple[LostSlots, ...]:
    if facts.row.rule == BY_HAND:
        return await _taken_by_hand(view, download, slots)
    me = str(download.id)
    there = [
        replace(each, slots=slots) if each.id == me else each
        for each in _as_linked(
            await download_rows.list_held_releases(view, download.show_id), download.id
        )
    ]
    return losses_of(superseded_releases(there, facts.tracking.preferences), slots)


async def _taken_by_hand(
    view: View, download: Download, slots: tuple[Slot, ...]
) -> tuple[LostSlots, ...]:
    """From whoever has them, better or not."""
    losses = []
    for each in await download_rows.list_held_releases(view, download.show_id):
        lost = tuple(slot for slot in each.slots if slot in slots)
        if lost and each.id != str(download.id):
            losses.append(LostSlots(int(each.id), lost, len(lost) == len(each.slots)))
    return tuple(losses)


async def _event(
    view: View,
    facts: DownloadContext,
    linked: Download,
    paths: Sequence[str],
    former: Sequence[Download],
) -> Event:
    feed, show, infohash = facts.tracking.feed_id, facts.show, linked.infohash or ""
    row = replace(facts.row, slots=linked.slots)
    if not former:
        return release_downloaded(feed, show, row, infohash, paths)
    names = await download_rows.list_release_titles(view, [each.id for each in former])
    return release_upgraded(feed, show, row, infohash, paths, [names[each.id] for each in former])


def _left_out_in_words(contents: TorrentContents) -> str | None:
    """What was not taken, in words: nothing is left out silently."""
    said = [f"{slot} is not in it." for slot in contents.missing]
    said += [f"{each.file.path}: {each.reason}" for each in contents.left_out]
    text = " ".join(said)
    return (text if len(text) <= _LONGEST_DETAIL else text[: _LONGEST_DETAIL - 1] + "…") or None
