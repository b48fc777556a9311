"""The invariants, checked from outside: rows and blobs against what the origin knows it served."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import orjson

from tests.crash.records import Record, Records
from tests.support.origin import Request

MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class Broken:
    """An invariant that does not hold, by its name, and where."""

    invariant: str
    detail: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.detail}"


@dataclass(slots=True)
class Witness:
    """What the outside knows: every request by URL, and what earlier looks at the records saw."""

    asked: Mapping[str, Sequence[Request]]
    longest_wait: float
    promised: set[str] = field(default_factory=set)
    """Public ids of feeds whose following was answered with success."""
    hit: Counter[str] = field(default_factory=Counter)
    """By URL: how often it was claimed when its worker was killed or paused for too long."""
    sent: dict[int, str] = field(default_factory=dict)
    """Digests of what was answered, by the request's number: a long ordeal looks at it often."""
    raw_seen: dict[str, tuple[object, ...]] = field(default_factory=dict)
    first_seen: dict[tuple[int, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Served:
    """A body as it arrived at the other side."""

    status: int | None
    posts: tuple[str, ...]
    is_whole: bool


def broken_at_any_time(records: Records, witness: Witness, now: int) -> list[Broken]:
    """What must hold at every moment, also between a kill and the next start."""
    served = {url: _served(requests, witness.sent) for url, requests in witness.asked.items()}
    return [
        *_r1(records),
        *_r2(records, served),
        *_r3(records, witness),
        *_r4(records),
        *_j1(records),
        *_j3(records, witness.longest_wait, now),
        *_e1(records, served),
        *_e2(records, witness),
        *_d1(records),
        *_a1(records, witness),
        *_s1(records),
    ]


def broken_after_rest(
    records: Records, witness: Witness, shown: Mapping[str, set[str]]
) -> list[Broken]:
    """What must hold besides, when the origin rests and every visit is over.

    `shown` are the posts in each feed's last document.
    """
    return [*_j2(records, witness), *_unclaimed(records), *_e1_last(records, shown)]


def remember(records: Records, witness: Witness) -> None:
    """So that the next look can tell what changed that never may."""
    for raw in records.raw_fetches:
        witness.raw_seen.setdefault(raw["fetch_id"], _raw_marks(raw))
    for entry in records.entries:
        witness.first_seen.setdefault((entry["feed_id"], entry["entry_uid"]), entry["first_seen"])


def _served(requests: Sequence[Request], known: dict[int, str]) -> dict[str, Served]:
    """By digest of what arrived; a body that was cut arrived in part."""
    found = {}
    for request in requests:
        if request.reply is not None and request.sent:
            arrived = request.sent[: request.reply.cut_at]
            whole = request.reply.cut_at is None
            if request.number not in known:
                known[request.number] = sha256(arrived).hexdigest()
            found[known[request.number]] = Served(request.status, request.posts, whole)
    return found


def _r1(records: Records) -> Iterator[Broken]:
    """Every raw reference resolves and its SHA-256 matches."""
    for raw in records.raw_fetches:
        if raw["expired_at"] is None:
            there = records.blobs.get(raw["blob_key"])
            if there != raw["body_sha256"]:
                yield Broken("R1", f"raw {raw['fetch_id']} should be {raw['body_sha256']}: {there}")
    for what in (*records.entries, *records.entry_versions):
        origin = records.raw_by_id.get(what["fetch_id"])
        if origin is None or origin["expired_at"] is not None:
            yield Broken("R1", f"entry {_named(what)} refers to raw {what['fetch_id']}: {origin}")


def _r2(records: Records, served: Mapping[str, Mapping[str, Served]]) -> Iterator[Broken]:
    """One raw record per finished visit that had a body, byte-equal to what was served."""
    urls = {feed["id"]: feed["url"] for feed in records.feeds}
    for visit in records.visits:
        if (visit["bytes_in"] > 0) != (visit["fetch_id"] is not None):
            yield Broken("R2", f"a visit of {visit['url']} has a body and no raw record: {visit}")
        elif visit["fetch_id"] is not None and visit["fetch_id"] not in records.raw_by_id:
            yield Broken("R2", f"a visit of {visit['url']} names raw {visit['fetch_id']}: missing")
        elif visit["status"] == 200 and visit["bytes_in"] == 0:
            yield Broken("R2", f"a visit of {visit['url']} has a 200 without a body")
    for fetch_id, times in Counter(v["fetch_id"] for v in records.visits if v["fetch_id"]).items():
        if times > 1:
            yield Broken("R2", f"{times} visits share raw {fetch_id}")
    for raw in records.raw_fetches:
        known = served[urls[raw["feed_id"]]].get(raw["body_sha256"])
        if known is None:
            yield Broken("R2", f"raw {raw['fetch_id']} of {raw['url']} was never served like that")
        elif (known.status, not known.is_whole) != (raw["http_status"], bool(raw["truncated"])):
            yield Broken("R2", f"raw {raw['fetch_id']} was served as {known}, recorded as {raw}")


def _r3(records: Records, witness: Witness) -> Iterator[Broken]:
    """Raw never changes, and never goes without a word."""
    for fetch_id, marks in witness.raw_seen.items():
        raw = records.raw_by_id.get(fetch_id)
        if raw is None or _raw_marks(raw) != marks:
            yield Broken("R3", f"raw {fetch_id} was {marks}, is {raw}")


def _r4(records: Records) -> Iterator[Broken]:
    """A parse failure keeps its raw."""
    for visit in records.visits:
        if visit["outcome"] == "unreadable" and visit["fetch_id"] not in records.raw_by_id:
            yield Broken("R4", f"what could not be read of {visit['url']} was not kept")


def _j1(records: Records) -> Iterator[Broken]:
    """At most one committed visit per feed and planned moment."""
    counted = Counter((visit["feed_id"], visit["scheduled_at"]) for visit in records.visits)
    for (feed, planned), times in counted.items():
        if times > 1:
            yield Broken("J1", f"feed {feed}: {times} visits were planned for {planned}")


def _j2(records: Records, witness: Witness) -> Iterator[Broken]:
    """No more requests than visits and kills that hit one; no visit without its request."""
    for feed in records.feeds:
        requests = len(witness.asked[feed["url"]])
        visits, hit = len(records.visits_of[feed["id"]]), witness.hit[feed["url"]]
        if not visits <= requests <= visits + hit:
            yield Broken(
                "J2", f"{feed['url']}: {requests} requests, {visits} visits, hit by {hit} kills"
            )


def _j3(records: Records, longest_wait: float, now: int) -> Iterator[Broken]:
    """Every active feed has its next visit, within its maximum."""
    for feed in records.feeds:
        planned = feed["next_visit_at"]
        if feed["state"] == "active" and planned is None:
            yield Broken("J3", f"{feed['url']} will never be visited again")
        elif planned is not None and planned > now + longest_wait * MICROS:
            yield Broken("J3", f"{feed['url']} waits {(planned - now) / MICROS:.0f} s")
        elif feed["state"] != "active":
            yield Broken("J3", f"{feed['url']} is {feed['state']}, nobody said so")


def _unclaimed(records: Records) -> Iterator[Broken]:
    for feed in records.feeds:
        if feed["claimed_by"] is not None:
            yield Broken("J3", f"{feed['url']} is claimed by {feed['claimed_by']}, who has left")


def _e1(records: Records, served: Mapping[str, Mapping[str, Served]]) -> Iterator[Broken]:
    """Entries are exactly the posts of the whole documents whose visits were committed."""
    for feed in records.feeds:
        seen: set[str] = set()
        for visit in records.visits_of[feed["id"]]:
            if visit["outcome"] == "fetched":
                digest = records.raw_by_id[visit["fetch_id"]]["body_sha256"]
                document = served[feed["url"]].get(digest)
                seen |= set(document.posts) if document else set()
        kept = [entry["entry_uid"] for entry in records.entries_of[feed["id"]]]
        yield from _differences("E1", feed["url"], kept, seen)


def _differences(name: str, where: str, kept: list[str], meant: set[str]) -> Iterator[Broken]:
    if lost := sorted(meant - set(kept)):
        yield Broken(name, f"{where} lost {lost[:5]} ({len(lost)})")
    if invented := sorted(set(kept) - meant):
        yield Broken(name, f"{where} invented {invented[:5]} ({len(invented)})")
    if len(kept) > len(set(kept)):
        yield Broken(name, f"{where} has entries twice")


def _e1_last(records: Records, shown: Mapping[str, set[str]]) -> Iterator[Broken]:
    for feed in records.feeds:
        kept = {entry["entry_uid"] for entry in records.entries_of[feed["id"]]}
        present = {
            entry["entry_uid"]
            for entry in records.entries_of[feed["id"]]
            if entry["present_since"] is not None
        }
        if lost := sorted(shown[feed["url"]] - kept):
            yield Broken("E1", f"{feed['url']} shows {lost[:5]}, which we do not have")
        elif present != shown[feed["url"]]:
            yield Broken("E1", f"{feed['url']} shows other posts than the ones called present")


def _e2(records: Records, witness: Witness) -> Iterator[Broken]:
    """first_seen never changes, and no entry goes."""
    now = {(e["feed_id"], e["entry_uid"]): e["first_seen"] for e in records.entries}
    for name, moment in witness.first_seen.items():
        if now.get(name) != moment:
            yield Broken("E2", f"entry {name} was first seen at {moment}, now {now.get(name)}")


def _d1(records: Records) -> Iterator[Broken]:
    """Entries and new_entry events one to one, edits and updated_entry events too; no gap."""
    public = {feed["id"]: feed["feed_id"] for feed in records.feeds}
    told: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for event in records.events:
        if event["type"] in {"new_entry", "updated_entry"}:
            payload = orjson.loads(event["payload"])
            told[event["type"]][event["feed_id"], payload["entry_uid"]] += 1
    made = Counter((public[e["feed_id"]], e["entry_uid"]) for e in records.entries)
    edits = Counter(
        {
            (public[e["feed_id"]], e["entry_uid"]): e["version"] - 1
            for e in records.entries
            if e["version"] > 1
        }
    )
    for kind, facts in (("new_entry", made), ("updated_entry", edits)):
        if untold := facts - told[kind]:
            yield Broken("D1", f"no {kind} event for {list(untold)[:3]} ({untold.total()})")
        if unfounded := told[kind] - facts:
            yield Broken("D1", f"{kind} events for nothing: {list(unfounded)[:3]}")
    (counter,) = (row["value"] for row in records.counters if row["name"] == "events")
    if sorted(event["seq"] for event in records.events) != list(range(1, counter + 1)):
        yield Broken("D1", f"the {len(records.events)} events are not numbered 1 to {counter}")


def _a1(records: Records, witness: Witness) -> Iterator[Broken]:
    """What was answered with success is there."""
    for lost in witness.promised - {feed["feed_id"] for feed in records.feeds}:
        yield Broken("A1", f"feed {lost} was promised and is not there")


def _s1(records: Records) -> Iterator[Broken]:
    """Every feed has one subscription, every subscription a feed, and each was told once."""
    owned = Counter(each["feed_id"] for each in records.rss_subscriptions)
    feeds = {feed["id"]: feed["feed_id"] for feed in records.feeds}
    if owned != Counter(dict.fromkeys(feeds, 1)):
        yield Broken("S1", f"subscriptions by feed are {owned}, and the feeds {sorted(feeds)}")
    told = Counter(
        event["feed_id"] for event in records.events if event["type"] == "subscription_created"
    )
    if untold := set(feeds.values()) - set(told):
        yield Broken("S1", f"no subscription_created event for {sorted(untold)[:3]}")


def _raw_marks(raw: Record) -> tuple[object, ...]:
    names = ("feed_id", "fetched_at", "url", "http_status", "body_sha256", "content_length")
    return tuple(raw[name] for name in (*names, "request_headers", "response_headers"))


def _named(what: Record) -> str:
    return f"{what['feed_id']}/{what.get('entry_uid') or what['uid_key'].hex()}"
