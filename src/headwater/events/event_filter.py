"""What a reader of events wants to be told: all of it, or some types, feeds and categories."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from headwater.core.errors import BadInput
from headwater.events.event import EVENT_TYPES

MOST_FEEDS, MOST_CATEGORIES, LONGEST_CATEGORY = 1_000, 100, 1_024

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Nothing named: everything. An event must be wanted in each way that is named.

    A category is one of the feed's own, or, for entries, one of the entry's: the exact text.
    `categorised`: only what is told of feeds that people gave categories, whichever these are.
    `tracked`: only what is told of feeds that releases are collected from, at that moment.
    """

    types: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    categorised: bool = False
    tracked: bool = False

    @property
    def is_everything(self) -> bool:
        return self == EVERYTHING

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """What people can choose by."""
        return {"types": self.types, "feeds": self.feeds, "categories": self.categories}

    def admits(self, type: str, feed_id: str | None) -> bool:
        """As far as types and feeds go; what an event's categories are is in the database."""
        return (not self.types or type in self.types) and (not self.feeds or feed_id in self.feeds)

    def as_json(self) -> str:
        return orjson.dumps(
            {name: listed for name, listed in asdict(self).items() if listed}
        ).decode()

    @classmethod
    def from_json(cls, text: str) -> "EventFilter":
        """What `as_json` made: it was checked before it was kept."""
        said: dict[str, Any] = orjson.loads(text)
        categorised, tracked = said.pop("categorised", False), said.pop("tracked", False)
        named = {name: tuple(listed) for name, listed in said.items()}
        return cls(**named, categorised=categorised, tracked=tracked)


EVERYTHING = EventFilter()


def parse_event_filter(
    types: Iterable[str] = (), feeds: Iterable[str] = (), categories: Iterable[str] = ()
) -> EventFilter:
    """Each once, in the order given. BadInput names the field that is wrong."""
    return EventFilter(
        tuple(dict.fromkeys(_known_type(name) for name in types)),
        _bounded("feeds", dict.fromkeys(_feed_id(text) for text in feeds), MOST_FEEDS),
        _bounded(
            "categories", dict.fromkeys(_category(text) for text in categories), MOST_CATEGORIES
        ),
    )


def _known_type(name: str) -> str:
    if name not in EVENT_TYPES:
        raise BadInput("There is no such type of event.", field="types", known=sorted(EVENT_TYPES))
    return name


def _feed_id(text: str) -> str:
    plain = text.strip().lower()
    if _UUID.fullmatch(plain) is None:
        raise BadInput("A feed is named by its id, a UUID.", field="feeds", given=text[:100])
    return plain


def _category(text: str) -> str:
    if not text or len(text) > LONGEST_CATEGORY or "\x00" in text:
        raise BadInput(f"A category has 1 to {LONGEST_CATEGORY} characters.", field="categories")
    return text


def _bounded(field: str, listed: Iterable[str], most: int) -> tuple[str, ...]:
    named = tuple(listed)
    if len(named) > most:
        raise BadInput(f"At most {most} {field} can be named.", field=field)
    return named
