"""What is complete and verified comes into the library, and what it outdoes loses its place."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from headwater.announce import store as log
from headwater.announce.event import Event
from headwater.by_hand import BY_HAND
from headwater.collect.contents import Contents, contents_of
from headwater.collect.download import IN_LIBRARY, STANDING, Download, Loss
from headwater.collect.downloads import queries, store
from headwater.collect.downloads.queries import LibraryFile
from headwater.collect.downloads.store import Step
from headwater.collect.files import store as files
from headwater.collect.files.store import FileWish
from headwater.collect.naming.nfo import SHOW_FILE, show_nfo
from headwater.collect.naming.safe import collision_key
from headwater.collect.naming.shelf import Bundle, Shelved, bundles_of
from headwater.collect.plan import Standing, superseded
from headwater.collect.shows import queries as shows
from headwater.collect.slot import Slot
from headwater.collect.title import read_title
from headwater.collecting import count
from headwater.download_work import Facts, Setback, Work
from headwater.losing import day_of, losses_of, not_switched, retire, withdraw, write_losses
from headwater.media_ports import JobFile, Placed, PlaceTaken, SourceGone
from headwater.next_best import next_best
from headwater.ports import Reader, Transaction
from headwater.release_events import release_downloaded, release_upgraded
from headwater.watching import is_ours

_MOST_NAMES = 50
"""So many names are tried for a video whose places are all taken by strangers."""

_LONGEST_DETAIL = 1_000
_NEIGHBOUR_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Load:
    """What is to come into the library, and from where."""

    facts: Facts
    folder: str
    contents: Contents
    is_kept: bool
    """The files are somebody else's too, and must stay where they are."""

    def source(self, path: str) -> str:
        return f"{self.folder}/{path}" if self.folder else path


@dataclass(frozen=True, slots=True)
class Placing:
    """One file on its way in, and those of ours that have its place now."""

    file: LibraryFile
    shelved: Shelved
    is_video: bool
    olds: tuple[LibraryFile, ...] = ()


@dataclass(slots=True)
class Done:
    """What the disk says of it: the mark of each file, what was left out, where old ones are."""

    marks: list[tuple[int, str]] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    kept: list[tuple[int, str | None]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


class _Taken(Exception):
    """A stranger has the place of this video."""

    def __init__(self, placing: Placing) -> None:
        super().__init__(placing.file.path)
        self.placing = placing


async def place(work: Work) -> Download | None:
    """verified → linked. Rows first, then files, then the commit that says so."""
    load = await _load(work)
    avoid: set[str] = set()
    while len(avoid) < _MOST_NAMES:
        placings = await _wanted(work, load, avoid)
        if placings is None:
            return None
        try:
            done = await _put_there(work, load, placings)
        except _Taken as trouble:
            avoid.add(trouble.placing.file.path)
            await _take_back(work, trouble.placing, placings)
            continue
        except SourceGone as trouble:
            raise Setback(trouble.code, trouble.message, state="ready", again=True) from trouble
        if not await _linked(work, load, done):
            marks = dict(done.marks)
            mine = [each.file for each in placings if not each.olds and each.file.id in marks]
            await withdraw(work, [(file, marks[file.id]) for file in mine])
        return None
    raise Setback("place_taken", f"Its place and {_MOST_NAMES} further ones are taken.")


async def _load(work: Work) -> Load:
    job = await work.job()
    if job is None:
        raise Setback("lost_by_client", "The client does not have it any more.", state="ready")
    facts, torrent = await work.facts(), await work.torrent()
    listed = [JobFile("/".join(f.path), f.length) for f in torrent.files if not f.is_padding]
    contents = await asyncio.to_thread(
        contents_of,
        listed,
        facts.show.show,
        work.download.slots,
        lambda name: read_title(name).release,
    )
    if not contents.videos:
        raise Setback(
            "nothing_in_it", f"Nothing of it can be placed. {_told(contents)}", lasting=True
        )
    is_kept = await _is_awaited(work) or not await is_ours(work, job)
    return Load(facts, work.folder_of(job), contents, is_kept)


async def _is_awaited(work: Work) -> bool:
    """Another show is to have files of the same torrent, and has not got them yet."""
    async with work.engine.database.read() as view:
        others = await queries.of_hash(view, work.infohash)
    coming = STANDING - IN_LIBRARY
    return any(each.state in coming for each in others if each.id != work.download.id)


async def _wanted(work: Work, load: Load, avoid: set[str]) -> list[Placing] | None:
    """Every file that will be there is written down, and whose place it takes. None when there is
    nothing for us to do any more."""
    async with work.engine.database.write() as tx:
        await shows.show(tx, work.download.show_id, lock=True)
        if not await work.is_ours(tx):
            return None
        slots = await _won(tx, work.download, load.facts)
        if not slots:
            said = "Something better is in the library."
            await retire(tx, work.download, "dropped", said, work.now)
            return None
        bundles = await _bundles(tx, work, load, slots, avoid)
        rivals = await _rivals(tx, work, bundles, load)
        return await _written_down(tx, work, load, bundles, rivals)


async def _won(view: Reader, download: Download, facts: Facts) -> tuple[Slot, ...]:
    """Of its slots, those where it will stay when it is there. What a person took, stays."""
    if facts.row.rule == BY_HAND:
        return download.slots
    there = _as_linked(await queries.standing(view, download.show_id), download.id)
    lost = {
        slot
        for each in superseded(there, facts.tracking.preferences)
        if each.standing.id == str(download.id)
        for slot in each.slots
    }
    return tuple(slot for slot in download.slots if slot not in lost)


def _as_linked(standing: Sequence[Standing], download_id: int) -> list[Standing]:
    me = str(download_id)
    return [replace(each, is_complete=True) if each.id == me else each for each in standing]


async def _bundles(
    view: Reader, work: Work, load: Load, slots: Sequence[Slot], avoid: set[str]
) -> list[Bundle]:
    """Places that strangers have in our own records are passed by."""
    videos = [video for video in load.contents.videos if set(video.slots) & set(slots)]
    naming = replace(work.media.policy.naming, folder=load.facts.tracking.save_path)
    passed = set(avoid)
    while True:
        bundles = bundles_of(
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
            for file in await queries.files_at(view, sorted(keys))
            if file.download_id != work.download.id
            and not await _may_take(view, work, file, keys[collision_key(file.path)].video.slots)
        }
        if not strange:
            return bundles
        passed |= strange


async def _may_take(view: Reader, work: Work, file: LibraryFile, slots: Sequence[Slot]) -> bool:
    """A file of ours in the place of this episode: we have won it."""
    owner = await queries.download(view, file.download_id)
    return owner.show_id == work.download.show_id and bool(set(file.slots) & set(slots))


async def _rivals(
    tx: Transaction, work: Work, bundles: Sequence[Bundle], load: Load
) -> Mapping[str, list[LibraryFile]]:
    """Files of ours that have a place which is wanted now, by the key of their path."""
    wanted = {collision_key(e.path): e for bundle in bundles for e in bundle.all}
    found: dict[str, list[LibraryFile]] = {}
    for file in await queries.files_at(tx, sorted(wanted)):
        key = collision_key(file.path)
        if file.download_id == work.download.id:
            continue
        if not await _may_take(tx, work, file, wanted[key].slots):
            continue  # what stands beside a video of somebody else's stays there
        owner = await queries.download(tx, file.download_id, lock=True)
        is_busy = owner.next_step_at is not None and owner.next_step_at > work.now
        if (owner.state == "verified" and file.state == "wanted") or (
            file.state == "leaving" and is_busy and owner.state in ("retiring", "linked", "done")
        ):
            said = f"Download {owner.id} is busy in the same place."
            raise Setback("neighbour_busy", said, counts=False, wait=_NEIGHBOUR_SECONDS)
        found.setdefault(key, []).append(file)
    return found


async def _written_down(
    tx: Transaction,
    work: Work,
    load: Load,
    bundles: Sequence[Bundle],
    rivals: Mapping[str, list[LibraryFile]],
) -> list[Placing]:
    every = [(each, each is bundle.video) for bundle in bundles for each in bundle.all]
    # What has the place of an old file has its path to the letter: some systems take two for one.
    old_path = {key: olds[0].path for key, olds in rivals.items()}
    wishes = [
        FileWish(
            load.source(each.source),
            old_path.get(collision_key(each.path), each.path),
            each.length,
            each.slots,
        )
        for each, _ in every
    ]
    rows = {row.source: row for row in await files.want(tx, work.download.id, wishes)}
    placings = []
    for each, is_video in every:
        row = rows[load.source(each.source)]
        olds = tuple(rivals.get(collision_key(row.path), ()))
        await files.losing(tx, [old.id for old in olds], "switching", work.now)
        placings.append(Placing(row, each, is_video, olds))
    return placings


async def _put_there(work: Work, load: Load, placings: Sequence[Placing]) -> Done:
    """Videos first; what stands beside them gives way to what a person has put there."""
    done = Done()
    for placing in sorted(placings, key=lambda each: not each.is_video):
        try:
            done.marks.append((placing.file.id, await _one(work, load, placing, done)))
            done.paths.append(placing.file.path)
        except PlaceTaken as trouble:
            if placing.is_video:
                raise _Taken(placing) from trouble
            done.left += [placing.file.id, *(old.id for old in placing.olds)]
    if work.media.policy.nfo and not load.facts.show.show.is_film:
        await _describe_show(work, load)
    return done


async def _one(work: Work, load: Load, placing: Placing, done: Done) -> str:
    library, file = work.media.library, placing.file
    if placing.shelved.body is not None:
        ours = [_as_placed(each) for each in (*placing.olds, file)]
        mark = await library.write(file.path, placing.shelved.body, over=ours)
        done.kept += [(old.id, None) for old in placing.olds]
        return mark
    for old in placing.olds:
        was = _as_placed(old)
        today = day_of(old, work.now)
        switched = await library.switch(file.source, was, today=today, keep=load.is_kept)
        done.kept.append((old.id, switched.kept))
        return switched.mark
    return await library.place(file.source, file.path, keep=load.is_kept)


def _as_placed(file: LibraryFile) -> Placed:
    return Placed(file.path, file.length, file.mark, file.source)


async def _describe_show(work: Work, load: Load) -> None:
    show = load.facts.show.show
    naming = replace(work.media.policy.naming, folder=load.facts.tracking.save_path)
    first = load.contents.videos[:1]
    for bundle in bundles_of(first, show, load.facts.row.release, naming):
        if not bundle.show_folder:
            return  # the template gives it no folder of its own
        try:
            body = show_nfo(show).encode()
            await work.media.library.write(f"{bundle.show_folder}/{SHOW_FILE}", body)
        except PlaceTaken:
            return  # it is there, ours or a person's own


async def _take_back(work: Work, taken: Placing, placings: Sequence[Placing]) -> None:
    """The place is a stranger's after all: another one is chosen for the video and what is beside
    it. What we had there once is not ours any more; what stands beside that is not switched."""
    together = [each for each in placings if each.file.slots == taken.file.slots]
    async with work.engine.database.write() as tx:
        for old in taken.olds:
            await files.gone(tx, old.id, "left", None, work.now)
        for old in (old for each in together if each is not taken for old in each.olds):
            await not_switched(tx, old, work.now)
        await files.forget(tx, [each.file.id for each in together])


async def _linked(work: Work, load: Load, done: Done) -> bool:
    """The library shows it: this, and who lost what by it, become true together. False when it is
    not ours any more."""
    facts, now = load.facts, work.now
    async with work.engine.database.write() as tx:
        await shows.show(tx, facts.show.id, lock=True)
        if not await work.is_ours(tx):
            return False
        await files.placed(tx, done.marks, now)
        for file_id, kept in done.kept:
            await files.gone(tx, file_id, "recycled", kept, now)
        for file_id in done.left:
            await files.gone(tx, file_id, "left", None, now)
        slots = await _filled(tx, work.download)
        losses = await _losses(tx, work.download, facts, slots)
        step = Step("linked", now, slots=slots, replaces=losses, detail=_told(load.contents))
        linked = await store.step(tx, work.download, step, now)
        if linked is None:
            return False
        former = await write_losses(tx, losses, linked.id, now)
        await log.append(tx, [await _event(tx, facts, linked, done.paths, former)], now)
        lacking = set(work.download.slots) - set(slots)
        outcome = await next_best(tx, work.engine, facts.show.id, lacking, now)
    count(outcome, tracking=facts.tracking.id)
    return True


async def _filled(view: Reader, download: Download) -> tuple[Slot, ...]:
    there = {
        slot
        for file in await queries.files(view, download.id)
        if file.state == "placed"
        for slot in file.slots
    }
    return tuple(slot for slot in download.slots if slot in there)


async def _losses(
    view: Reader, download: Download, facts: Facts, slots: tuple[Slot, ...]
) -> tuple[Loss, ...]:
    if facts.row.rule == BY_HAND:
        return await _taken_by_hand(view, download, slots)
    me = str(download.id)
    there = [
        replace(each, slots=slots) if each.id == me else each
        for each in _as_linked(await queries.standing(view, download.show_id), download.id)
    ]
    return losses_of(superseded(there, facts.tracking.preferences), slots)


async def _taken_by_hand(
    view: Reader, download: Download, slots: tuple[Slot, ...]
) -> tuple[Loss, ...]:
    """From whoever has them, better or not."""
    losses = []
    for each in await queries.standing(view, download.show_id):
        lost = tuple(slot for slot in each.slots if slot in slots)
        if lost and each.id != str(download.id):
            losses.append(Loss(int(each.id), lost, len(lost) == len(each.slots)))
    return tuple(losses)


async def _event(
    view: Reader, facts: Facts, linked: Download, paths: Sequence[str], former: Sequence[Download]
) -> Event:
    feed, show, infohash = facts.tracking.feed_id, facts.show, linked.infohash or ""
    row = replace(facts.row, slots=linked.slots)
    if not former:
        return release_downloaded(feed, show, row, infohash, paths)
    names = await queries.titles(view, [each.id for each in former])
    return release_upgraded(feed, show, row, infohash, paths, [names[each.id] for each in former])


def _told(contents: Contents) -> str | None:
    """What was not taken, in words: nothing is left out silently."""
    said = [f"{slot} is not in it." for slot in contents.missing]
    said += [f"{each.file.path}: {each.reason}" for each in contents.left_out]
    text = " ".join(said)
    return (text if len(text) <= _LONGEST_DETAIL else text[: _LONGEST_DETAIL - 1] + "…") or None
