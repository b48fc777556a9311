"""The filter of a reader of events: all events, or those of some types, feeds and categories."""

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
    """An empty filter admits everything. Otherwise an event must match each field that is set.

    A category is one of the feed's own, or, for entries, one of the entry's: the exact text.
    `categorised`: only events of feeds that people gave categories, whichever these are.
    `tracked`: only events of feeds that releases are collected from, at that moment.
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
        """The fields that people can choose by."""
        return {"types": self.types, "feeds": self.feeds, "categories": self.categories}

    def admits(self, type: str, feed_id: str | None) -> bool:
        """Compare types and feeds only: an event's categories stand in the database."""
        return (not self.types or type in self.types) and (not self.feeds or feed_id in self.feeds)

    def as_json(self) -> str:
        return orjson.dumps({name: value for name, value in asdict(self).items() if value}).decode()

    @classmethod
    def from_json(cls, text: str) -> "EventFilter":
        """Read the text that `as_json` made. It was checked before it was stored."""
        stored: dict[str, Any] = orjson.loads(text)
        categorised, tracked = stored.pop("categorised", False), stored.pop("tracked", False)
        named = {name: tuple(values) for name, values in stored.items()}
        return cls(**named, categorised=categorised, tracked=tracked)


EVERYTHING = EventFilter()


def parse_event_filter(
    types: Iterable[str] = (), feeds: Iterable[str] = (), categories: Iterable[str] = ()
) -> EventFilter:
    """Keep each name once, in the order given. BadInput names the field that is wrong."""
    return EventFilter(
        tuple(dict.fromkeys(_check_type(name) for name in types)),
        _check_count("feeds", dict.fromkeys(_parse_feed_id(text) for text in feeds), MOST_FEEDS),
        _check_count(
            "categories",
            dict.fromkeys(_check_category(text) for text in categories),
            MOST_CATEGORIES,
        ),
    )


def _check_type(name: str) -> str:
    if name not in EVENT_TYPES:
        raise BadInput("There is no such type of event.", field="types", known=sorted(EVENT_TYPES))
    return name


def _parse_feed_id(text: str) -> str:
    plain = text.strip().lower()
    if _UUID.fullmatch(plain) is None:
        raise BadInput("A feed is named by its id, a UUID.", field="feeds", given=text[:100])
    return plain


def _check_category(text: str) -> str:
    if not text or len(text) > LONGEST_CATEGORY or "\x00" in text:
        raise BadInput(f"A category has 1 to {LONGEST_CATEGORY} characters.", field="categories")
    return text


def _check_count(field: str, names: Iterable[str], most: int) -> tuple[str, ...]:
    named = tuple(names)
    if len(named) > most:
        raise BadInput(f"At most {most} {field} can be named.", field=field)
    return named
