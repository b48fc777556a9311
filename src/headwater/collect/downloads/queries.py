"""What may be asked of downloads and of the library's files."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from headwater.collect.download import IN_LIBRARY, STANDING, Download, State
from headwater.collect.kept import candidate_of, losses_of, release_of, slots_of
from headwater.collect.offer import Offer
from headwater.collect.plan import UNSURE, Standing
from headwater.collect.slot import Slot
from headwater.errors import NotFound
from headwater.ports import Reader, Row, Value, marks
from headwater.values.instant import from_micros, maybe_moment, to_micros

COLUMNS = (
    "id, show_id, release_id, state, infohash, magnet, save_path, slots, replaces, attempts, error,"
    " detail, progress, fence, next_step_at, intended_at, added_at, completed_at, linked_at,"
    " ended_at, size, progressed_at, ends_as, updated_at"
)
_AT_ONCE = 500
FILE_COLUMNS = "id, download_id, source, path, length, mark, slots, state, recycled_to, gone_at"


FileState = Literal["wanted", "placed", "switching", "leaving", "recycled", "left"]


@dataclass(frozen=True, slots=True)
class LibraryFile:
    """`source` is below the downloads, `path` below the library; `mark` tells our file from another
    in its place. `gone_at` is when it lost its place.

    `state`: `wanted` is on its way in, `placed` is there, `switching` is being replaced by another
    file of the same path, `leaving` is on its way out, `recycled` is gone, and `left` is not ours
    to touch: somebody has put something else there.
    """

    id: int
    download_id: int
    source: str
    path: str
    length: int
    mark: str
    slots: tuple[Slot, ...]
    state: FileState
    recycled_to: str | None
    gone_at: datetime | None


async def download(view: Reader, download_id: int, *, lock: bool = False) -> Download:
    held = " FOR UPDATE" if lock and view.dialect == "postgresql" else ""
    row = await view.row(f"SELECT {COLUMNS} FROM downloads WHERE id = ?{held}", download_id)
    if row is None:
        raise NotFound("There is no such download.", what="download")
    return download_of(row)


async def is_held(view: Reader, download_id: int, now: datetime) -> bool:
    """Whether somebody is at it this moment; what waits for its next try is in nobody's hands."""
    row = await view.row(
        "SELECT 1 AS one FROM downloads WHERE id = ? AND holder IS NOT NULL AND next_step_at > ?",
        download_id,
        to_micros(now),
    )
    return row is not None


async def downloads(
    view: Reader,
    *,
    show_id: int | None = None,
    states: Sequence[str] = (),
    before: int | None = None,
    limit: int = 100,
) -> list[Download]:
    """The newest first, those before that id."""
    where, values = ["id < ?"], list[Value]([2**63 - 1 if before is None else before])
    if show_id is not None:
        where.append("show_id = ?")
        values.append(show_id)
    if states:
        where.append(f"state IN ({marks(len(states))})")
        values += states
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM downloads WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT ?",
        *values,
        limit,
    )
    return [download_of(row) for row in rows]


async def standing(view: Reader, show_id: int) -> list[Standing]:
    """What has slots of the show, or is on its way there, oldest first; `id` is the download's."""
    states = sorted(STANDING)
    rows = await view.rows(
        "SELECT d.id, d.state, d.slots, d.infohash, r.release, r.candidate, r.rule FROM downloads d"
        " JOIN releases r ON r.id = d.release_id"
        f" WHERE d.show_id = ? AND d.state IN ({marks(len(states))}) ORDER BY d.id",
        show_id,
        *states,
    )
    return [_standing_of(row) for row in rows]


async def ended_names(view: Reader, show_id: int) -> dict[str, str]:
    """Entries and hashes that had their turn for this show: replaced, failed or dropped. Of one
    whose torrent could not be had only the entry: another site may have that torrent."""
    rows = await view.rows(
        "SELECT d.state, d.infohash, r.candidate, r.release, d.torrent IS NULL"
        " AND d.added_at IS NULL AS was_never_had FROM downloads d"
        " JOIN releases r ON r.id = d.release_id WHERE d.show_id = ?"
        " AND d.state IN ('retiring', 'retired', 'failed', 'dropped')",
        show_id,
    )
    return {name: _ENDED[row.state] for row in rows for name in _ended_names(row)}


def _ended_names(row: Row) -> tuple[str, ...]:
    names = names_of(row.candidate, row.release, row.infohash)
    return names[:1] if row.state == "failed" and row.was_never_had else names


async def replaced_since(view: Reader, moment: datetime) -> int:
    """How many downloads were intended since then that take a place from others."""
    row = await view.row(
        "SELECT count(*) AS many FROM downloads WHERE intended_at > ? AND replaces <> '[]'",
        to_micros(moment),
    )
    assert row is not None
    return int(row.many)


async def torrent(view: Reader, download_id: int) -> bytes | None:
    """The torrent file as it was fetched; None where a magnet link is all there is."""
    row = await view.row("SELECT torrent FROM downloads WHERE id = ?", download_id)
    return None if row is None or row.torrent is None else bytes(row.torrent)


async def files(view: Reader, download_id: int) -> list[LibraryFile]:
    rows = await view.rows(
        f"SELECT {FILE_COLUMNS} FROM library_files WHERE download_id = ? ORDER BY id", download_id
    )
    return [file_of(row) for row in rows]


async def files_at(view: Reader, path_keys: Sequence[str]) -> list[LibraryFile]:
    """Files of whatever download that have one of these places, or are on their way there."""
    found: list[LibraryFile] = []
    for at in range(0, len(path_keys), _AT_ONCE):
        some = path_keys[at : at + _AT_ONCE]
        rows = await view.rows(
            f"SELECT {FILE_COLUMNS} FROM library_files WHERE path_key IN ({marks(len(some))})"
            " AND state IN ('wanted', 'placed', 'switching', 'leaving') ORDER BY id",
            *some,
        )
        found += [file_of(row) for row in rows]
    return found


async def seconds_to_next(view: Reader, now: datetime, too_far: datetime) -> float | None:
    """Until somebody has a step to take; 0 when somebody has. None: nobody will.

    A moment beyond `too_far` is of a clock that has been set back since: nobody waits for it.
    """
    row = await view.row(
        "SELECT min(next_step_at) AS next, max(next_step_at) AS last FROM downloads"
        " WHERE next_step_at IS NOT NULL"
    )
    if row is None or row.next is None:
        return None
    if row.last > to_micros(too_far):
        return 0.0
    return max(0.0, (from_micros(row.next) - now).total_seconds())


async def of_hash(view: Reader, infohash: str) -> list[Download]:
    """Every download of that torrent, of whatever show, oldest first."""
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM downloads WHERE infohash = ? ORDER BY id", infohash
    )
    return [download_of(row) for row in rows]


async def titles(view: Reader, download_ids: Sequence[int]) -> dict[int, str]:
    """What their releases are called, by download."""
    if not download_ids:
        return {}
    rows = await view.rows(
        "SELECT d.id, r.title FROM downloads d JOIN releases r ON r.id = d.release_id"
        f" WHERE d.id IN ({marks(len(download_ids))})",
        *download_ids,
    )
    return {row.id: row.title for row in rows}


async def bytes_to_come(view: Reader) -> int:
    """What those that the client has will still take of the disk."""
    row = await view.row(
        "SELECT coalesce(sum(size * (1000 - progress) / 1000), 0) AS bytes FROM downloads"
        " WHERE state = 'added' AND size IS NOT NULL"
    )
    assert row is not None
    return int(row.bytes)


async def by_state(view: Reader) -> dict[State, int]:
    rows = await view.rows("SELECT state, count(*) AS many FROM downloads GROUP BY state")
    return {row.state: row.many for row in rows}


def names_of(candidate: str, release: str, infohash: str | None) -> tuple[str, ...]:
    """What it is known by: as an offer, and by the hash that it turned out to have. Of JSON."""
    names = Offer(candidate_of(candidate), release_of(release)).names
    return names if infohash is None else tuple(dict.fromkeys((*names, infohash[:40])))


def _standing_of(row: Row) -> Standing:
    return Standing(
        id=str(row.id),
        release=release_of(row.release),
        slots=slots_of(row.slots),
        names=names_of(row.candidate, row.release, row.infohash),
        is_complete=row.state in IN_LIBRARY,
        is_sure=row.rule != UNSURE,
    )


def download_of(row: Row) -> Download:
    return Download(
        id=row.id,
        show_id=row.show_id,
        release_id=row.release_id,
        state=row.state,
        infohash=row.infohash,
        magnet=row.magnet,
        save_path=row.save_path,
        slots=slots_of(row.slots),
        replaces=losses_of(row.replaces),
        attempts=row.attempts,
        error=row.error,
        detail=row.detail,
        progress=row.progress,
        fence=row.fence,
        next_step_at=maybe_moment(row.next_step_at),
        intended_at=from_micros(row.intended_at),
        added_at=maybe_moment(row.added_at),
        completed_at=maybe_moment(row.completed_at),
        linked_at=maybe_moment(row.linked_at),
        ended_at=maybe_moment(row.ended_at),
        size=row.size,
        progressed_at=maybe_moment(row.progressed_at),
        updated_at=maybe_moment(row.updated_at),
        ends_as=row.ends_as,
    )


def file_of(row: Row) -> LibraryFile:
    return LibraryFile(
        row.id,
        row.download_id,
        row.source,
        row.path,
        row.length,
        row.mark,
        slots_of(row.slots),
        row.state,
        row.recycled_to,
        maybe_moment(row.gone_at),
    )


_ENDED = {
    "retiring": "Something better has its place.",
    "retired": "Something better has its place.",
    "failed": "It could not be downloaded.",
    "dropped": "It was dropped.",
}
