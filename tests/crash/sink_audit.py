"""The invariants of delivery, checked from outside: what sinks have against the log's own rows."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import orjson

from tests.crash.audit import Broken
from tests.crash.receivers import Got, Heard
from tests.crash.records import Record, Records

OWN_KINDS = frozenset({"personal", "releases"})
"""Sinks that nobody made. They are audited by what they made of events."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Terms:
    """What one receiver is promised.

    `once`: never an event twice, not even after a crash. `has_cursor`: Headwater keeps its place;
    otherwise it does so itself. `with_more`: its lines say more after the event's own parts.
    """

    once: bool = False
    has_cursor: bool = True
    with_more: bool = False


@dataclass(slots=True)
class Log:
    """Every event ever seen in the log: its number, and the bytes that stand for it."""

    known: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    """By number, from 1 on."""

    def learn(self, events: list[Record]) -> Iterator[Broken]:
        """What is told once is never told otherwise."""
        for event in sorted(events, key=lambda each: int(each["seq"])):
            said = (event["seq"], _body(event))
            if self.known.setdefault(event["event_id"], said) != said:
                yield Broken("D4", f"event {event['event_id']} was rewritten in the log")
            if event["seq"] == len(self.ids) + 1:
                self.ids.append(event["event_id"])


def broken_deliveries(
    records: Records, log: Log, heard: Mapping[str, Heard], terms: Mapping[str, Terms]
) -> list[Broken]:
    """What must hold at every moment; `records` were read before the receivers were asked."""
    broken = list(log.learn(records.events))
    rows = {row["name"]: row for row in records.sinks}
    for name, each in heard.items():
        broken += _d4(name, each.got, log, terms[name])
        broken += _d3(name, each.got, log)
        if terms[name].once:
            broken += _twice(name, each.got)
        code = "D8" if terms[name].has_cursor else "D7"
        broken += [Broken(code, f"{name}: {where}") for where in each.damaged]
        if terms[name].has_cursor:
            broken += _d5(name, each.got, log, rows[name]["cursor"], _dead(records, rows[name]))
        else:
            broken += _d7(name, each.got, log)
    return broken


def broken_after_catching_up(
    records: Records, log: Log, heard: Mapping[str, Heard], terms: Mapping[str, Terms]
) -> list[Broken]:
    """What must hold besides, when everybody had time to get everything."""
    broken = broken_deliveries(records, log, heard, terms)
    for name, each in heard.items():
        broken += _d6(name, each.got, log)
        broken += [Broken("D8", f"{name}: {where}") for where in each.torn]
    return broken + [
        Broken("D5", f"{row['name']} has cursor {row['cursor']} of {len(log.ids)}: {row}")
        for row in records.sinks
        if row["stopped"]
        or row["failures"]
        or (row["cursor"] != len(log.ids) and row["kind"] not in OWN_KINDS)
    ]


def _dead(records: Records, row: Record) -> set[str]:
    return {letter["event_id"] for letter in records.dead_letters if letter["sink_id"] == row["id"]}


def _d3(name: str, got: list[Got], log: Log) -> Iterator[Broken]:
    """Whoever has seen a number never later sees an event for the first time that is before it."""
    first = {each.event_id: each for each in reversed(got)}
    by_track: dict[str, list[int]] = {}
    for each in got:
        if first.get(each.event_id) is each and each.event_id in log.known:
            by_track.setdefault(each.track, []).append(log.known[each.event_id][0])
    for track, numbers in by_track.items():
        for before, after in pairwise(numbers):
            if after < before:
                yield Broken("D3", f"{name} {track} got {after} after {before}")


def _d4(name: str, got: list[Got], log: Log, terms: Terms) -> Iterator[Broken]:
    """Every delivery has the same id and the same bytes, and the log knows them."""
    for each in got:
        number, body = log.known.get(each.event_id, (0, b""))
        if number and not _is_same(each.body, body, terms):
            yield Broken("D4", f"{name} got {number} as {each.body[:200]!r}, it is {body[:200]!r}")
        elif not number and orjson.loads(each.body)["seq"] <= len(log.ids):
            yield Broken("D4", f"{name} got {each.event_id}, which is not in the log")


def _is_same(got: bytes, body: bytes, terms: Terms) -> bool:
    return got.startswith(body[:-1] + b',"') if terms.with_more and got != body else got == body


def _twice(name: str, got: list[Got]) -> Iterator[Broken]:
    for event_id, times in Counter(each.event_id for each in got).items():
        if times > 1:
            yield Broken("D6", f"{name} has {event_id} {times} times")


def _d5(name: str, got: list[Got], log: Log, cursor: int, dead: set[str]) -> Iterator[Broken]:
    """What the cursor has passed was taken by the sink, or set aside where everybody sees it."""
    lost = set(log.ids[:cursor]) - {each.event_id for each in got} - dead
    if lost:
        yield Broken("D5", f"{name} is at {cursor} and never got {_numbers(lost, log)}")


def _d6(name: str, got: list[Got], log: Log) -> Iterator[Broken]:
    """After throwing doubles away each has each event once."""
    seen = {each.event_id for each in got}
    if lost := set(log.ids) - seen:
        yield Broken("D6", f"{name} never got {_numbers(lost, log)} of {len(log.ids)}")
    if invented := seen - log.known.keys():
        yield Broken("D6", f"{name} got {sorted(invented)[:3]}, which nobody told")


def _d7(name: str, got: list[Got], log: Log) -> Iterator[Broken]:
    """A reader that comes back goes on where it was: up to its last number it has every one."""
    numbers = {log.known[each.event_id][0] for each in got if each.event_id in log.known}
    if missing := sorted(set(range(1, max(numbers, default=0) + 1)) - numbers):
        yield Broken("D7", f"{name} read on over {missing[:5]} ({len(missing)})")


def _numbers(ids: set[str], log: Log) -> str:
    numbers = sorted(log.known[each][0] for each in ids)
    return f"{numbers[:5]} ({len(numbers)})"


def _body(event: Record) -> bytes:
    at = (EPOCH + timedelta(microseconds=event["at"])).isoformat().replace("+00:00", "Z")
    parts = {"seq": event["seq"], "id": event["event_id"], "type": event["type"], "at": at}
    payload = orjson.loads(event["payload"])
    return orjson.dumps({**parts, "feed_id": event["feed_id"], "payload": payload})
