"""Facts told to other programs: what each kind of event says.

Feeds are named by their id. Their URLs go along for people, without the secrets in them: other
programs are not the ones a private feed's key was given to.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headwater.subscribe.conflict import Conflict
from headwater.subscribe.subscription import Subscription
from headwater.values.instant import rfc3339_at
from headwater.values.url import redacted

EVENT_TYPES: Mapping[str, str] = {
    "new_entry": "an entry was seen for the first time",
    "updated_entry": "an entry we know says something else now",
    "feed_moved": "a feed has a new address, after its permanent redirect proved stable",
    "feed_gone": "a feed's server said 410 often enough: we stopped visiting it",
    "feed_failing": "visits to a feed keep failing",
    "feed_recovered": "a failing feed works again",
    "subscription_created": "a source is wanted from now on, and somebody fetches it",
    "subscription_changed": "what is wanted of a source has changed",
    "subscription_assigned": "somebody else fetches a source from now on",
    "subscription_deleted": "a source is not wanted any more",
    "conflict_opened": "several fetchers are equally fit for a source: somebody is to decide",
    "conflict_resolved": "a conflict was decided, or its source is not wanted any more",
    "release_found": "a release is wanted, and will be downloaded",
    "release_held": "a release waits for a person to decide",
    "release_downloaded": "a release is in the library",
    "release_upgraded": "a better release took the place of another in the library",
    "release_failed": "a release could not be downloaded, and was given up",
    "episode_missing": "a later episode is there, and this one is not",
}


class Event(NamedTuple):
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


def subscription_created(subscription: Subscription, *, revived: bool = False) -> Event:
    """`revived`: it was wanted before, and its history goes on."""
    return _about_subscription("subscription_created", subscription, revived=revived)


def subscription_changed(subscription: Subscription, changed: Sequence[str]) -> Event:
    """`changed` names the fields; their values are the subscription's own affair."""
    return _about_subscription("subscription_changed", subscription, changed=sorted(changed))


def subscription_assigned(
    subscription: Subscription, former: Subscription, why: str | None = None
) -> Event:
    """`subscription` as it is now, `former` as it was before."""
    before = {"former_fetcher_id": former.fetcher_id, "former_fetcher": former.fetcher_name}
    return _about_subscription("subscription_assigned", subscription, **before, reason=why)


def subscription_deleted(
    subscription: Subscription, url: str, deleted: str, *, hard: bool
) -> Event:
    """`url` is where its feed lived in the end; `deleted` is a moment, already in words."""
    return _about_subscription(
        "subscription_deleted", subscription, url=redacted(url), deleted_at=deleted, hard=hard
    )


def conflict_opened(conflict: Conflict, subscription: Subscription) -> Event:
    return _about_conflict("conflict_opened", conflict, subscription)


def conflict_resolved(conflict: Conflict, subscription: Subscription) -> Event:
    """`resolved_fetcher_id` is null when there was nothing left to choose for."""
    said = conflict.resolution or {}
    return _about_conflict(
        "conflict_resolved",
        conflict,
        subscription,
        resolved_fetcher_id=conflict.chosen,
        reason=said.get("resolution_reason"),
    )


def _about_conflict(
    type: str, conflict: Conflict, subscription: Subscription, **facts: Any
) -> Event:
    return _about_subscription(
        type,
        subscription,
        conflict_id=conflict.id,
        conflict_type=conflict.type,
        candidate_fetcher_ids=list(conflict.candidates),
        **facts,
    )


def _about_subscription(type: str, subscription: Subscription, **facts: Any) -> Event:
    """What everybody may know of it: never its config, and no secret of its URL."""
    common = {
        "subscription_id": subscription.id,
        "feed_id": subscription.feed_id,
        "source_url": redacted(subscription.source_url),
        "source_type": subscription.source_type,
        "fetcher_id": subscription.fetcher_id,
        "fetcher": subscription.fetcher_name,
        "assignment_status": subscription.assignment_status,
    }
    return Event(type, subscription.feed_id, common | facts)


def _about_feed(type: str, feed_id: str, url: str, **facts: Any) -> Event:
    return Event(type, feed_id, {"feed_id": feed_id, "url": redacted(url), **facts})
