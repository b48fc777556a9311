"""The second of a visit's two commits: everything learned, for many visits in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from headwater.announce import store as log
from headwater.announce.event import Event, feed_moved
from headwater.engine import Engine
from headwater.errors import Refused
from headwater.fetch import store as raws
from headwater.fetch.outcome import Fetched
from headwater.fetch.redact import redacted_headers
from headwater.fetch.store import headers_json
from headwater.merge import store as entries
from headwater.merge.compare import NO_CHANGES
from headwater.merge.lateness import lateness
from headwater.merge.reading import ReadFeed, SameDocument, Unreadable
from headwater.merge.steps import killed_its_parser
from headwater.merge.store import Memory, Merged
from headwater.ports import Transaction
from headwater.schedule import store as calendar
from headwater.schedule.store import Holding, Learned, VisitRecord
from headwater.settle import Finished, Settled, json_or_none, settle
from headwater.telemetry import metrics
from headwater.telemetry.trace import lap
from headwater.together import in_halves
from headwater.values.ids import FeedPk, key_of
from headwater.values.instant import maybe_micros, to_micros
from headwater.values.response import Exchange, Validators
from headwater.values.url import canonical, host_of, redacted, shard_of


@dataclass(frozen=True, slots=True)
class Lost:
    """The claim was no longer ours: nothing was written (J6)."""


Remembered = Settled | Lost | Refused

_FOLLOWED = ("active", "paused")

_PRECONDITION_FAILED = 412


async def remember_group(engine: Engine, group: list[Finished]) -> list[Remembered]:
    """One transaction for all; a visit that the database refuses is refused alone."""
    metrics.committed("remember", len(group))
    return await in_halves(partial(_remember, engine), group, Refused)


async def _remember(engine: Engine, group: list[Finished]) -> list[Settled | Lost]:
    async with engine.database.write() as tx:
        now = to_micros(engine.clock.now())
        held = await calendar.holdings(tx, [each.due.feed for each in group], now)
        ours = [each for each in group if _is_ours(each, held)]
        memories = await _memories(tx, ours)
        settled = [_settled(engine, each, held[each.due.feed], memories) for each in ours]
        await entries.save(tx, [_merged(each) for each in settled if _shows_entries(each)])
        await raws.keep_for_ever(tx, [_fetch_id(each) for each in settled if _is_worth(each)])
        await _note_deaths(tx, settled)
        await calendar.learn(tx, [_learned(each) for each in settled])
        await calendar.record_visits(tx, [_record(engine, each, held) for each in settled])
        moves = [fact for each in settled for fact in await _carry_out_move(tx, each)]
        facts = [fact for each in settled for fact in each.events]
        lap("events")
        await log.append(tx, [*facts, *moves], engine.clock.now())
    known = {each.finished.due.feed: each for each in settled}
    return [known.get(each.due.feed, Lost()) if _is_ours(each, held) else Lost() for each in group]


def _is_ours(finished: Finished, held: dict[FeedPk, Holding]) -> bool:
    holding = held.get(finished.due.feed)
    return holding is not None and holding.fence == finished.due.fence


async def _memories(tx: Transaction, ours: Sequence[Finished]) -> dict[FeedPk, Memory]:
    """A feed on its first document has nothing to remember, unless its archive was read again."""
    first = [each.due.feed for each in ours if not each.due.documents_seen]
    bare = set(first) - await entries.with_entries(tx, first)
    shown = [
        (each.due.feed, each.read.entries)
        for each in ours
        if isinstance(each.read, ReadFeed) and each.due.feed not in bare
    ]
    return await entries.recall(tx, shown) if shown else {}


def _settled(
    engine: Engine, finished: Finished, holding: Holding, memories: dict[FeedPk, Memory]
) -> Settled:
    memory = memories.get(finished.due.feed) or Memory()
    overrides = orjson.loads(holding.overrides)
    return settle(finished, memory, overrides, engine.schedule, engine.rules, engine.clock.luck())


def _shows_entries(settled: Settled) -> bool:
    return settled.changes is not NO_CHANGES and settled.changes != NO_CHANGES


def _is_worth(settled: Settled) -> bool:
    return settled.changes.touches_entries


def _fetch_id(settled: Settled) -> str:
    assert settled.finished.archived is not None, "entries come from an archived body only"
    return settled.finished.archived.fetch_id


def _merged(settled: Settled) -> Merged:
    due = settled.finished.due
    return Merged(
        feed=due.feed,
        changes=settled.changes,
        fetch_id=_fetch_id(settled),
        now=settled.now,
        before=due.documents_seen,
        seen_before_at=due.document_seen_at,
    )


async def _note_deaths(tx: Transaction, settled: Sequence[Settled]) -> None:
    for each in settled:
        read, archived = each.finished.read, each.finished.archived
        if archived and isinstance(read, Unreadable) and killed_its_parser(read):
            await raws.note_parser_death(
                tx, archived.body_sha256, read.code, each.finished.finished_at
            )


async def _carry_out_move(tx: Transaction, settled: Settled) -> list[Event]:
    """A move that proved stable; where another feed is followed already, this one stops instead.

    Where a feed lives that nobody visits, the address is taken but nothing is followed there: we go
    on by the redirect, and look again at every visit whether the address has become free.
    """
    due, target = settled.finished.due, settled.believed_move
    key = canonical(target) if target else None
    if target is None or key is None:
        return []
    other = await calendar.feed_at(tx, key_of(key))
    if other is not None and other.feed_id != due.feed_id:
        if other.state not in _FOLLOWED:
            return []
        await calendar.stop_as_duplicate(tx, due.feed, target)
        return [feed_moved(due.feed_id, due.url, target, duplicate_of=other.feed_id)]
    host = host_of(target)
    await calendar.move_feed(tx, due.feed, target, key_of(key), host, shard_of(host))
    return [feed_moved(due.feed_id, due.url, target)]


def _learned(settled: Settled) -> Learned:
    finished, due = settled.finished, settled.finished.due
    answer, read = finished.outcome.exchange.answer, finished.read
    new = read if isinstance(read, ReadFeed) else None
    validators, document_hash = _known_by(settled)
    return Learned(
        due=due,
        decision=settled.decision,
        now=settled.now,
        outcome=settled.name,
        status=answer.status,
        error=settled.error,
        retry_after=getattr(finished.outcome, "retry_after", None),
        succeeded=settled.succeeded,
        validators=validators,
        asked_whole_at=_asked_whole_at(settled),
        documents_seen=due.documents_seen + settled.succeeded,
        document_seen_at=settled.now if settled.succeeded else due.document_seen_at,
        document_hash=document_hash,
        identity=json_or_none(new.identity if new else due.identity),
        type=new.format if new else None,
        title=new.title if new else None,
        home_link=new.home_link if new else None,
        move=settled.move,
        gone_for_good=settled.decision.next is None,
        failing_told=settled.failing_told,
        new_entries=len(settled.changes.new),
        new_today=settled.new_today,
        today=settled.today,
        address=finished.outcome.exchange.own_address or due.last_address,
    )


def _asked_whole_at(settled: Settled) -> int | None:
    """None has the whole document asked for next: a server that refuses the condition itself would
    refuse it every time, though what it guards can be had."""
    if settled.succeeded and settled.name == "fetched":
        return settled.now
    refused = settled.finished.outcome.exchange.answer.status == _PRECONDITION_FAILED
    return None if refused else settled.finished.due.asked_whole_at


def _known_by(settled: Settled) -> tuple[Validators, bytes | None]:
    """By what the next answer is seen to bring the same document again.

    By nothing, when we did not take in all of this one: neither it nor the one before it is what
    we have, so the next one must come as a whole and be compared. Two that end early, one after the
    other, are how this feed is: then its validators count, or it would be fetched whole for ever.
    """
    due, outcome, read = settled.finished.due, settled.finished.outcome, settled.finished.read
    if not isinstance(outcome, Fetched) or not isinstance(read, ReadFeed | SameDocument):
        return due.validators, due.document_hash
    if settled.changes.cut:
        return Validators(), None
    was_whole = due.document_hash is not None or not due.documents_seen
    if isinstance(read, ReadFeed) and read.partial and was_whole:
        return Validators(), None
    return outcome.validators, read.document_hash


def _record(engine: Engine, settled: Settled, held: dict[FeedPk, Holding]) -> VisitRecord:
    finished, due, decision = settled.finished, settled.finished.due, settled.decision
    exchange, read = finished.outcome.exchange, finished.read
    answer, (asked, answered) = exchange.answer, _headers(settled)
    return VisitRecord(
        feed=due.feed,
        scheduled_at=due.scheduled_at,
        started_at=to_micros(exchange.started_at),
        finished_at=settled.now,
        worker=finished.by or engine.worker,
        url=redacted(exchange.asked_url),
        outcome=settled.name,
        status=answer.status,
        error=settled.error,
        error_detail=settled.detail,
        fetch_id=finished.archived.fetch_id if finished.archived else None,
        conditional=finished.conditional,
        hops=_hops(exchange),
        request_headers=asked,
        response_headers=answered,
        address=answer.address,
        bytes_in=len(answer.body),
        latency_ms=answer.elapsed * 1000,
        entries_in_document=len(read.entries) if isinstance(read, ReadFeed) else None,
        new_entries=len(settled.changes.new),
        updated_entries=len(settled.changes.edited),
        limits=json_or_none(_limits(settled)),
        problems=json_or_none(_problems(settled)),
        interval_before=due.state.interval,
        interval_after=decision.interval,
        next_at=maybe_micros(decision.next),
        reason_code=decision.code,
        reason=decision.reason,
        inputs=orjson.dumps(decision.inputs).decode(),
        fetcher_id=held[due.feed].fetcher_id,
        decoded_bytes=None if read is None else read.decoded_bytes,
        retry=due.after_failure,
        **_lateness(settled),
    )


def _lateness(settled: Settled) -> dict[str, Any]:
    """How late new entries were seen, for the sums."""
    late = lateness(settled.changes.new, settled.finished.due.document_seen_at, settled.now)
    return {
        "dated_entries": late.entries,
        "late_sec": late.seconds,
        "late_squares": late.squares,
    }


def _headers(settled: Settled) -> tuple[str | None, str | None]:
    """Asked and answered. Those of a body stand with its raw fetch; a 304 has nothing to tell."""
    if settled.finished.archived is not None or settled.name == "unchanged":
        return None, None
    answer = settled.finished.outcome.exchange.answer
    return (
        headers_json(redacted_headers(answer.request_headers)),
        headers_json(redacted_headers(answer.response_headers)),
    )


def _hops(exchange: Exchange) -> str | None:
    return json_or_none(
        [(redacted(hop.url), hop.status, redacted(hop.location)) for hop in exchange.hops]
    )


def _limits(settled: Settled) -> dict[str, int]:
    """What our own limits cut: told, never silent."""
    changes = settled.changes
    cut = {"new_entries_cut": changes.cut, "repeated_in_document": changes.repeated}
    return {name: count for name, count in cut.items() if count}


def _problems(settled: Settled) -> list[tuple[str, str]]:
    read = settled.finished.read
    if not isinstance(read, ReadFeed):
        return []
    partial = [("partial", "the document ends early")] if read.partial else []
    return [*partial, *read.problems]
