"""Which feeds a published document is made of, as its name says."""

from dataclasses import dataclass
from typing import Literal

from headwater.core.errors import NotFound

ALL = "all"
CollectionKind = Literal["all", "feed", "category", "group_name", "group_number"]

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class CollectionName:
    """What a name means; `value` is the id, the category, the number or the group's name."""

    kind: CollectionKind
    value: str


def parse_collection_name(name: str) -> CollectionName:
    """`all`; `feed-ID`, `category-NAME` and `group-NAME`; a group's number; else its name.

    In this order, so that one name has one meaning. A group whose name means something else here
    is found by its number, or with `group-` in front. NotFound for what no name can be.
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
