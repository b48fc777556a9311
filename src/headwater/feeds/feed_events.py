"""Events about feeds and their entries."""

from typing import Any

from headwater.core.values.instant import rfc3339_at
from headwater.core.values.url import redacted
from headwater.events.event import Event


def new_entry_event(
    feed_id: str, uid: str, link: str | None, published: int | None, fetch_id: str, ingested: str
) -> Event:
    """`ingested` is the moment of the visit, formatted once because many entries share it."""
    facts = _entry_facts(feed_id, uid, link, published, fetch_id, ingested)
    return Event("new_entry", feed_id, facts)


def updated_entry_event(
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
        "published": None if published is None else rfc3339_at(published),
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


def _about_feed(type: str, feed_id: str, url: str, **facts: Any) -> Event:
    return Event(type, feed_id, {"feed_id": feed_id, "url": redacted(url), **facts})
