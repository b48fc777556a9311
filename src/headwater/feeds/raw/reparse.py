"""Reparse what is archived: entries are made anew, without a request, as a better parser sees them.

Payloads are read in the order they were served. A payload speaks for the entries whose present text
came from it, and for entries that nobody has seen yet. Nothing is ever deleted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headwater.core.errors import BlobDamaged, RawExpired
from headwater.core.ports import Transaction
from headwater.core.values.instant import to_micros
from headwater.core.values.url import REDACTED, redacted
from headwater.events import event_rows
from headwater.feeds import feed_rows
from headwater.feeds.entries import entry_rows, entry_search_rows
from headwater.feeds.entries.diff_entries import Difference, compared_values, diff_entry
from headwater.feeds.entries.entry import KnownEntry, NormalisedEntry
from headwater.feeds.entries.entry_changes import ChangedUid, MergeChanges
from headwater.feeds.entries.entry_rows import EntriesToSave, KnownEntries
from headwater.feeds.feed_rows import FeedToReparse
from headwater.feeds.judge_visit import entry_events
from headwater.feeds.merge.decide_changes import decide_changes
from headwater.feeds.raw import raw_rows
from headwater.feeds.raw.compare_payloads import parse_archived_body
from headwater.feeds.raw.raw_rows import ArchivedFetch
from headwater.feeds.read_document import ReadFeed, UnreadableDocument, killed_its_parser
from headwater.feeds.services import FeedServices


@dataclass(frozen=True, slots=True)
class UnreadPayload:
    """A payload that gives no entries: why."""

    fetch_id: str
    code: str
    detail: str


@dataclass(slots=True)
class ReparseResult:
    """What some payloads of a feed say now. `next` is the last of them while there are more."""

    payloads: int = 0
    same: int = 0
    differences: list[tuple[str, Difference]] = field(default_factory=list)
    unread: list[UnreadPayload] = field(default_factory=list)
    next: str | None = None


@dataclass(frozen=True, slots=True)
class _PayloadChanges:
    """One payload beside what we have: `changes` are to be written, `differences` to be told."""

    changes: MergeChanges
    differences: tuple[Difference, ...]
    same: int


async def reparse(
    services: FeedServices, feed_id: str, *, after: str | None, limit: int, dry_run: bool
) -> ReparseResult:
    """Some payloads of a feed, oldest first, from the one after `after`."""
    async with services.database.read() as view:
        feed = await feed_rows.get_feed_to_reparse(view, feed_id)
        payloads = await raw_rows.list_documents(view, feed.pk, after=after, limit=limit)
    result = ReparseResult(next=payloads[-1].fetch_id if len(payloads) == limit else None)
    for raw in payloads:
        result.payloads += 1
        await _reparse_one(services, feed, raw, result, dry_run=dry_run)
    return result


async def _reparse_one(
    services: FeedServices,
    feed: FeedToReparse,
    raw: ArchivedFetch,
    result: ReparseResult,
    *,
    dry_run: bool,
) -> None:
    said = await _read(services, feed, raw)
    if not isinstance(said, ReadFeed):
        result.unread.append(UnreadPayload(raw.fetch_id, said.code, said.detail))
        return
    async with services.database.write() as tx:
        # Its lock keeps a visit's commit and this one apart.
        now_feed = await feed_rows.get_feed_to_reparse(tx, feed.id, lock=True)
        found = await _payload_changes(tx, now_feed, raw, said)
        if found.changes != MergeChanges() and not dry_run:
            await _write(tx, now_feed, raw, said, found.changes)
    result.same += found.same
    result.differences += [(raw.fetch_id, each) for each in found.differences]


async def _read(
    services: FeedServices, feed: FeedToReparse, raw: ArchivedFetch
) -> ReadFeed | UnreadableDocument:
    async with services.database.write() as tx:
        deaths = (await raw_rows.count_parser_deaths(tx, [raw.body_sha256])).get(raw.body_sha256, 0)
    if deaths >= services.rules.parser_deaths_allowed:
        return UnreadableDocument("quarantined", "this very document killed its parser before")
    try:
        said = await _read_as_then(services, feed, raw)
    except (RawExpired, BlobDamaged) as trouble:
        return UnreadableDocument(trouble.code, trouble.message)
    if isinstance(said, UnreadableDocument) and killed_its_parser(said):
        async with services.database.write() as tx:
            await raw_rows.upsert_parser_death(tx, raw.body_sha256, said.code, tx.now)
    return said


async def _read_as_then(
    services: FeedServices, feed: FeedToReparse, raw: ArchivedFetch
) -> ReadFeed | UnreadableDocument:
    """Links in a document may begin with its own address, whose secrets the archive has not."""
    readings = [
        await parse_archived_body(services, raw, feed.id, feed.identity, url=url)
        for url in _addresses(feed, raw)
    ]
    said = readings[0]
    assert isinstance(said, ReadFeed | UnreadableDocument), "no document was named as known"
    if any(each != said for each in readings):
        return UnreadableDocument(
            "address_hidden", "links in it need its address, whose secret is gone"
        )
    return said


def _addresses(feed: FeedToReparse, raw: ArchivedFetch) -> tuple[str, ...]:
    """Where a payload came from: the feed's own address if it is that one. Of another with a secret
    two stand-ins: what both of them make of a document does not depend on it."""
    if redacted(feed.url) == raw.url:
        return (feed.url,)
    if REDACTED not in raw.url:
        return (raw.url,)
    return raw.url, raw.url.replace(REDACTED, "")


async def _payload_changes(
    tx: Transaction, feed: FeedToReparse, raw: ArchivedFetch, said: ReadFeed
) -> _PayloadChanges:
    texts = await entry_search_rows.list_texts_from(tx, feed.pk, raw.fetch_id)
    memory = (await entry_rows.list_known_entries(tx, [(feed.pk, said.entries)]))[feed.pk]
    changes = _by_place(
        decide_changes(
            _known_at_the_time(memory, texts),
            memory.aliases,
            said.entries,
            room_for_new=len(said.entries),
        ),
        texts,
    )
    edited = [
        (entry, texts[key].known, difference)
        for key, entry in _entries_by_key(said, memory, changes).items()
        if key in texts
        and (
            difference := diff_entry(texts[key].known.uid, texts[key].said, compared_values(entry))
        )
    ]
    told = [
        *(Difference(entry.uid, "added", entry.title) for entry in changes.new),
        *(difference for _, _, difference in edited),
        *(Difference(k.uid, "removed", texts[k.uid_key].said["title"]) for k in changes.left),
    ]
    rewritten = tuple((entry, known) for entry, known, _ in edited)
    return _PayloadChanges(
        MergeChanges(new=changes.new, edited=rewritten, drifted=changes.drifted),
        tuple(told),
        len(texts) - len(edited) - len(changes.left),
    )


def _by_place(
    changes: MergeChanges, texts: Mapping[bytes, entry_search_rows.KeptText]
) -> MergeChanges:
    """An entry that stands where a known one was cut from is that one, whatever it is called."""
    places = {texts[k.uid_key].offset: k for k in changes.left}
    places.pop(None, None)
    renamed = [ChangedUid(e, places[e.offset]) for e in changes.new if e.offset in places]
    found = {drift.entry.uid_key for drift in renamed}
    again = {drift.known.uid_key for drift in renamed}
    return replace(
        changes,
        new=tuple(e for e in changes.new if e.uid_key not in found),
        drifted=(*changes.drifted, *renamed),
        left=tuple(k for k in changes.left if k.uid_key not in again),
    )


def _entries_by_key(
    said: ReadFeed, memory: KnownEntries, changes: MergeChanges
) -> dict[bytes, NormalisedEntry]:
    """By the keys of the entries they are. Of a uid that is shown twice the first one counts."""
    named = {entry.uid_key for entry in said.entries}
    shown = {_key(entry, memory, named): entry for entry in reversed(said.entries)}
    return shown | {drift.known.uid_key: drift.entry for drift in changes.drifted}


def _key(entry: NormalisedEntry, memory: KnownEntries, named: set[bytes]) -> bytes:
    meant = memory.aliases.get(entry.uid_key, entry.uid_key)
    return entry.uid_key if meant in named or entry.uid_key in memory.known else meant


def _known_at_the_time(
    memory: KnownEntries, texts: Mapping[bytes, entry_search_rows.KeptText]
) -> dict[bytes, KnownEntry]:
    """As if this payload were the newest one: present is what came from it."""
    known = {key: each._replace(present_since=None) for key, each in memory.known.items()}
    return known | {key: text.known._replace(present_since=1) for key, text in texts.items()}


async def _write(
    tx: Transaction, feed: FeedToReparse, raw: ArchivedFetch, said: ReadFeed,
    changes: MergeChanges,
) -> None:  # fmt: skip
    """As a visit would: the entries, their history, their events, in one transaction."""
    now = tx.now
    is_newest = feed.document_hash == said.document_hash
    merged = EntriesToSave(
        feed=feed.pk,
        changes=changes,
        fetch_id=raw.fetch_id,
        now=to_micros(now),
        before=feed.documents_seen - 1,
        seen_before_at=None,
    )
    await entry_rows.save_entries(tx, [merged])
    if not is_newest:
        await entry_rows.set_away(
            tx, feed.pk, [entry.uid_key for entry in changes.new], to_micros(raw.fetched_at)
        )
    await raw_rows.set_kept(tx, [raw.fetch_id])
    await event_rows.append_events(tx, entry_events(feed.id, raw.fetch_id, changes, now), now)
