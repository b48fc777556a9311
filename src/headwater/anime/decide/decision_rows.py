"""Decisions on releases in the database: written, listed and counted."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from headwater.anime.candidate import Offer, TorrentCandidate
from headwater.anime.decide.decision import NewReleaseDecision, ReleaseDecision
from headwater.anime.downloads.download import Download
from headwater.anime.downloads.download_rows import DOWNLOAD_COLUMNS, download_from_row
from headwater.anime.shows.slot import Slot
from headwater.anime.stored_json import (
    decode_candidate,
    decode_release,
    decode_slots,
    encode_candidate,
    encode_release,
    encode_slots,
)
from headwater.core.errors import NotFound
from headwater.core.ports import Row, SqlValue, Transaction, View, placeholders
from headwater.core.values.ids import index_key
from headwater.core.values.instant import from_micros, to_micros

COLUMNS = "id, tracking_id, candidate, release, slots, action, rule, reason, found_at, decided_at"


async def get_decision(view: View, release_id: int) -> ReleaseDecision:
    row = await view.row(f"SELECT {COLUMNS} FROM releases WHERE id = ?", release_id)
    if row is None:
        raise NotFound("There is no such release.", what="release")
    return decision_from_row(row)


async def list_decisions(
    view: View,
    *,
    tracking_id: int | None = None,
    show_id: int | None = None,
    actions: Sequence[str] = (),
    rule: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[ReleaseDecision]:
    """The newest first, those before that id."""
    where, values = ["id < ?"], list[SqlValue]([2**63 - 1 if before is None else before])
    if tracking_id is not None:
        where.append("tracking_id = ?")
        values.append(tracking_id)
    if show_id is not None:
        where.append("tracking_id IN (SELECT id FROM trackings WHERE show_id = ?)")
        values.append(show_id)
    if rule is not None:
        where.append("rule = ?")
        values.append(rule)
    if actions:
        where.append(f"action IN ({placeholders(len(actions))})")
        values += actions
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM releases WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT ?",
        *values,
        limit,
    )
    return [decision_from_row(row) for row in rows]


async def list_skipped_decisions(
    view: View, tracking_id: int, slots: Collection[Slot], limit: int = 5_000
) -> list[ReleaseDecision]:
    """What was skipped for one of these slots, the newest first."""
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM releases WHERE tracking_id = ? AND action = 'skip'"
        " AND slots <> '[]' ORDER BY id DESC LIMIT ?",
        tracking_id,
        limit,
    )
    wanted = frozenset(slots)
    return [
        decision_from_row(row) for row in rows if not wanted.isdisjoint(decode_slots(row.slots))
    ]


async def find_download_of_release(view: View, release_id: int) -> Download | None:
    """What came of it, where somebody wanted it."""
    return (await list_downloads_by_release(view, [release_id])).get(release_id)


async def list_downloads_by_release(view: View, release_ids: Sequence[int]) -> dict[int, Download]:
    """By release; those that were never wanted are not there."""
    if not release_ids:
        return {}
    rows = await view.rows(
        f"SELECT {DOWNLOAD_COLUMNS} FROM downloads WHERE release_id IN "
        f"({placeholders(len(release_ids))})",
        *release_ids,
    )
    return {row.release_id: download_from_row(row) for row in rows}


async def list_decisions_by_key(
    view: View, tracking_id: int, keys: Iterable[str]
) -> dict[str, ReleaseDecision]:
    """What the tracking has looked at before, by the keys of its candidates."""
    found: dict[str, ReleaseDecision] = {}
    wanted = sorted({index_key(key) for key in keys})
    for at in range(0, len(wanted), 500):
        some = wanted[at : at + 500]
        rows = await view.rows(
            f"SELECT {COLUMNS} FROM releases WHERE tracking_id = ?"
            f" AND uid_key IN ({placeholders(len(some))})",
            tracking_id,
            *some,
        )
        found |= {row.candidate.key: row for row in map(decision_from_row, rows)}
    return found


async def list_refused_names(view: View, show_id: int) -> dict[str, str]:
    """Entries and hashes that a person does not want for this show."""
    rows = await view.rows(
        "SELECT candidate, release FROM releases WHERE action = 'refused'"
        " AND tracking_id IN (SELECT id FROM trackings WHERE show_id = ?)",
        show_id,
    )
    offers = (Offer(decode_candidate(row.candidate), decode_release(row.release)) for row in rows)
    return {name: "A person does not want it." for offer in offers for name in offer.names}


async def list_trackings_behind(view: View) -> list[int]:
    """Trackings that have not looked at all that is kept since they were made, enabled or changed;
    those that collect nothing need not."""
    rows = await view.rows(
        "SELECT id FROM trackings WHERE enabled AND (caught_up IS NULL OR caught_up <> updated_at)"
        " ORDER BY id"
    )
    return [row.id for row in rows]


async def is_tracked(view: View, tracking_id: int) -> bool:
    return await view.row("SELECT 1 AS one FROM trackings WHERE id = ?", tracking_id) is not None


async def count_held_decisions(view: View) -> int:
    """How many wait for a person."""
    row = await view.row("SELECT count(*) AS many FROM releases WHERE action = 'hold'")
    assert row is not None
    return int(row.many)


async def count_decisions_by_rule(view: View, tracking_id: int) -> dict[str, int]:
    """How often each rule of the filter removed something, and each verdict was given."""
    rows = await view.rows(
        "SELECT action, rule, count(*) AS many FROM releases WHERE tracking_id = ?"
        " GROUP BY action, rule ORDER BY action, rule",
        tracking_id,
    )
    return {f"{row.action}:{row.rule}": row.many for row in rows}


def decision_from_row(row: Row) -> ReleaseDecision:
    return ReleaseDecision(
        id=row.id,
        tracking_id=row.tracking_id,
        candidate=decode_candidate(row.candidate),
        release=decode_release(row.release),
        slots=decode_slots(row.slots),
        action=row.action,
        rule=row.rule,
        reason=row.reason,
        found_at=from_micros(row.found_at),
        decided_at=from_micros(row.decided_at),
    )


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
class ChangedDecision:
    """A row as it was seen, and what is to be said of it now."""

    was: ReleaseDecision
    deciding: NewReleaseDecision


async def insert_decision(
    tx: Transaction, new: NewReleaseDecision, now: datetime
) -> ReleaseDecision | None:
    """None when the tracking decided on this entry before."""
    row = await tx.row(f"{_INSERT} RETURNING {COLUMNS}", *_inserted(new, now))
    return None if row is None else decision_from_row(row)


async def insert_decisions(
    tx: Transaction, new: Sequence[NewReleaseDecision], now: datetime
) -> None:
    """As `insert_decision`, where nobody needs to know more."""
    if new:
        await tx.run_many(_INSERT, [_inserted(each, now) for each in new])


async def update_decision(
    tx: Transaction, anew: ChangedDecision, now: datetime
) -> ReleaseDecision | None:
    """Decided anew: by a person, or because the wishes have changed. None, and nothing is written,
    when somebody else did so since it was seen."""
    row = await tx.row(f"{_UPDATE} RETURNING {COLUMNS}", *_updated(anew, now))
    return None if row is None else decision_from_row(row)


async def update_decisions(tx: Transaction, anew: Sequence[ChangedDecision], now: datetime) -> None:
    if anew:
        await tx.run_many(_UPDATE, [_updated(each, now) for each in anew])


async def update_candidate(tx: Transaction, was: ReleaseDecision, to: TorrentCandidate) -> None:
    """Its torrent is to be had elsewhere; nothing is decided by that."""
    await tx.run("UPDATE releases SET candidate = ? WHERE id = ?", encode_candidate(to), was.id)
    await tx.run("UPDATE downloads SET magnet = ? WHERE release_id = ?", to.magnet, was.id)


async def set_caught_up(tx: Transaction, tracking_id: int, updated_at: datetime) -> None:
    """All that is kept was looked at, for the tracking as it was changed last at that moment."""
    await tx.run(
        "UPDATE trackings SET caught_up = ? WHERE id = ?", to_micros(updated_at), tracking_id
    )


async def forget_caught_up(tx: Transaction) -> None:
    """All that is kept is to be looked at again, for every tracking."""
    await tx.run("UPDATE trackings SET caught_up = NULL")


def _inserted(new: NewReleaseDecision, now: datetime) -> tuple[SqlValue, ...]:
    candidate, moment = new.offer.candidate, to_micros(now)
    return (
        new.tracking_id,
        index_key(candidate.key),
        candidate.title,
        candidate.infohash,
        encode_candidate(candidate),
        encode_release(new.offer.release),
        encode_slots(new.slots),
        new.action,
        new.rule,
        new.reason,
        moment,
        moment,
    )


def _updated(anew: ChangedDecision, now: datetime) -> tuple[SqlValue, ...]:
    new, was = anew.deciding, to_micros(anew.was.decided_at)
    return (
        new.action,
        new.rule,
        new.reason,
        encode_slots(new.slots),
        encode_release(new.offer.release),
        new.offer.candidate.title,
        new.offer.candidate.infohash,
        encode_candidate(new.offer.candidate),
        # Later than before, whatever the clock says: who saw the former must notice.
        max(to_micros(now), was + 1),
        anew.was.id,
        was,
    )
