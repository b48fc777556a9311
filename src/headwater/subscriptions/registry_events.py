"""Events about subscriptions and conflicts."""

from collections.abc import Sequence
from typing import Any

from headwater.core.values.url import redacted
from headwater.events.event import EVENT_TYPES, Event
from headwater.subscriptions.conflicts.conflict import Conflict
from headwater.subscriptions.subscription import Subscription


def subscription_created(subscription: Subscription, *, revived: bool = False) -> Event:
    """`revived`: it was removed before, and its history goes on."""
    return _about_subscription("subscription_created", subscription, revived=revived)


def subscription_changed(subscription: Subscription, changed: Sequence[str]) -> Event:
    """`changed` names the fields. Their values are not in the event: they may be secret."""
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
    """`url` is the last URL of its feed; `deleted` is a moment as RFC 3339 text."""
    return _about_subscription(
        "subscription_deleted", subscription, url=redacted(url), deleted_at=deleted, hard=hard
    )


def conflict_opened(conflict: Conflict, subscription: Subscription) -> Event:
    return _about_conflict("conflict_opened", conflict, subscription)


def conflict_resolved(conflict: Conflict, subscription: Subscription) -> Event:
    """`resolved_fetcher_id` is null when there was nothing left to choose for."""
    resolution = conflict.resolution or {}
    return _about_conflict(
        "conflict_resolved",
        conflict,
        subscription,
        resolved_fetcher_id=conflict.chosen,
        reason=resolution.get("resolution_reason"),
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
    """Only facts that everybody may see: never its config, and no secret of its URL."""
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


NEWS_TYPES = tuple(name for name in EVENT_TYPES if name.startswith(("subscription_", "conflict_")))
"""The types of events that fetchers get as news. URLs in them are without their secrets."""
