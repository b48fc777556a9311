"""Frozen values, made quickly.

A frozen dataclass sets each field through `object.__setattr__`, three times the cost of a plain
slot. The commonest values are therefore filled as plain objects with the same slots and then
change their class, after which nobody can change them. Measured: a quarter of a walk's time.
"""

from typing import Any, cast

from headwater.parse.document import Category, Link, Text

_become = object.__setattr__


class _Text:
    __slots__ = Text.__slots__

    def __init__(self, value: str, kind: str) -> None:
        self.value = value
        self.type = kind


class _Category:
    __slots__ = Category.__slots__

    def __init__(self, term: str, scheme: str | None, label: str | None) -> None:
        self.term = term
        self.scheme = scheme
        self.label = label


class _Link:
    __slots__ = Link.__slots__

    def __init__(self, href: str, rel: str, kind: str | None) -> None:
        self.href = href
        self.rel = rel
        self.type = kind
        self.title: str | None = None
        self.length: int | None = None
        self.hreflang: str | None = None


def text(value: str, kind: str) -> Text:
    made: Any = _Text(value, kind)
    _become(made, "__class__", Text)
    return cast(Text, made)


def category(term: str, scheme: str | None, label: str | None) -> Category:
    made: Any = _Category(term, scheme, label)
    _become(made, "__class__", Category)
    return cast(Category, made)


def link(href: str, rel: str = "alternate", kind: str | None = None) -> Link:
    """A link without title, length and language: nearly all of them."""
    made: Any = _Link(href, rel, kind)
    _become(made, "__class__", Link)
    return cast(Link, made)
