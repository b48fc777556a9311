"""Downloads written down: the intent first, then every step, guarded by the claim's fence."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from headwater.collect.candidate import Candidate
from headwater.collect.download import Download, Loss, State
from headwater.collect.downloads.queries import COLUMNS, download_of
from headwater.collect.kept import losses_json, slots_json
from headwater.collect.slot import Slot
from headwater.ports import Transaction, Value, marks
from headwater.subscribe.feed import KEEP, Keep
from headwater.values.instant import maybe_micros, to_micros


@dataclass(frozen=True, slots=True)
class Intent:
    """`save_path` is a folder below the downloads."""

    show_id: int
    release_id: int
    candidate: Candidate
    slots: tuple[Slot, ...]
    replaces: tuple[Loss, ...]
    save_path: str


@dataclass(frozen=True, slots=True)
class Step:
    """What a step changed. `next_at` None: nothing is left to do until somebody wants something."""

    state: State
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
    replaces: tuple[Loss, ...] | Keep = KEEP
    ends_as: State | Keep = KEEP


_WHEN = {
    "added": "added_at",
    "complete": "completed_at",
    "linked": "linked_at",
    "retired": "ended_at",
    "failed": "ended_at",
    "dropped": "ended_at",
}


async def intend(tx: Transaction, intent: Intent, now: datetime) -> Download:
    """Due at once. A release that had its turn before begins again."""
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
        f" updated_at = excluded.updated_at RETURNING {COLUMNS}",
        intent.show_id,
        intent.release_id,
        intent.candidate.infohash and intent.candidate.infohash[:40],
        intent.candidate.magnet,
        intent.save_path,
        slots_json(intent.slots),
        losses_json(intent.replaces),
        moment,
        moment,
        moment,
    )
    assert row is not None
    return download_of(row)


async def claim(
    tx: Transaction,
    holder: str,
    states: Sequence[State],
    now: datetime,
    lease_end: datetime,
    limit: int,
) -> list[Download]:
    """Downloads in these states with a step to take, the longest waiting first; ours until the
    lease ends."""
    if not states or limit < 1:
        return []
    skip = " FOR UPDATE SKIP LOCKED" if tx.dialect == "postgresql" else ""
    rows = await tx.rows(
        "UPDATE downloads SET next_step_at = ?, fence = fence + 1, holder = ? WHERE id IN"
        " (SELECT id FROM downloads WHERE next_step_at <= ?"
        f" AND state IN ({marks(len(states))}) ORDER BY next_step_at, id LIMIT ?{skip})"
        f" RETURNING {COLUMNS}",
        to_micros(lease_end),
        holder,
        to_micros(now),
        *states,
        limit,
    )
    return sorted((download_of(row) for row in rows), key=lambda each: each.id)


async def bring_near(tx: Transaction, now: datetime, too_far: datetime) -> None:
    """No lease and no pause ends beyond `too_far`, unless the clock was set back since."""
    await tx.run(
        "UPDATE downloads SET next_step_at = ? WHERE next_step_at > ?",
        to_micros(now),
        to_micros(too_far),
    )


async def extend(tx: Transaction, held: Sequence[Download], lease_end: datetime) -> None:
    """Still at it. What is being written this moment is passed by: who waits here, with rows of
    others held, waits in a circle with one that is linked and locks whom it replaces."""
    skip = " FOR UPDATE SKIP LOCKED" if tx.dialect == "postgresql" else ""
    await tx.run_many(
        "UPDATE downloads SET next_step_at = ? WHERE id IN (SELECT id FROM downloads"
        f" WHERE id = ? AND fence = ? AND holder IS NOT NULL{skip})",
        [(to_micros(lease_end), each.id, each.fence) for each in held],
    )


async def release_held(tx: Transaction, holder: str, now: datetime) -> int:
    """What this worker held when it died, or is to give back: due now. Nobody is at it any more,
    and whoever were commits nothing."""
    return await tx.run(
        "UPDATE downloads SET next_step_at = ?, fence = fence + 1, holder = NULL WHERE holder = ?",
        to_micros(now),
        holder,
    )


async def step(
    tx: Transaction, claimed: Download, taken: Step, now: datetime, *, holder: str | None = None
) -> Download | None:
    """None, and nothing is written, when the claim is not ours any more. `holder`: it stays with
    us, for `next_at` is the end of our lease."""
    changes: dict[str, Value] = {
        "state": taken.state,
        "next_step_at": maybe_micros(taken.next_at),
        "attempts": taken.attempts,
        "error": taken.error,
        "detail": taken.detail,
        "holder": holder,
        "updated_at": to_micros(now),
        **_what_changed(taken),
    }
    if taken.state != claimed.state and (column := _WHEN.get(taken.state)) is not None:
        changes[column] = to_micros(now)
    settings = ", ".join(f"{name} = ?" for name in changes)
    row = await tx.row(
        f"UPDATE downloads SET {settings} WHERE id = ? AND fence = ? RETURNING {COLUMNS}",
        *changes.values(),
        claimed.id,
        claimed.fence,
    )
    return None if row is None else download_of(row)


def _what_changed(taken: Step) -> dict[str, Value]:
    changes: dict[str, Value] = {}
    for name in ("progress", "infohash", "torrent", "size", "ends_as"):
        if (value := getattr(taken, name)) is not KEEP:
            changes[name] = value
    if not isinstance(taken.progressed_at, Keep):
        changes["progressed_at"] = to_micros(taken.progressed_at)
    if not isinstance(taken.slots, Keep):
        changes["slots"] = slots_json(taken.slots)
    if not isinstance(taken.replaces, Keep):
        changes["replaces"] = losses_json(taken.replaces)
    return changes


async def wake(
    tx: Transaction,
    download_id: int,
    state: State,
    now: datetime,
    *,
    slots: tuple[Slot, ...] | Keep = KEEP,
    ends_as: State | None = None,
    detail: str | None = None,
) -> Download | None:
    """Somebody wants the next step now; whoever is at it commits nothing more."""
    kept = "" if isinstance(slots, Keep) else ", slots = ?"
    row = await tx.row(
        "UPDATE downloads SET state = ?, next_step_at = ?, attempts = 0, error = NULL, detail = ?,"
        f" ends_as = ?, fence = fence + 1, holder = NULL, ended_at = NULL, updated_at = ?{kept}"
        f" WHERE id = ? RETURNING {COLUMNS}",
        state,
        to_micros(now),
        detail,
        ends_as,
        to_micros(now),
        *(() if isinstance(slots, Keep) else (slots_json(slots),)),
        download_id,
    )
    return None if row is None else download_of(row)
