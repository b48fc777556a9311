"""Facts told to other programs: what each kind of event says.

Feeds are named by their id. Their URLs go along for people, without the secrets in them: other
programs are not the ones a private feed's key was given to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headwater.values.instant import from_micros, rfc3339
from headwater.values.url import redacted

EVENT_TYPES: Mapping[str, str] = {
    "new_entry": "an entry was seen for the first time",
    "updated_entry": "an entry we know says something else now",
    "feed_moved": "a feed has a new address, after its permanent redirect proved stable",
    "feed_gone": "a feed's server said 410 often enough: we stopped visiting it",
    "feed_failing": "visits to a feed keep failing",
    "feed_recovered": "a failing feed works again",
    "feed_deleted": "a feed and all its history were deleted for good",
}


@dataclass(frozen=True, slots=True)
class Event:
    """A fact about a feed; `payload` is what consumers get."""

    type: str
    feed_id: str | None
    payload: Mapping[str, Any]


def new_entry(
    feed_id: str, uid: str, link: str | None, published: int | None, fetch_id: str, ingested: str
) -> Event:
    """`ingested` is the moment of the visit, already in words: many entries share it."""
    facts = _entry_facts(feed_id, uid, link, published, fetch_id, ingested)
    return Event("new_entry", feed_id, facts)


def updated_entry(
    feed_id: str,
    uid: str,
    link: str | None,
    published: int | None,
    fetch_id: str,
    ingested: str,
    version: int,
) -> Event:
    facts = _entry_facts(feed_id, uid, link, published, fetch_id, ingested)
    return Event("updated_entry", feed_id, facts | {"version": version})


def _entry_facts(
    feed_id: str, uid: str, link: str | None, published: int | None, fetch_id: str, ingested: str
) -> dict[str, Any]:
    return {
        "entry_uid": uid,
        "feed_id": feed_id,
        "published": None if published is None else rfc3339(from_micros(published)),
        "canonical_link": link,
        "raw_refs": [{"fetch_id": fetch_id}],
        "ingested_at": ingested,
    }


def feed_moved(feed_id: str, old: str, new: str, duplicate_of: str | None = None) -> Event:
    facts = {"feed_id": feed_id, "old_url": redacted(old), "new_url": redacted(new)}
    if duplicate_of is not None:
        facts["duplicate_of"] = duplicate_of
    return Event("feed_moved", feed_id, facts)


def feed_gone(feed_id: str, url: str) -> Event:
    return _about_feed("feed_gone", feed_id, url)


def feed_failing(feed_id: str, url: str, failures: int, code: str, detail: str) -> Event:
    return _about_feed("feed_failing", feed_id, url, failures=failures, error=code, detail=detail)


def feed_recovered(feed_id: str, url: str, failures: int) -> Event:
    return _about_feed("feed_recovered", feed_id, url, failures=failures)


def feed_deleted(feed_id: str, url: str, deleted: str) -> Event:
    return _about_feed("feed_deleted", feed_id, url, deleted_at=deleted)


def _about_feed(type: str, feed_id: str, url: str, **facts: Any) -> Event:
    return Event(type, feed_id, {"feed_id": feed_id, "url": redacted(url), **facts})
