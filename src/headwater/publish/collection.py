"""A collection's name: it says which feeds a published document is made of."""

from dataclasses import dataclass
from typing import Literal

from headwater.core.errors import NotFound

ALL = "all"
CollectionKind = Literal["all", "feed", "category", "group_name", "group_number"]

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class CollectionName:
    """A parsed name. `value` is the id, the category, the number or the group's name."""

    kind: CollectionKind
    value: str


def parse_collection_name(name: str) -> CollectionName:
    """Parse `all`; `feed-ID`, `category-NAME` and `group-NAME`; a group's number; else its name.

    The order gives each name one meaning. A group whose name means something else here is found
    by its number, or with `group-` in front. NotFound for a text that cannot be a name.
    """
    if "\x00" in name:  # PostgreSQL holds no such text, and would refuse to look for it
        raise no_such_collection()
    if name == ALL:
        return CollectionName("all", "")
    kind, dash, rest = name.partition("-")
    if dash and kind == "feed":
        return CollectionName("feed", rest)
    if dash and kind == "category":
        return CollectionName("category", rest)
    if dash and kind == "group":
        return CollectionName("group_name", rest)
    if name.isascii() and name.isdigit() and len(name) < 20 and int(name) <= _LARGEST:
        return CollectionName("group_number", name)
    return CollectionName("group_name", name)


def no_such_collection() -> NotFound:
    return NotFound("There is no such collection.", what="collection")
