"""Rows of a feed's entries, and the offers that they make: named entries, or all, page by page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from headwater.anime.candidate import Offer
from headwater.anime.release import Release
from headwater.anime.shows.preferences import Preferences
from headwater.anime.title import read_title
from headwater.anime.torrents.candidate_of_entry import candidate_of_row
from headwater.core.ports import Row, View, placeholders
from headwater.core.values.ids import index_key

_SELECT = (
    "SELECT e.uid_key, e.entry_uid, e.canonical_link, e.title, e.summary, e.content, e.enclosures,"
    " e.details, e.published, e.updated, e.first_seen FROM feeds f JOIN entries e"
    " ON e.feed_id = f.id WHERE f.feed_id = ?"
)
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class EntryRowPage:
    """Rows of entries, and the key `after` which the next page begins; None after the last page."""

    rows: Sequence[Row]
    after: bytes | None


@dataclass(frozen=True, slots=True)
class ReadOffers:
    """Offers of entries; `unreadable` are uids of entries whose rows are damaged."""

    offers: list[Offer]
    unreadable: frozenset[str]


async def list_entries_by_uid(view: View, feed_id: str, uids: Iterable[str]) -> list[Row]:
    """Rows of those of these entries that are kept."""
    keys = sorted({index_key(uid) for uid in uids})
    rows: list[Row] = []
    for start in range(0, len(keys), _AT_ONCE):
        batch = keys[start : start + _AT_ONCE]
        rows += await view.rows(
            f"{_SELECT} AND e.uid_key IN ({placeholders(len(batch))})", feed_id, *batch
        )
    return rows


async def list_entries_after(
    view: View, feed_id: str, after: bytes | None = None, limit: int = _AT_ONCE
) -> EntryRowPage:
    """One page of all entries of the feed, in an order that stays the same."""
    rows = await view.rows(
        f"{_SELECT} AND e.uid_key > ? ORDER BY e.uid_key LIMIT ?", feed_id, after or b"", limit
    )
    return EntryRowPage(rows, bytes(rows[-1].uid_key) if len(rows) == limit else None)


async def list_undecided_entries(
    view: View,
    feed_id: str,
    tracking_id: int,
    after: bytes | None = None,
    limit: int = _AT_ONCE,
) -> EntryRowPage:
    """As `list_entries_after`, but only entries that the tracking has not decided on, or that were
    edited: nobody knows whether before or after its decision."""
    rows = await view.rows(
        f"{_SELECT} AND e.uid_key > ? AND (e.version > 1 OR NOT EXISTS (SELECT 1 FROM releases r"
        " WHERE r.tracking_id = ? AND r.uid_key = e.uid_key)) ORDER BY e.uid_key LIMIT ?",
        feed_id,
        after or b"",
        tracking_id,
        limit,
    )
    return EntryRowPage(rows, bytes(rows[-1].uid_key) if len(rows) == limit else None)


async def list_entry_uids_in_log(view: View, feed_id: str, seq: int, stretch: int) -> list[str]:
    """Entries of the feed, new or edited, in the next stretch of the event log: events of the same
    visit stand there without a gap."""
    rows = await view.rows(
        "SELECT payload FROM events WHERE seq > ? AND seq <= ? AND type IN"
        " ('new_entry', 'updated_entry') AND feed_id = ? ORDER BY seq",
        seq,
        seq + stretch,
        feed_id,
    )
    return [uid for row in rows if (uid := _uid_of_event(row.payload)) is not None]


def readable_offers(rows: Iterable[Row], preferences: Preferences, feed_id: str) -> list[Offer]:
    """Offers of the rows that can be read. Pure, and slow for many: titles are read here."""
    return read_offers(rows, preferences, feed_id).offers


def read_offers(rows: Iterable[Row], preferences: Preferences, feed_id: str) -> ReadOffers:
    offers, unreadable = list[Offer](), set[str]()
    for row in rows:
        try:
            candidate = candidate_of_row(row, feed=feed_id)
            offers.append(Offer(candidate, release_from_title(candidate.title, preferences)))
        except (ValueError, TypeError, KeyError, AttributeError):
            # Its row was damaged, by hand or by a disk. Other entries must not wait for that.
            unreadable.add(row.entry_uid)
    return ReadOffers(offers, frozenset(unreadable))


def release_from_title(title: str, preferences: Preferences) -> Release:
    aliases = {alias.casefold(): name for alias, name in preferences.aliases.items()}
    return read_title(title, aliases=aliases).release


def _uid_of_event(payload: str) -> str | None:
    """None for a damaged row."""
    try:
        fields = orjson.loads(payload)
    except ValueError:
        return None
    uid = fields.get("entry_uid") if isinstance(fields, dict) else None
    return uid if isinstance(uid, str) else None
