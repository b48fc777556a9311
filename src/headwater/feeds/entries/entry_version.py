"""A version of an entry as it is kept, and its line of JSON."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import orjson

from headwater.core.values.ids import index_key
from headwater.core.values.instant import EPOCH

ENTRY_EVENTS = frozenset({"new_entry", "updated_entry"})
_NO_NUMBER = 2**31


# Named tuples, not dataclasses: batches of hundreds are made and looked up while visits go on.
class VersionKey(NamedTuple):
    """Which entry of which feed, and which of its versions."""

    feed_id: str
    uid_key: bytes
    number: int


class KeptVersion(NamedTuple):
    """A version as it is stored: lists are JSON text, moments are microseconds.

    `snapshot` is JSON of what an edit replaced; what stands beside it are then the entry's
    present words. Without one, `present` is the number of the version that the words belong to.
    """

    feed_id: str
    uid_key: bytes
    number: int
    present: int
    snapshot: str | None
    uid: str
    link: str | None
    title: str | None
    summary: str | None
    content: str | None
    authors: str
    categories: str
    enclosures: str
    details: str
    published: int | None
    updated: int | None
    first_seen: int
    content_hash: str
    fetch_id: str
    offset: int | None
    length: int | None


def version_key_of(type: str, payload: Mapping[str, Any]) -> VersionKey | None:
    """None for an event that speaks of no entry."""
    if type not in ENTRY_EVENTS:
        return None
    feed_id, uid = payload.get("feed_id"), payload.get("entry_uid")
    number = payload.get("version", 1)
    if not (isinstance(feed_id, str) and isinstance(uid, str) and isinstance(number, int)):
        return None
    # A database would refuse to look for these, and the batch with it.
    is_askable = "\0" not in feed_id and number is not True and 0 < number < _NO_NUMBER
    return VersionKey(feed_id, index_key(uid), number) if is_askable else None


def version_json(kept: KeptVersion) -> bytes:
    """One line of JSON, the same each time: nothing in it changes after the version was made."""
    kept = with_own_text(kept)
    return orjson.dumps(
        {
            "entry_uid": kept.uid,
            "feed_id": kept.feed_id,
            "canonical_link": kept.link,
            "title": kept.title,
            "summary": kept.summary,
            "content": kept.content,
            "authors": orjson.Fragment(kept.authors),
            "categories": orjson.Fragment(kept.categories),
            "enclosures": orjson.Fragment(kept.enclosures),
            "published": _moment(kept.published),
            "updated": _moment(kept.updated),
            "first_seen": _moment(kept.first_seen),
            "raw_refs": (
                {"fetch_id": kept.fetch_id, "offset": kept.offset, "length": kept.length},
            ),
            "content_hash": kept.content_hash,
            "version": kept.number,
            "details": orjson.Fragment(kept.details),
        },
        option=orjson.OPT_UTC_Z,
    )


def with_own_text(kept: KeptVersion) -> KeptVersion:
    """The words beside it are then those of this very version."""
    if kept.snapshot is None:
        return kept
    said: Mapping[str, Any] = orjson.loads(kept.snapshot)
    names = ("title", "summary", "content", "authors", "categories", "enclosures", "details")
    words = {name: said[name] for name in names}
    moments = {name: said[name] for name in ("published", "updated")}
    return kept._replace(link=said["canonical_link"], **words, **moments)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else EPOCH + timedelta(microseconds=micros)
