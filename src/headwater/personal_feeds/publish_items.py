"""Publish items of programs into categories, each item once.

Items may be stored outside the database that has the Idempotency-Keys. So an item without a name of
its publisher is named after its request: a second try after a crash finds the items of the first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from uuid_utils import uuid7

from headwater.core.errors import BadInput
from headwater.core.telemetry.log import get_logger
from headwater.core.values.instant import to_micros
from headwater.personal_feeds.metrics import count_published_items
from headwater.personal_feeds.ports import AddedItem, ItemAttachment, KeptItem
from headwater.personal_feeds.services import PersonalServices

_DAY = 86_400_000_000

logger = get_logger("items")


@dataclass(frozen=True, slots=True)
class PublishPolicy:
    """Rules for published items. They live `days` from their arrival on. `allowed` are the only
    categories that there may be; empty: any."""

    days: float = 14.0
    allowed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to be published. `pub_date` is in microseconds; `name` is the publisher's own name
    for it, if there is one."""

    title: str
    description: str
    link: str
    category: str
    pub_date: int | None = None
    content: str | None = None
    authors: tuple[str, ...] = ()
    enclosures: tuple[ItemAttachment, ...] = ()
    tags: tuple[str, ...] = ()
    name: str | None = None


def check_category(item: NewItem, policy: PublishPolicy) -> None:
    """BadInput when the settings do not allow its category."""
    if policy.allowed and item.category not in policy.allowed:
        raise BadInput(
            f"Not a category that the settings allow: {item.category[:100]}",
            field="category",
            allowed=sorted(policy.allowed)[:100],
        )


async def publish_items(
    services: PersonalServices,
    new_items: Sequence[NewItem],
    policy: PublishPolicy,
    *,
    request: bytes | None = None,
) -> list[AddedItem]:
    """Publish all of them or none; one result for each, in order. The last one is the newest.

    `request` is the mark of this request, where it may come twice.
    """
    for new in new_items:
        check_category(new, policy)
    now = to_micros(services.clock.now())
    items = [_item_of(new, place, request, now, policy) for place, new in enumerate(new_items)]
    distinct = list({_key(item): item for item in reversed(items)}.values())[::-1]
    added = await services.store.add(distinct)
    results = {_key(item): result for item, result in zip(distinct, added, strict=True)}
    count_published_items("program", sum(result.is_new for result in added))
    logger.info("items_published", items=len(items), new=sum(result.is_new for result in added))
    first = {_key(item): place for place, item in reversed(list(enumerate(items)))}
    return [
        results[key] if first[key] == place else replace(results[key], is_new=False)
        for place, key in enumerate(map(_key, items))
    ]


def request_mark(key: bytes | None, body: bytes) -> bytes | None:
    """The mark of a request with an Idempotency-Key. It has the body in it: a key that is free
    again may be used for another request."""
    return None if key is None else sha256(key + body).digest()


def _item_of(
    new: NewItem, place: int, request: bytes | None, now: int, policy: PublishPolicy
) -> KeptItem:
    return KeptItem(
        category=new.category,
        guid=str(uuid7()),
        title=new.title,
        description=new.description,
        link=new.link,
        pub_date=now if new.pub_date is None else min(new.pub_date, now),
        arrived_at=now,
        expires_at=now + round(policy.days * _DAY),
        changed_at=now,
        content=new.content,
        authors=new.authors,
        enclosures=new.enclosures,
        tags=new.tags,
        caller_id=_caller_id(new.name, place, request),
    )


def _caller_id(name: str | None, place: int, request: bytes | None) -> str | None:
    """The prefix keeps names of programs apart from those of entries: none can replace an entry."""
    if name is not None:
        return f"item:{name}"
    return None if request is None else f"request:{request.hex()}:{place}"


def _key(item: KeptItem) -> tuple[str, str]:
    return item.category, item.caller_id or item.guid
