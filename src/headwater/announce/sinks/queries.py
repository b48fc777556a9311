"""What may be asked of sinks: who there is, how far each has come, which letters are dead."""

from collections.abc import Sequence

import orjson

from headwater.announce.queries import last_seq
from headwater.announce.sinks.sink import DeadLetter, Sink, Standing
from headwater.announce.wanted import Wanted
from headwater.ports import Reader, Row
from headwater.values.instant import from_micros, maybe_moment

COLUMNS = (
    "id, name, kind, origin, options, secrets, wanted, enabled, stopped, max_attempts, cursor,"
    " replays, attempts, failures, failing_since, next_try_at, delivered, last_delivered_at,"
    " last_error, last_detail, created_at, updated_at"
)
_LETTER = "sink_id, seq, event_id, type, attempts, error, detail, died_at, retry_asked"


async def sinks(view: Reader) -> list[Sink]:
    """All there are, by name."""
    return [sink_of(row) for row in await view.rows(f"SELECT {COLUMNS} FROM sinks ORDER BY name")]


async def sink_named(view: Reader, name: str) -> Sink | None:
    row = await view.row(f"SELECT {COLUMNS} FROM sinks WHERE name = ?", name)
    return None if row is None else sink_of(row)


async def standings(view: Reader) -> list[Standing]:
    """Every sink with its lag and its dead letters, by name."""
    last = await last_seq(view)
    counts = await view.rows("SELECT sink_id, count(*) AS many FROM dead_letters GROUP BY sink_id")
    dead = {row.sink_id: row.many for row in counts}
    return [
        Standing(sink, max(0, last - sink.cursor), dead.get(sink.id, 0))
        for sink in await sinks(view)
    ]


async def standing_of(view: Reader, sink: Sink) -> Standing:
    row = await view.row("SELECT count(*) AS many FROM dead_letters WHERE sink_id = ?", sink.id)
    assert row is not None
    return Standing(sink, max(0, await last_seq(view) - sink.cursor), row.many)


async def dead_letters(
    view: Reader, sink_id: int, *, after: int = 0, limit: int = 100
) -> list[DeadLetter]:
    """By their number in the log, those after `after`."""
    rows = await view.rows(
        f"SELECT {_LETTER} FROM dead_letters WHERE sink_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        sink_id,
        after,
        limit,
    )
    return letters_of(rows)


async def letters_to_retry(view: Reader, sink_id: int, *, limit: int) -> list[DeadLetter]:
    """Those somebody wants tried again, the oldest first."""
    rows = await view.rows(
        f"SELECT {_LETTER} FROM dead_letters WHERE sink_id = ? AND retry_asked"
        " ORDER BY seq LIMIT ?",
        sink_id,
        limit,
    )
    return letters_of(rows)


def letters_of(rows: Sequence[Row]) -> list[DeadLetter]:
    return [
        DeadLetter(
            row.sink_id,
            row.seq,
            row.event_id,
            row.type,
            row.attempts,
            row.error,
            row.detail,
            from_micros(row.died_at),
            bool(row.retry_asked),
        )
        for row in rows
    ]


def sink_of(row: Row) -> Sink:
    return Sink(
        id=row.id,
        name=row.name,
        kind=row.kind,
        origin=row.origin,
        options=orjson.loads(row.options),
        secrets=None if row.secrets is None else bytes(row.secrets),
        wanted=Wanted.from_json(row.wanted),
        enabled=bool(row.enabled),
        stopped=row.stopped,
        max_attempts=row.max_attempts,
        cursor=row.cursor,
        replays=row.replays,
        attempts=row.attempts,
        failures=row.failures,
        failing_since=maybe_moment(row.failing_since),
        next_try_at=maybe_moment(row.next_try_at),
        delivered=row.delivered,
        last_delivered_at=maybe_moment(row.last_delivered_at),
        last_error=row.last_error,
        last_detail=row.last_detail,
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
    )
