"""What may be asked of decisions."""

from collections.abc import Collection, Iterable, Sequence

from headwater.collect.decisions.decided import Decided
from headwater.collect.download import Download
from headwater.collect.downloads.queries import COLUMNS as DOWNLOAD
from headwater.collect.downloads.queries import download_of as as_download
from headwater.collect.kept import candidate_of, release_of, slots_of
from headwater.collect.offer import Offer
from headwater.collect.slot import Slot
from headwater.errors import NotFound
from headwater.ports import Reader, Row, Value, marks
from headwater.values.ids import key_of
from headwater.values.instant import from_micros

COLUMNS = "id, tracking_id, candidate, release, slots, action, rule, reason, found_at, decided_at"


async def decision(view: Reader, release_id: int) -> Decided:
    row = await view.row(f"SELECT {COLUMNS} FROM releases WHERE id = ?", release_id)
    if row is None:
        raise NotFound("There is no such release.", what="release")
    return decided_of(row)


async def decisions(
    view: Reader,
    *,
    tracking_id: int | None = None,
    show_id: int | None = None,
    actions: Sequence[str] = (),
    rule: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[Decided]:
    """The newest first, those before that id."""
    where, values = ["id < ?"], list[Value]([2**63 - 1 if before is None else before])
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
        where.append(f"action IN ({marks(len(actions))})")
        values += actions
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM releases WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT ?",
        *values,
        limit,
    )
    return [decided_of(row) for row in rows]


async def passed_over(
    view: Reader, tracking_id: int, slots: Collection[Slot], limit: int = 5_000
) -> list[Decided]:
    """What was skipped for one of these slots, the newest first."""
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM releases WHERE tracking_id = ? AND action = 'skip'"
        " AND slots <> '[]' ORDER BY id DESC LIMIT ?",
        tracking_id,
        limit,
    )
    wanted = frozenset(slots)
    return [decided_of(row) for row in rows if not wanted.isdisjoint(slots_of(row.slots))]


async def download_of(view: Reader, release_id: int) -> Download | None:
    """What came of it, where somebody wanted it."""
    return (await downloads_of(view, [release_id])).get(release_id)


async def downloads_of(view: Reader, release_ids: Sequence[int]) -> dict[int, Download]:
    """By release; those that were never wanted are not there."""
    if not release_ids:
        return {}
    rows = await view.rows(
        f"SELECT {DOWNLOAD} FROM downloads WHERE release_id IN ({marks(len(release_ids))})",
        *release_ids,
    )
    return {row.release_id: as_download(row) for row in rows}


async def decided_among(view: Reader, tracking_id: int, keys: Iterable[str]) -> dict[str, Decided]:
    """What the tracking has looked at before, by the keys of its candidates."""
    found: dict[str, Decided] = {}
    wanted = sorted({key_of(key) for key in keys})
    for at in range(0, len(wanted), 500):
        some = wanted[at : at + 500]
        rows = await view.rows(
            f"SELECT {COLUMNS} FROM releases WHERE tracking_id = ?"
            f" AND uid_key IN ({marks(len(some))})",
            tracking_id,
            *some,
        )
        found |= {row.candidate.key: row for row in map(decided_of, rows)}
    return found


async def refused_names(view: Reader, show_id: int) -> dict[str, str]:
    """Entries and hashes that a person does not want for this show."""
    rows = await view.rows(
        "SELECT candidate, release FROM releases WHERE action = 'refused'"
        " AND tracking_id IN (SELECT id FROM trackings WHERE show_id = ?)",
        show_id,
    )
    offers = (Offer(candidate_of(row.candidate), release_of(row.release)) for row in rows)
    return {name: "A person does not want it." for offer in offers for name in offer.names}


async def behind(view: Reader) -> list[int]:
    """Trackings that have not looked at all that is kept since they were made, enabled or changed;
    those that collect nothing need not."""
    rows = await view.rows(
        "SELECT id FROM trackings WHERE enabled AND (caught_up IS NULL OR caught_up <> updated_at)"
        " ORDER BY id"
    )
    return [row.id for row in rows]


async def is_tracked(view: Reader, tracking_id: int) -> bool:
    return await view.row("SELECT 1 AS one FROM trackings WHERE id = ?", tracking_id) is not None


async def held(view: Reader) -> int:
    """How many wait for a person."""
    row = await view.row("SELECT count(*) AS many FROM releases WHERE action = 'hold'")
    assert row is not None
    return int(row.many)


async def counts(view: Reader, tracking_id: int) -> dict[str, int]:
    """How often each rule of the filter removed something, and each verdict was given."""
    rows = await view.rows(
        "SELECT action, rule, count(*) AS many FROM releases WHERE tracking_id = ?"
        " GROUP BY action, rule ORDER BY action, rule",
        tracking_id,
    )
    return {f"{row.action}:{row.rule}": row.many for row in rows}


def decided_of(row: Row) -> Decided:
    return Decided(
        id=row.id,
        tracking_id=row.tracking_id,
        candidate=candidate_of(row.candidate),
        release=release_of(row.release),
        slots=slots_of(row.slots),
        action=row.action,
        rule=row.rule,
        reason=row.reason,
        found_at=from_micros(row.found_at),
        decided_at=from_micros(row.decided_at),
    )
