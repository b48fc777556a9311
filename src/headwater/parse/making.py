"""Frozen values, made quickly.

A frozen dataclass sets each field through `object.__setattr__`, three times the cost of a plain
slot. The commonest values are therefore filled as plain objects with the same slots and then
change their class, after which nobody can change them. Measured for a Link: 0.7 µs and 0.2 µs.
"""

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
    made: Text = _Text(value, kind)  # type: ignore[assignment]
    _become(made, "__class__", Text)
    return made


def category(term: str, scheme: str | None, label: str | None) -> Category:
    made: Category = _Category(term, scheme, label)  # type: ignore[assignment]
    _become(made, "__class__", Category)
    return made


def link(href: str, rel: str = "alternate", kind: str | None = None) -> Link:
    """A link without title, length and language: nearly all of them."""
    made: Link = _Link(href, rel, kind)  # type: ignore[assignment]
    _become(made, "__class__", Link)
    return made
