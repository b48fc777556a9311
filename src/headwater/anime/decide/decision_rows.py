"""Rows of decisions on releases: write, list and count them."""

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
    """The newest first; `before` is an id, and only older ones are listed."""
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
    """Releases that were skipped for one of these slots, the newest first."""
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM releases WHERE tracking_id = ? AND action = 'skip'"
        " AND slots <> '[]' ORDER BY id DESC LIMIT ?",
        tracking_id,
        limit,
    )
    among = frozenset(slots)
    return [decision_from_row(row) for row in rows if not among.isdisjoint(decode_slots(row.slots))]


async def find_download_of_release(view: View, release_id: int) -> Download | None:
    """The download of a release; None if it was never wanted."""
    return (await list_downloads_by_release(view, [release_id])).get(release_id)


async def list_downloads_by_release(view: View, release_ids: Sequence[int]) -> dict[int, Download]:
    """Downloads by release; a release that was never wanted is not among them."""
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
    """Earlier decisions of the tracking on these candidates, by the key of the candidate."""
    decisions: dict[str, ReleaseDecision] = {}
    uid_keys = sorted({index_key(key) for key in keys})
    for start in range(0, len(uid_keys), 500):
        batch = uid_keys[start : start + 500]
        rows = await view.rows(
            f"SELECT {COLUMNS} FROM releases WHERE tracking_id = ?"
            f" AND uid_key IN ({placeholders(len(batch))})",
            tracking_id,
            *batch,
        )
        for decision in map(decision_from_row, rows):
            decisions[decision.candidate.key] = decision
    return decisions


async def list_refused_names(view: View, show_id: int) -> dict[str, str]:
    """Entries and hashes that a person refused for this show, each with the reason."""
    rows = await view.rows(
        "SELECT candidate, release FROM releases WHERE action = 'refused'"
        " AND tracking_id IN (SELECT id FROM trackings WHERE show_id = ?)",
        show_id,
    )
    offers = (Offer(decode_candidate(row.candidate), decode_release(row.release)) for row in rows)
    return {name: "A person does not want it." for offer in offers for name in offer.names}


async def list_trackings_behind(view: View) -> list[int]:
    """Enabled trackings that have not decided on all kept entries since they were made, enabled or
    changed."""
    rows = await view.rows(
        "SELECT id FROM trackings WHERE enabled AND (caught_up IS NULL OR caught_up <> updated_at)"
        " ORDER BY id"
    )
    return [row.id for row in rows]


async def is_tracked(view: View, tracking_id: int) -> bool:
    return await view.row("SELECT 1 AS one FROM trackings WHERE id = ?", tracking_id) is not None


async def count_held_decisions(view: View) -> int:
    """How many releases wait for a person."""
    row = await view.row("SELECT count(*) AS many FROM releases WHERE action = 'hold'")
    assert row is not None
    return int(row.many)


async def count_decisions_by_rule(view: View, tracking_id: int) -> dict[str, int]:
    """How often each rule of the filter removed a release, and each verdict was reached."""
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
    """A decision as its row was read, and the one that takes its place."""

    was: ReleaseDecision
    new: NewReleaseDecision


async def insert_decision(
    tx: Transaction, new: NewReleaseDecision, now: datetime
) -> ReleaseDecision | None:
    """None when the tracking decided on this entry before."""
    row = await tx.row(f"{_INSERT} RETURNING {COLUMNS}", *_values_to_insert(new, now))
    return None if row is None else decision_from_row(row)


async def insert_decisions(
    tx: Transaction, new: Sequence[NewReleaseDecision], now: datetime
) -> None:
    """As `insert_decision`, where nobody needs the rows."""
    if new:
        await tx.run_many(_INSERT, [_values_to_insert(each, now) for each in new])


async def update_decision(
    tx: Transaction, changed: ChangedDecision, now: datetime
) -> ReleaseDecision | None:
    """Write a changed decision: a person's, or one by changed preferences. None, and nothing is
    written, when somebody else has changed it since it was read."""
    row = await tx.row(f"{_UPDATE} RETURNING {COLUMNS}", *_values_to_update(changed, now))
    return None if row is None else decision_from_row(row)


async def update_decisions(
    tx: Transaction, changes: Sequence[ChangedDecision], now: datetime
) -> None:
    if changes:
        await tx.run_many(_UPDATE, [_values_to_update(each, now) for each in changes])


async def update_candidate(
    tx: Transaction, decision: ReleaseDecision, candidate: TorrentCandidate
) -> None:
    """The torrent has another address now. The decision stays as it is."""
    await tx.run(
        "UPDATE releases SET candidate = ? WHERE id = ?", encode_candidate(candidate), decision.id
    )
    await tx.run(
        "UPDATE downloads SET magnet = ? WHERE release_id = ?", candidate.magnet, decision.id
    )


async def set_caught_up(tx: Transaction, tracking_id: int, updated_at: datetime) -> None:
    """Note that the tracking, as it was changed at that moment, has decided on all kept entries."""
    await tx.run(
        "UPDATE trackings SET caught_up = ? WHERE id = ?", to_micros(updated_at), tracking_id
    )


async def forget_caught_up(tx: Transaction) -> None:
    """Let every tracking decide on all kept entries again."""
    await tx.run("UPDATE trackings SET caught_up = NULL")


def _values_to_insert(new: NewReleaseDecision, now: datetime) -> tuple[SqlValue, ...]:
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


def _values_to_update(changed: ChangedDecision, now: datetime) -> tuple[SqlValue, ...]:
    new, was = changed.new, to_micros(changed.was.decided_at)
    return (
        new.action,
        new.rule,
        new.reason,
        encode_slots(new.slots),
        encode_release(new.offer.release),
        new.offer.candidate.title,
        new.offer.candidate.infohash,
        encode_candidate(new.offer.candidate),
        # Later than before, whatever the clock says: whoever read the former must notice.
        max(to_micros(now), was + 1),
        changed.was.id,
        was,
    )
