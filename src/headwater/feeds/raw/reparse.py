"""Reparse archived payloads: a better parser makes their entries anew, without a request.

Payloads are read in the order they were served. A payload decides about the entries whose present
text came from it, and about entries that were never seen. Nothing is ever deleted.
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
from headwater.feeds.merge.decide_changes import decide_changes, resolved_key
from headwater.feeds.raw import raw_rows
from headwater.feeds.raw.compare_payloads import parse_archived_body
from headwater.feeds.raw.raw_rows import ArchivedFetch
from headwater.feeds.read_document import ReadFeed, UnreadableDocument, killed_its_parser
from headwater.feeds.services import FeedServices


@dataclass(frozen=True, slots=True)
class UnreadPayload:
    """A payload without entries; `code` and `detail` say why."""

    fetch_id: str
    code: str
    detail: str


@dataclass(slots=True)
class ReparseResult:
    """The result for some payloads of a feed. `next` is the last of them while there are more."""

    payloads: int = 0
    same: int = 0
    differences: list[tuple[str, Difference]] = field(default_factory=list)
    unread: list[UnreadPayload] = field(default_factory=list)
    next: str | None = None


@dataclass(frozen=True, slots=True)
class _PayloadChanges:
    """A payload compared with the stored entries: `changes` to write, `differences` to report."""

    changes: MergeChanges
    differences: tuple[Difference, ...]
    same: int


async def reparse(
    services: FeedServices, feed_id: str, *, after: str | None, limit: int, dry_run: bool
) -> ReparseResult:
    """Reparse some payloads of a feed, oldest first, from the one after `after`."""
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
    document = await _read(services, feed, raw)
    if not isinstance(document, ReadFeed):
        result.unread.append(UnreadPayload(raw.fetch_id, document.code, document.detail))
        return
    async with services.database.write() as tx:
        # The lock keeps the commit of a visit and this one apart.
        locked_feed = await feed_rows.get_feed_to_reparse(tx, feed.id, lock=True)
        payload = await _payload_changes(tx, locked_feed, raw, document)
        if payload.changes != MergeChanges() and not dry_run:
            await _write(tx, locked_feed, raw, document, payload.changes)
    result.same += payload.same
    result.differences += [(raw.fetch_id, difference) for difference in payload.differences]


async def _read(
    services: FeedServices, feed: FeedToReparse, raw: ArchivedFetch
) -> ReadFeed | UnreadableDocument:
    async with services.database.write() as tx:
        deaths = (await raw_rows.count_parser_deaths(tx, [raw.body_sha256])).get(raw.body_sha256, 0)
    if deaths >= services.rules.parser_deaths_allowed:
        return UnreadableDocument("quarantined", "this very document killed its parser before")
    try:
        document = await _read_as_then(services, feed, raw)
    except (RawExpired, BlobDamaged) as error:
        return UnreadableDocument(error.code, error.message)
    if isinstance(document, UnreadableDocument) and killed_its_parser(document):
        async with services.database.write() as tx:
            await raw_rows.upsert_parser_death(tx, raw.body_sha256, document.code, tx.now)
    return document


async def _read_as_then(
    services: FeedServices, feed: FeedToReparse, raw: ArchivedFetch
) -> ReadFeed | UnreadableDocument:
    """Links in a document may begin with its own URL, whose secrets are not in the archive."""
    readings = [
        await parse_archived_body(services, raw, feed.id, feed.identity, url=url)
        for url in _addresses(feed, raw)
    ]
    document = readings[0]
    assert isinstance(document, ReadFeed | UnreadableDocument), "no document was named as known"
    if any(reading != document for reading in readings):
        return UnreadableDocument(
            "address_hidden", "links in it need its address, whose secret is gone"
        )
    return document


def _addresses(feed: FeedToReparse, raw: ArchivedFetch) -> tuple[str, ...]:
    """The URL that a payload came from; the feed's own one if it is the same.

    For another URL with a secret there are two stand-ins: when both give the same document, it does
    not depend on the secret.
    """
    if redacted(feed.url) == raw.url:
        return (feed.url,)
    if REDACTED not in raw.url:
        return (raw.url,)
    return raw.url, raw.url.replace(REDACTED, "")


async def _payload_changes(
    tx: Transaction, feed: FeedToReparse, raw: ArchivedFetch, document: ReadFeed
) -> _PayloadChanges:
    texts = await entry_search_rows.list_texts_from(tx, feed.pk, raw.fetch_id)
    known_entries = (await entry_rows.list_known_entries(tx, [(feed.pk, document.entries)]))[
        feed.pk
    ]
    changes = _by_place(
        decide_changes(
            _known_at_the_time(known_entries, texts),
            known_entries.aliases,
            document.entries,
            room_for_new=len(document.entries),
        ),
        texts,
    )
    edited = [
        (entry, texts[key].known, difference)
        for key, entry in _entries_by_key(document, known_entries, changes).items()
        if key in texts
        and (
            difference := diff_entry(
                texts[key].known.uid, texts[key].values, compared_values(entry)
            )
        )
    ]
    differences = [
        *(Difference(entry.uid, "added", entry.title) for entry in changes.new),
        *(difference for _, _, difference in edited),
        *(Difference(k.uid, "removed", texts[k.uid_key].values["title"]) for k in changes.left),
    ]
    rewritten = tuple((entry, known) for entry, known, _ in edited)
    return _PayloadChanges(
        MergeChanges(new=changes.new, edited=rewritten, drifted=changes.drifted),
        tuple(differences),
        len(texts) - len(edited) - len(changes.left),
    )


def _by_place(
    changes: MergeChanges, texts: Mapping[bytes, entry_search_rows.KeptText]
) -> MergeChanges:
    """An entry at the place of a known one is that entry, whatever its uid is now."""
    places = {texts[k.uid_key].offset: k for k in changes.left}
    places.pop(None, None)
    renamed = [ChangedUid(e, places[e.offset]) for e in changes.new if e.offset in places]
    renamed_uids = {drift.entry.uid_key for drift in renamed}
    still_there = {drift.known.uid_key for drift in renamed}
    return replace(
        changes,
        new=tuple(e for e in changes.new if e.uid_key not in renamed_uids),
        drifted=(*changes.drifted, *renamed),
        left=tuple(k for k in changes.left if k.uid_key not in still_there),
    )


def _entries_by_key(
    document: ReadFeed, known_entries: KnownEntries, changes: MergeChanges
) -> dict[bytes, NormalisedEntry]:
    """Entries of the document by the keys of the stored ones.

    Of a repeated uid the first counts.
    """
    named = {entry.uid_key for entry in document.entries}
    shown = {
        resolved_key(entry, known_entries.known, known_entries.aliases, named): entry
        for entry in reversed(document.entries)
    }
    return shown | {drift.known.uid_key: drift.entry for drift in changes.drifted}


def _known_at_the_time(
    known_entries: KnownEntries, texts: Mapping[bytes, entry_search_rows.KeptText]
) -> dict[bytes, KnownEntry]:
    """The known entries as if this payload were the newest: those that came from it are present."""
    known = {key: entry._replace(present_since=None) for key, entry in known_entries.known.items()}
    return known | {key: text.known._replace(present_since=1) for key, text in texts.items()}


async def _write(
    tx: Transaction, feed: FeedToReparse, raw: ArchivedFetch, document: ReadFeed,
    changes: MergeChanges,
) -> None:  # fmt: skip
    """Write as a visit would: the entries, their history, their events, in one transaction."""
    now = tx.now
    is_newest = feed.document_hash == document.document_hash
    to_save = EntriesToSave(
        feed=feed.pk,
        changes=changes,
        fetch_id=raw.fetch_id,
        now=to_micros(now),
        before=feed.documents_seen - 1,
        seen_before_at=None,
    )
    await entry_rows.save_entries(tx, [to_save])
    if not is_newest:
        await entry_rows.set_away(
            tx, feed.pk, [entry.uid_key for entry in changes.new], to_micros(raw.fetched_at)
        )
    await raw_rows.set_kept(tx, [raw.fetch_id])
    await event_rows.append_events(tx, entry_events(feed.id, raw.fetch_id, changes, now), now)
