"""Who has lost a place in the library: written down first, then its files leave, one by one."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from headwater.collect.download import IN_LIBRARY, Download, Loss, State
from headwater.collect.downloads import queries, store
from headwater.collect.downloads.queries import LibraryFile
from headwater.collect.files import store as files
from headwater.collect.naming.safe import collision_key
from headwater.collect.plan import Replacement
from headwater.collect.slot import Slot
from headwater.download_work import Setback, Work
from headwater.media_ports import NotOurs, Placed
from headwater.ports import Transaction
from headwater.telemetry.log import logger

_SWITCH_SECONDS = 5.0

lines = logger("downloads")


def losses_of(replacements: Sequence[Replacement], slots: Sequence[Slot]) -> tuple[Loss, ...]:
    """In these slots alone, those of what has come: elsewhere another tracking, or a person, may
    have chosen what is on its way."""
    found = []
    for each in replacements:
        lost = tuple(slot for slot in each.slots if slot in slots)
        if lost:
            whole = set(each.standing.slots) <= set(lost)
            found.append(Loss(int(each.standing.id), lost, whole))
    return tuple(found)


async def write_losses(
    tx: Transaction, losses: Sequence[Loss], winner: int, now: datetime
) -> list[Download]:
    """In the transaction in which the winner is in the library: those who were there before."""
    former = []
    for loss in losses:
        loser = await queries.download(tx, loss.download_id, lock=True)
        if loser.state in IN_LIBRARY and loser.id != winner:
            former.append(loser)
        left = tuple(slot for slot in loser.slots if slot not in loss.slots)
        await _let_go(tx, loser, left, now)
        if loss.is_whole:
            said = f"Download {winner} has its place."
            ends_as: State = "retired" if loser.linked_at is not None else "dropped"
            await store.wake(tx, loser.id, "retiring", now, ends_as=ends_as, detail=said)
        else:
            await store.wake(tx, loser.id, loser.state, now, slots=left, detail=loser.detail)
    return former


async def retire(
    tx: Transaction, download: Download, ends_as: State, why: str, now: datetime
) -> None:
    """All of it is to go, from the library and from the client."""
    await _let_go(tx, download, (), now)
    await store.wake(tx, download.id, "retiring", now, ends_as=ends_as, detail=why)


async def _let_go(tx: Transaction, loser: Download, left: Sequence[Slot], now: datetime) -> None:
    """Its files leave, but for those that hold an episode which it still has."""
    kept = frozenset(left)
    leaving = [
        file.id
        for file in await queries.files(tx, loser.id)
        if file.state in ("wanted", "placed") and not kept & set(file.slots)
    ]
    await files.losing(tx, leaving, "leaving", now)


async def not_switched(tx: Transaction, file: LibraryFile, now: datetime) -> None:
    """Another file was to take its place, and will not: it stays, or leaves by itself."""
    owner = await queries.download(tx, file.download_id)
    state: queries.FileState = "leaving" if owner.state == "retiring" else "placed"
    await files.losing(tx, [file.id], state, now)


async def clear(work: Work) -> None:
    """Files that are to leave do, each with a note of where it is now. Again after a crash, it
    finds what is gone."""
    async with work.engine.database.read() as view:
        found = await queries.files(view, work.download.id)
    if any(file.state == "switching" for file in found):
        said = "A file of another download is coming into its place."
        raise Setback("switching", said, counts=False, wait=_SWITCH_SECONDS)
    for file in found:
        if file.state == "leaving":
            await _cleared(work, file)


async def _cleared(work: Work, file: LibraryFile) -> None:
    old = Placed(file.path, file.length, file.mark, file.source)
    state: queries.FileState = "recycled"
    kept: str | None = None
    try:
        kept = await work.media.library.recycle(old, today=day_of(file, work.now))
    except NotOurs as trouble:
        state = "left"
        lines.warning("file_left", download=work.download.id, detail=trouble.message)
    async with work.engine.database.write() as tx:
        await files.gone(tx, file.id, state, kept, work.now)


async def withdraw(work: Work, came: Sequence[tuple[LibraryFile, str]]) -> None:
    """It lost its place while its files, each with its mark, were on their way: they came too late,
    and leave again."""
    async with work.engine.database.read() as view:
        rows = {row.id: row for row in await queries.files(view, work.download.id)}
    for file, mark in came:
        row = rows.get(file.id)
        if row is not None and row.state in ("leaving", "recycled"):
            late = Placed(file.path, file.length, mark, file.source)
            with suppress(NotOurs):
                await work.media.library.recycle(late, today=day_of(row, work.now))


async def take_out(work: Work) -> None:
    """It is given up: what of it came before the trouble leaves again, while its rows still say
    whose that is. A place that is another download's, too, is left to that one."""
    async with work.engine.database.read() as view:
        if (await queries.download(view, work.download.id)).fence != work.download.fence:
            return  # somebody else is at it
        coming = [f for f in await queries.files(view, work.download.id) if f.state == "wanted"]
        keys = sorted({collision_key(file.path) for file in coming})
        others = await queries.files_at(view, keys)
    theirs = {collision_key(f.path) for f in others if f.download_id != work.download.id}
    for file in coming:
        if collision_key(file.path) not in theirs:
            late = Placed(file.path, file.length, file.mark, file.source)
            with suppress(NotOurs):
                await work.media.library.recycle(late, today=day_of(file, work.now))


def day_of(file: LibraryFile, now: datetime) -> str:
    """The day on which it lost its place: a repeat on another day finds it where it was put."""
    return f"{file.gone_at or now:%Y-%m-%d}"
