"""What programs publish: items on their way into categories, each once.

Items may be kept outside the database that remembers Idempotency-Keys. So an item that its
publisher gave no name is named after the request that brought it: a second try after a crash finds
what the first one made.
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
    """Items live `days` from their arrival on. `allowed` are the only categories that there may
    be; empty: any."""

    days: float = 14.0
    allowed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item as somebody wants it published, in their words. `pub_date` is in microseconds;
    `name` is what the publisher calls it, if anything."""

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


def check_category(wish: NewItem, policy: PublishPolicy) -> None:
    """BadInput when the settings do not have its category among those that there may be."""
    if policy.allowed and wish.category not in policy.allowed:
        raise BadInput(
            f"Not a category that the settings allow: {wish.category[:100]}",
            field="category",
            allowed=sorted(policy.allowed)[:100],
        )


async def publish_items(
    services: PersonalServices,
    wishes: Sequence[NewItem],
    policy: PublishPolicy,
    *,
    request: bytes | None = None,
) -> list[AddedItem]:
    """All of them or none; one answer for each, in order. The last one is the newest.

    `request` stands for this very request, where it may come twice.
    """
    for wish in wishes:
        check_category(wish, policy)
    now = to_micros(services.clock.now())
    items = [_item(wish, place, request, now, policy) for place, wish in enumerate(wishes)]
    different = list({_key(item): item for item in reversed(items)}.values())[::-1]
    answers = await services.store.add(different)
    found = {_key(item): answer for item, answer in zip(different, answers, strict=True)}
    count_published_items("program", sum(answer.is_new for answer in answers))
    logger.info("items_published", items=len(items), new=sum(answer.is_new for answer in answers))
    first = {_key(item): place for place, item in reversed(list(enumerate(items)))}
    return [
        found[key] if first[key] == place else replace(found[key], is_new=False)
        for place, key in enumerate(map(_key, items))
    ]


def request_mark(key: bytes | None, body: bytes) -> bytes | None:
    """What stands for a request under an Idempotency-Key: used for another one, once it is free
    again, it is another mark."""
    return None if key is None else sha256(key + body).digest()


def _item(
    wish: NewItem, place: int, request: bytes | None, now: int, policy: PublishPolicy
) -> KeptItem:
    return KeptItem(
        category=wish.category,
        guid=str(uuid7()),
        title=wish.title,
        description=wish.description,
        link=wish.link,
        pub_date=now if wish.pub_date is None else min(wish.pub_date, now),
        arrived_at=now,
        expires_at=now + round(policy.days * _DAY),
        changed_at=now,
        content=wish.content,
        authors=wish.authors,
        enclosures=wish.enclosures,
        tags=wish.tags,
        caller_id=_caller_id(wish.name, place, request),
    )


def _caller_id(name: str | None, place: int, request: bytes | None) -> str | None:
    """What begins with another word is somebody else's: no program can take an entry's place."""
    if name is not None:
        return f"item:{name}"
    return None if request is None else f"request:{request.hex()}:{place}"


def _key(item: KeptItem) -> tuple[str, str]:
    return item.category, item.caller_id or item.guid
