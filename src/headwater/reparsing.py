"""Entries made anew from what is archived, without a request: what a better parser would say.

Payloads are read in the order they were served. A payload speaks for the entries whose present text
came from it, and for entries that nobody has seen yet. Nothing is ever deleted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headwater.announce import store as log
from headwater.comparing import read_again
from headwater.engine import Engine
from headwater.errors import BlobDamaged, RawExpired
from headwater.fetch import queries as raw_queries
from headwater.fetch import store as raws
from headwater.fetch.queries import ArchivedFetch
from headwater.merge import queries as kept
from headwater.merge import store as entries
from headwater.merge.compare import Changes, Drift, compare
from headwater.merge.difference import Difference, changed, said_by
from headwater.merge.entry import Entry, Known
from headwater.merge.reading import ReadFeed, Unreadable
from headwater.merge.steps import killed_its_parser
from headwater.merge.store import Memory, Merged
from headwater.ports import Transaction
from headwater.schedule import queries as schedule
from headwater.schedule.queries import Rereading
from headwater.settle import entry_events
from headwater.values.instant import to_micros
from headwater.values.url import REDACTED, redacted


@dataclass(frozen=True, slots=True)
class Unread:
    """A payload that gives no entries: why."""

    fetch_id: str
    code: str
    detail: str


@dataclass(slots=True)
class Reparsed:
    """What some payloads of a feed say now. `next` is the last of them while there are more."""

    payloads: int = 0
    same: int = 0
    differences: list[tuple[str, Difference]] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    next: str | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """One payload beside what we have: `changes` are to be written, `differences` to be told."""

    changes: Changes
    differences: tuple[Difference, ...]
    same: int


async def reparse(
    engine: Engine, feed_id: str, *, after: str | None, limit: int, dry_run: bool
) -> Reparsed:
    """Some payloads of a feed, oldest first, from the one after `after`."""
    async with engine.database.read() as view:
        feed = await schedule.rereading(view, feed_id)
        payloads = await raw_queries.documents_of(view, feed.pk, after=after, limit=limit)
    result = Reparsed(next=payloads[-1].fetch_id if len(payloads) == limit else None)
    for raw in payloads:
        result.payloads += 1
        await _reparse_one(engine, feed, raw, result, dry_run=dry_run)
    return result


async def _reparse_one(
    engine: Engine, feed: Rereading, raw: ArchivedFetch, result: Reparsed, *, dry_run: bool
) -> None:
    said = await _read(engine, feed, raw)
    if not isinstance(said, ReadFeed):
        result.unread.append(Unread(raw.fetch_id, said.code, said.detail))
        return
    async with engine.database.write() as tx:
        # Its lock keeps a visit's commit and this one apart.
        now_feed = await schedule.rereading(tx, feed.id, lock=True)
        found = await _found(tx, now_feed, raw, said)
        if found.changes != Changes() and not dry_run:
            await _write(engine, tx, now_feed, raw, said, found.changes)
    result.same += found.same
    result.differences += [(raw.fetch_id, each) for each in found.differences]


async def _read(engine: Engine, feed: Rereading, raw: ArchivedFetch) -> ReadFeed | Unreadable:
    async with engine.database.write() as tx:
        deaths = (await raws.parser_deaths(tx, [raw.body_sha256])).get(raw.body_sha256, 0)
    if deaths >= engine.rules.parser_deaths_allowed:
        return Unreadable("quarantined", "this very document killed its parser before")
    try:
        said = await _read_as_then(engine, feed, raw)
    except (RawExpired, BlobDamaged) as trouble:
        return Unreadable(trouble.code, trouble.message)
    if isinstance(said, Unreadable) and killed_its_parser(said):
        async with engine.database.write() as tx:
            await raws.note_parser_death(tx, raw.body_sha256, said.code, engine.clock.now())
    return said


async def _read_as_then(
    engine: Engine, feed: Rereading, raw: ArchivedFetch
) -> ReadFeed | Unreadable:
    """Links in a document may begin with its own address, whose secrets the archive has not."""
    readings = [
        await read_again(engine, raw, feed.id, feed.identity, url=url)
        for url in _addresses(feed, raw)
    ]
    said = readings[0]
    assert isinstance(said, ReadFeed | Unreadable), "no document was named as known"
    if any(each != said for each in readings):
        return Unreadable("address_hidden", "links in it need its address, whose secret is gone")
    return said


def _addresses(feed: Rereading, raw: ArchivedFetch) -> tuple[str, ...]:
    """Where a payload came from: the feed's own address if it is that one. Of another with a secret
    two stand-ins: what both of them make of a document does not depend on it."""
    if redacted(feed.url) == raw.url:
        return (feed.url,)
    if REDACTED not in raw.url:
        return (raw.url,)
    return raw.url, raw.url.replace(REDACTED, "")


async def _found(tx: Transaction, feed: Rereading, raw: ArchivedFetch, said: ReadFeed) -> _Found:
    texts = await kept.texts_from(tx, feed.pk, raw.fetch_id)
    memory = (await entries.recall(tx, [(feed.pk, said.entries)]))[feed.pk]
    changes = _by_place(
        compare(
            _as_of(memory, texts), memory.aliases, said.entries, room_for_new=len(said.entries)
        ),
        texts,
    )
    edited = [
        (entry, texts[key].known, difference)
        for key, entry in _shown(said, memory, changes).items()
        if key in texts
        and (difference := changed(texts[key].known.uid, texts[key].said, said_by(entry)))
    ]
    told = [
        *(Difference(entry.uid, "added", entry.title) for entry in changes.new),
        *(difference for _, _, difference in edited),
        *(Difference(k.uid, "removed", texts[k.uid_key].said["title"]) for k in changes.left),
    ]
    rewritten = tuple((entry, known) for entry, known, _ in edited)
    return _Found(
        Changes(new=changes.new, edited=rewritten, drifted=changes.drifted),
        tuple(told),
        len(texts) - len(edited) - len(changes.left),
    )


def _by_place(changes: Changes, texts: Mapping[bytes, kept.KeptText]) -> Changes:
    """An entry that stands where a known one was cut from is that one, whatever it is called."""
    places = {texts[k.uid_key].offset: k for k in changes.left}
    places.pop(None, None)
    renamed = [Drift(e, places[e.offset]) for e in changes.new if e.offset in places]
    found = {drift.entry.uid_key for drift in renamed}
    again = {drift.known.uid_key for drift in renamed}
    return replace(
        changes,
        new=tuple(e for e in changes.new if e.uid_key not in found),
        drifted=(*changes.drifted, *renamed),
        left=tuple(k for k in changes.left if k.uid_key not in again),
    )


def _shown(said: ReadFeed, memory: Memory, changes: Changes) -> dict[bytes, Entry]:
    """By the keys of the entries they are. Of a uid that is shown twice the first one counts."""
    named = {entry.uid_key for entry in said.entries}
    shown = {_key(entry, memory, named): entry for entry in reversed(said.entries)}
    return shown | {drift.known.uid_key: drift.entry for drift in changes.drifted}


def _key(entry: Entry, memory: Memory, named: set[bytes]) -> bytes:
    meant = memory.aliases.get(entry.uid_key, entry.uid_key)
    return entry.uid_key if meant in named or entry.uid_key in memory.known else meant


def _as_of(memory: Memory, texts: Mapping[bytes, kept.KeptText]) -> dict[bytes, Known]:
    """As if this payload were the newest one: present is what came from it."""
    known = {key: each._replace(present_since=None) for key, each in memory.known.items()}
    return known | {key: text.known._replace(present_since=1) for key, text in texts.items()}


async def _write(
    engine: Engine, tx: Transaction, feed: Rereading, raw: ArchivedFetch, said: ReadFeed,
    changes: Changes,
) -> None:  # fmt: skip
    """As a visit would: the entries, their history, their events, in one transaction."""
    now = engine.clock.now()
    is_newest = feed.document_hash == said.document_hash
    merged = Merged(
        feed=feed.pk,
        changes=changes,
        fetch_id=raw.fetch_id,
        now=to_micros(now),
        before=feed.documents_seen - 1,
        seen_before_at=None,
    )
    await entries.save(tx, [merged])
    if not is_newest:
        await entries.note_away(
            tx, feed.pk, [entry.uid_key for entry in changes.new], to_micros(raw.fetched_at)
        )
    await raws.keep_for_ever(tx, [raw.fetch_id])
    await log.append(tx, entry_events(feed.id, raw.fetch_id, changes, now), now)
