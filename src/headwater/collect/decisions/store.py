"""Decisions written down, each entry of a tracking once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from headwater.collect.candidate import Candidate
from headwater.collect.decisions.decided import Decided, Deciding
from headwater.collect.decisions.queries import COLUMNS, decided_of
from headwater.collect.kept import candidate_json, release_json, slots_json
from headwater.ports import Transaction, Value
from headwater.values.ids import key_of
from headwater.values.instant import to_micros

_INSERT = (
    "INSERT INTO releases (tracking_id, uid_key, title, infohash, candidate, release, slots,"
    " action, rule, reason, found_at, decided_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (tracking_id, uid_key) DO NOTHING"
)
_UPDATE = (
    "UPDATE releases SET action = ?, rule = ?, reason = ?, slots = ?, release = ?, title = ?,"
    " infohash = ?, candidate = ?, decided_at = ? WHERE id = ? AND decided_at = ?"
)


@dataclass(frozen=True, slots=True)
class Anew:
    """A row as it was seen, and what is to be said of it now."""

    was: Decided
    deciding: Deciding


async def add(tx: Transaction, new: Deciding, now: datetime) -> Decided | None:
    """None when the tracking decided on this entry before."""
    row = await tx.row(f"{_INSERT} RETURNING {COLUMNS}", *_inserted(new, now))
    return None if row is None else decided_of(row)


async def add_many(tx: Transaction, new: Sequence[Deciding], now: datetime) -> None:
    """As `add`, where nobody needs to know more."""
    if new:
        await tx.run_many(_INSERT, [_inserted(each, now) for each in new])


async def change(tx: Transaction, anew: Anew, now: datetime) -> Decided | None:
    """Decided anew: by a person, or because the wishes have changed. None, and nothing is written,
    when somebody else did so since it was seen."""
    row = await tx.row(f"{_UPDATE} RETURNING {COLUMNS}", *_updated(anew, now))
    return None if row is None else decided_of(row)


async def change_many(tx: Transaction, anew: Sequence[Anew], now: datetime) -> None:
    if anew:
        await tx.run_many(_UPDATE, [_updated(each, now) for each in anew])


async def move(tx: Transaction, was: Decided, to: Candidate) -> None:
    """Its torrent is to be had elsewhere; nothing is decided by that."""
    await tx.run("UPDATE releases SET candidate = ? WHERE id = ?", candidate_json(to), was.id)
    await tx.run("UPDATE downloads SET magnet = ? WHERE release_id = ?", to.magnet, was.id)


async def caught_up(tx: Transaction, tracking_id: int, updated_at: datetime) -> None:
    """All that is kept was looked at, for the tracking as it was changed last at that moment."""
    await tx.run(
        "UPDATE trackings SET caught_up = ? WHERE id = ?", to_micros(updated_at), tracking_id
    )


def _inserted(new: Deciding, now: datetime) -> tuple[Value, ...]:
    candidate, moment = new.offer.candidate, to_micros(now)
    return (
        new.tracking_id,
        key_of(candidate.key),
        candidate.title,
        candidate.infohash,
        candidate_json(candidate),
        release_json(new.offer.release),
        slots_json(new.slots),
        new.action,
        new.rule,
        new.reason,
        moment,
        moment,
    )


def _updated(anew: Anew, now: datetime) -> tuple[Value, ...]:
    new, was = anew.deciding, to_micros(anew.was.decided_at)
    return (
        new.action,
        new.rule,
        new.reason,
        slots_json(new.slots),
        release_json(new.offer.release),
        new.offer.candidate.title,
        new.offer.candidate.infohash,
        candidate_json(new.offer.candidate),
        # Later than before, whatever the clock says: who saw the former must notice.
        max(to_micros(now), was + 1),
        anew.was.id,
        was,
    )
