"""A version of an entry as it is stored, and its line of JSON."""

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
    """Names one version of one entry of a feed."""

    feed_id: str
    uid_key: bytes
    number: int


class KeptVersion(NamedTuple):
    """A version as it is stored: lists are JSON text, moments are microseconds.

    `snapshot` is JSON of the content that an edit replaced; the fields beside it then hold the
    entry's present content. Without a snapshot, `present` is the version that the fields belong to.
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
    """None for an event that is not about an entry."""
    if type not in ENTRY_EVENTS:
        return None
    feed_id, uid = payload.get("feed_id"), payload.get("entry_uid")
    number = payload.get("version", 1)
    if not (isinstance(feed_id, str) and isinstance(uid, str) and isinstance(number, int)):
        return None
    # A database would refuse to look for these, and refuse the whole batch with them.
    is_askable = "\0" not in feed_id and number is not True and 0 < number < _NO_NUMBER
    return VersionKey(feed_id, index_key(uid), number) if is_askable else None


def version_json(version: KeptVersion) -> bytes:
    """One line of JSON, always the same: nothing in it changes after the version was made."""
    version = with_own_text(version)
    return orjson.dumps(
        {
            "entry_uid": version.uid,
            "feed_id": version.feed_id,
            "canonical_link": version.link,
            "title": version.title,
            "summary": version.summary,
            "content": version.content,
            "authors": orjson.Fragment(version.authors),
            "categories": orjson.Fragment(version.categories),
            "enclosures": orjson.Fragment(version.enclosures),
            "published": _moment(version.published),
            "updated": _moment(version.updated),
            "first_seen": _moment(version.first_seen),
            "raw_refs": (
                {"fetch_id": version.fetch_id, "offset": version.offset, "length": version.length},
            ),
            "content_hash": version.content_hash,
            "version": version.number,
            "details": orjson.Fragment(version.details),
        },
        option=orjson.OPT_UTC_Z,
    )


def with_own_text(version: KeptVersion) -> KeptVersion:
    """The version with its own content in the fields, taken from the snapshot if there is one."""
    if version.snapshot is None:
        return version
    content: Mapping[str, Any] = orjson.loads(version.snapshot)
    names = ("title", "summary", "content", "authors", "categories", "enclosures", "details")
    texts = {name: content[name] for name in names}
    moments = {name: content[name] for name in ("published", "updated")}
    return version._replace(link=content["canonical_link"], **texts, **moments)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else EPOCH + timedelta(microseconds=micros)
