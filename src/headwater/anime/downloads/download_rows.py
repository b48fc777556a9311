"""Rows of downloads and library files: list and claim them, and write their steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from headwater.anime.candidate import Offer, TorrentCandidate
from headwater.anime.decide.plan import UNSURE, HeldRelease
from headwater.anime.downloads.download import (
    STATES_IN_LIBRARY,
    STATES_WITH_SLOTS,
    Download,
    DownloadState,
    LostSlots,
)
from headwater.anime.shows.slot import Slot
from headwater.anime.stored_json import (
    decode_candidate,
    decode_lost_slots,
    decode_release,
    decode_slots,
    encode_lost_slots,
    encode_slots,
)
from headwater.core.errors import NotFound
from headwater.core.ports import Row, SqlValue, Transaction, View, placeholders
from headwater.core.values.instant import from_micros, maybe_micros, maybe_moment, to_micros
from headwater.core.values.keep import KEEP, Keep

DOWNLOAD_COLUMNS = (
    "id, show_id, release_id, state, infohash, magnet, save_path, slots, replaces, attempts, error,"
    " detail, progress, fence, next_step_at, intended_at, added_at, completed_at, linked_at,"
    " ended_at, size, progressed_at, ends_as, updated_at"
)
_AT_ONCE = 500
FILE_COLUMNS = "id, download_id, source, path, length, mark, slots, state, recycled_to, gone_at"
LibraryFileState = Literal["wanted", "placed", "switching", "leaving", "recycled", "left"]


@dataclass(frozen=True, slots=True)
class LibraryFile:
    """A file in the library. `source` is below the downloads, `path` below the library; `mark`
    tells our file from another in its place. `gone_at` is when it lost its place.

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
    state: LibraryFileState
    recycled_to: str | None
    gone_at: datetime | None


async def get_download(view: View, download_id: int, *, lock: bool = False) -> Download:
    held = " FOR UPDATE" if lock and view.dialect == "postgresql" else ""
    row = await view.row(
        f"SELECT {DOWNLOAD_COLUMNS} FROM downloads WHERE id = ?{held}", download_id
    )
    if row is None:
        raise NotFound("There is no such download.", what="download")
    return download_from_row(row)


async def is_claimed(view: View, download_id: int, now: datetime) -> bool:
    """Whether a worker is at it this moment. A download that waits for its next try is not
    claimed."""
    row = await view.row(
        "SELECT 1 AS one FROM downloads WHERE id = ? AND holder IS NOT NULL AND next_step_at > ?",
        download_id,
        to_micros(now),
    )
    return row is not None


async def list_downloads(
    view: View,
    *,
    show_id: int | None = None,
    states: Sequence[str] = (),
    before: int | None = None,
    limit: int = 100,
) -> list[Download]:
    """The newest first; `before` is an id, and only older ones are listed."""
    where, values = ["id < ?"], list[SqlValue]([2**63 - 1 if before is None else before])
    if show_id is not None:
        where.append("show_id = ?")
        values.append(show_id)
    if states:
        where.append(f"state IN ({placeholders(len(states))})")
        values += states
    rows = await view.rows(
        f"SELECT {DOWNLOAD_COLUMNS} FROM downloads WHERE {' AND '.join(where)} ORDER BY id DESC "
        f"LIMIT ?",
        *values,
        limit,
    )
    return [download_from_row(row) for row in rows]


async def list_held_releases(view: View, show_id: int) -> list[HeldRelease]:
    """Releases that have slots of the show or are on their way there, oldest first. Their `id` is
    the download's."""
    states = sorted(STATES_WITH_SLOTS)
    rows = await view.rows(
        "SELECT d.id, d.state, d.slots, d.infohash, r.release, r.candidate, r.rule FROM downloads d"
        " JOIN releases r ON r.id = d.release_id"
        f" WHERE d.show_id = ? AND d.state IN ({placeholders(len(states))}) ORDER BY d.id",
        show_id,
        *states,
    )
    return [
        HeldRelease(
            id=str(row.id),
            release=decode_release(row.release),
            slots=decode_slots(row.slots),
            names=known_names(row.candidate, row.release, row.infohash),
            is_complete=row.state in STATES_IN_LIBRARY,
            is_sure=row.rule != UNSURE,
        )
        for row in rows
    ]


async def list_ended_names(view: View, show_id: int) -> dict[str, str]:
    """Entries and hashes that had their turn for this show (replaced, failed or dropped), each with
    the reason. Only the entry is listed when the torrent itself could not be fetched: another site
    may have it."""
    rows = await view.rows(
        "SELECT d.state, d.infohash, r.candidate, r.release, d.torrent IS NULL"
        " AND d.added_at IS NULL AS was_never_had FROM downloads d"
        " JOIN releases r ON r.id = d.release_id WHERE d.show_id = ?"
        " AND d.state IN ('retiring', 'retired', 'failed', 'dropped')",
        show_id,
    )
    reasons: dict[str, str] = {}
    for row in rows:
        names = known_names(row.candidate, row.release, row.infohash)
        if row.state == "failed" and row.was_never_had:
            names = names[:1]
        reasons |= dict.fromkeys(names, _REASON_OF_END[row.state])
    return reasons


async def count_replacements_since(view: View, moment: datetime) -> int:
    """How many downloads that take slots from others were intended since that moment."""
    row = await view.row(
        "SELECT count(*) AS many FROM downloads WHERE intended_at > ? AND replaces <> '[]'",
        to_micros(moment),
    )
    assert row is not None
    return int(row.many)


async def find_torrent_file(view: View, download_id: int) -> bytes | None:
    """The torrent file as it was fetched; None where a magnet link is all there is."""
    row = await view.row("SELECT torrent FROM downloads WHERE id = ?", download_id)
    return None if row is None or row.torrent is None else bytes(row.torrent)


async def list_library_files(view: View, download_id: int) -> list[LibraryFile]:
    rows = await view.rows(
        f"SELECT {FILE_COLUMNS} FROM library_files WHERE download_id = ? ORDER BY id", download_id
    )
    return [library_file_from_row(row) for row in rows]


async def list_library_files_at(view: View, path_keys: Sequence[str]) -> list[LibraryFile]:
    """Files of any download that have one of these paths, or are on their way there."""
    files: list[LibraryFile] = []
    for start in range(0, len(path_keys), _AT_ONCE):
        batch = path_keys[start : start + _AT_ONCE]
        rows = await view.rows(
            f"SELECT {FILE_COLUMNS} FROM library_files WHERE path_key IN "
            f"({placeholders(len(batch))})"
            " AND state IN ('wanted', 'placed', 'switching', 'leaving') ORDER BY id",
            *batch,
        )
        files += [library_file_from_row(row) for row in rows]
    return files


async def seconds_until_next_step(view: View, now: datetime, too_far: datetime) -> float | None:
    """Seconds until the next step of any download is due; 0 when one is due now. None: none will
    be.

    A moment beyond `too_far` was written before the clock was set back: nobody waits for it.
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


async def list_downloads_of_torrent(view: View, infohash: str) -> list[Download]:
    """Every download of that torrent, of any show, oldest first."""
    rows = await view.rows(
        f"SELECT {DOWNLOAD_COLUMNS} FROM downloads WHERE infohash = ? ORDER BY id", infohash
    )
    return [download_from_row(row) for row in rows]


async def list_release_titles(view: View, download_ids: Sequence[int]) -> dict[int, str]:
    """Titles of their releases, by download."""
    if not download_ids:
        return {}
    rows = await view.rows(
        "SELECT d.id, r.title FROM downloads d JOIN releases r ON r.id = d.release_id"
        f" WHERE d.id IN ({placeholders(len(download_ids))})",
        *download_ids,
    )
    return {row.id: row.title for row in rows}


async def count_remaining_bytes(view: View) -> int:
    """Bytes that torrents in the client will still take on the disk."""
    row = await view.row(
        "SELECT coalesce(sum(size * (1000 - progress) / 1000), 0) AS bytes FROM downloads"
        " WHERE state = 'added' AND size IS NOT NULL"
    )
    assert row is not None
    return int(row.bytes)


async def count_downloads_by_state(view: View) -> dict[DownloadState, int]:
    rows = await view.rows("SELECT state, count(*) AS many FROM downloads GROUP BY state")
    return {row.state: row.many for row in rows}


def known_names(candidate: str, release: str, infohash: str | None) -> tuple[str, ...]:
    """Names of an offer from its JSON, and the hash that its torrent turned out to have."""
    names = Offer(decode_candidate(candidate), decode_release(release)).names
    return names if infohash is None else tuple(dict.fromkeys((*names, infohash[:40])))


def download_from_row(row: Row) -> Download:
    return Download(
        id=row.id,
        show_id=row.show_id,
        release_id=row.release_id,
        state=row.state,
        infohash=row.infohash,
        magnet=row.magnet,
        save_path=row.save_path,
        slots=decode_slots(row.slots),
        replaces=decode_lost_slots(row.replaces),
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


def library_file_from_row(row: Row) -> LibraryFile:
    return LibraryFile(
        row.id,
        row.download_id,
        row.source,
        row.path,
        row.length,
        row.mark,
        decode_slots(row.slots),
        row.state,
        row.recycled_to,
        maybe_moment(row.gone_at),
    )


_REASON_OF_END = {
    "retiring": "Something better has its place.",
    "retired": "Something better has its place.",
    "failed": "It could not be downloaded.",
    "dropped": "It was dropped.",
}


@dataclass(frozen=True, slots=True)
class NewDownload:
    """`save_path` is a folder below the downloads."""

    show_id: int
    release_id: int
    candidate: TorrentCandidate
    slots: tuple[Slot, ...]
    replaces: tuple[LostSlots, ...]
    save_path: str


@dataclass(frozen=True, slots=True)
class StepResult:
    """The changes of a step. `next_at` None: nothing is left to do until somebody asks for more."""

    state: DownloadState
    next_at: datetime | None
    attempts: int = 0
    error: str | None = None
    detail: str | None = None
    progress: int | Keep = KEEP
    progressed_at: datetime | Keep = KEEP
    infohash: str | Keep = KEEP
    torrent: bytes | Keep = KEEP
    size: int | Keep = KEEP
    slots: tuple[Slot, ...] | Keep = KEEP
    replaces: tuple[LostSlots, ...] | Keep = KEEP
    ends_as: DownloadState | Keep = KEEP


_MOMENT_COLUMNS = {
    "added": "added_at",
    "complete": "completed_at",
    "linked": "linked_at",
    "retired": "ended_at",
    "failed": "ended_at",
    "dropped": "ended_at",
}


async def upsert_download(tx: Transaction, new: NewDownload, now: datetime) -> Download:
    """The download is due at once. One of a release that had its turn before begins again."""
    moment = to_micros(now)
    row = await tx.row(
        "INSERT INTO downloads (show_id, release_id, state, infohash, magnet, save_path, slots,"
        " replaces, attempts, progress, fence, next_step_at, intended_at, updated_at)"
        " VALUES (?, ?, 'intended', ?, ?, ?, ?, ?, 0, 0, 1, ?, ?, ?)"
        " ON CONFLICT (release_id) DO UPDATE SET state = 'intended', slots = excluded.slots,"
        " replaces = excluded.replaces, save_path = excluded.save_path, attempts = 0,"
        " error = NULL, detail = NULL, progress = 0, fence = downloads.fence + 1,"
        " next_step_at = excluded.next_step_at, intended_at = excluded.intended_at,"
        " added_at = NULL, completed_at = NULL, linked_at = NULL, ended_at = NULL,"
        " progressed_at = NULL, ends_as = NULL, holder = NULL,"
        f" updated_at = excluded.updated_at RETURNING {DOWNLOAD_COLUMNS}",
        new.show_id,
        new.release_id,
        new.candidate.infohash and new.candidate.infohash[:40],
        new.candidate.magnet,
        new.save_path,
        encode_slots(new.slots),
        encode_lost_slots(new.replaces),
        moment,
        moment,
        moment,
    )
    assert row is not None
    return download_from_row(row)


async def claim_downloads(
    tx: Transaction,
    holder: str,
    states: Sequence[DownloadState],
    now: datetime,
    lease_end: datetime,
    limit: int,
) -> list[Download]:
    """Claim downloads in these states whose next step is due, the longest waiting first. They are
    ours until the lease ends."""
    if not states or limit < 1:
        return []
    skip = " FOR UPDATE SKIP LOCKED" if tx.dialect == "postgresql" else ""
    rows = await tx.rows(
        "UPDATE downloads SET next_step_at = ?, fence = fence + 1, holder = ? WHERE id IN"
        " (SELECT id FROM downloads WHERE next_step_at <= ?"
        f" AND state IN ({placeholders(len(states))}) ORDER BY next_step_at, id LIMIT ?{skip})"
        f" RETURNING {DOWNLOAD_COLUMNS}",
        to_micros(lease_end),
        holder,
        to_micros(now),
        *states,
        limit,
    )
    return sorted((download_from_row(row) for row in rows), key=lambda each: each.id)


async def reset_far_steps(tx: Transaction, now: datetime, too_far: datetime) -> None:
    """Make steps beyond `too_far` due now: no lease and no pause is that long, so the clock was set
    back."""
    await tx.run(
        "UPDATE downloads SET next_step_at = ? WHERE next_step_at > ?",
        to_micros(now),
        to_micros(too_far),
    )


async def renew_downloads(tx: Transaction, held: Sequence[Download], lease_end: datetime) -> None:
    """Renew the leases of these downloads. A row that is being written this moment is skipped: if
    we waited for it while we hold rows of others, we could wait in a circle with a download that is
    being linked and locks those it replaces."""
    skip = " FOR UPDATE SKIP LOCKED" if tx.dialect == "postgresql" else ""
    await tx.run_many(
        "UPDATE downloads SET next_step_at = ? WHERE id IN (SELECT id FROM downloads"
        f" WHERE id = ? AND fence = ? AND holder IS NOT NULL{skip})",
        [(to_micros(lease_end), each.id, each.fence) for each in held],
    )


async def release_downloads(tx: Transaction, holder: str, now: datetime) -> int:
    """Release the downloads of this worker, which has died or stops: they are due now. A task that
    still works on one commits nothing."""
    return await tx.run(
        "UPDATE downloads SET next_step_at = ?, fence = fence + 1, holder = NULL WHERE holder = ?",
        to_micros(now),
        holder,
    )


async def update_claimed_download(
    tx: Transaction,
    claimed: Download,
    step: StepResult,
    now: datetime,
    *,
    holder: str | None = None,
) -> Download | None:
    """Write a step. None, and nothing is written, when the claim is not ours any more. With
    `holder` the claim stays ours: `next_at` is then the end of our lease."""
    changes: dict[str, SqlValue] = {
        "state": step.state,
        "next_step_at": maybe_micros(step.next_at),
        "attempts": step.attempts,
        "error": step.error,
        "detail": step.detail,
        "holder": holder,
        "updated_at": to_micros(now),
        **_changed_columns(step),
    }
    if step.state != claimed.state and (column := _MOMENT_COLUMNS.get(step.state)) is not None:
        changes[column] = to_micros(now)
    settings = ", ".join(f"{name} = ?" for name in changes)
    row = await tx.row(
        f"UPDATE downloads SET {settings} WHERE id = ? AND fence = ? RETURNING {DOWNLOAD_COLUMNS}",
        *changes.values(),
        claimed.id,
        claimed.fence,
    )
    return None if row is None else download_from_row(row)


def _changed_columns(step: StepResult) -> dict[str, SqlValue]:
    changes: dict[str, SqlValue] = {}
    for name in ("progress", "infohash", "torrent", "size", "ends_as"):
        if (value := getattr(step, name)) is not KEEP:
            changes[name] = value
    if not isinstance(step.progressed_at, Keep):
        changes["progressed_at"] = to_micros(step.progressed_at)
    if not isinstance(step.slots, Keep):
        changes["slots"] = encode_slots(step.slots)
    if not isinstance(step.replaces, Keep):
        changes["replaces"] = encode_lost_slots(step.replaces)
    return changes


async def set_download_due(
    tx: Transaction,
    download_id: int,
    state: DownloadState,
    now: datetime,
    *,
    slots: tuple[Slot, ...] | Keep = KEEP,
    ends_as: DownloadState | None = None,
    detail: str | None = None,
) -> Download | None:
    """Make the next step due now. A worker that is at it commits nothing more."""
    set_slots = "" if isinstance(slots, Keep) else ", slots = ?"
    row = await tx.row(
        "UPDATE downloads SET state = ?, next_step_at = ?, attempts = 0, error = NULL, detail = ?,"
        " ends_as = ?, fence = fence + 1, holder = NULL, ended_at = NULL, updated_at = ?"
        f"{set_slots} WHERE id = ? RETURNING {DOWNLOAD_COLUMNS}",
        state,
        to_micros(now),
        detail,
        ends_as,
        to_micros(now),
        *(() if isinstance(slots, Keep) else (encode_slots(slots),)),
        download_id,
    )
    return None if row is None else download_from_row(row)
