"""Enough of PromQL to read our own expressions, and to refuse what Prometheus would refuse.

Numbers, selectors with matchers and ranges, functions, aggregations with `by`, arithmetic,
comparison, `and`, `or` and `unless`. What comes out is every selector, with its labels.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["vector", "range", "scalar"]

TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?)(?![\w.])|(?P<text>"(?:[^"\\]|\\.)*")
    |(?P<name>[a-zA-Z_:][\w:]*)|(?P<range>\[[^\]]*\])|(?P<sign>=~|!~|!=|==|>=|<=|[-+*/%^<>=(){},]))""",
    re.VERBOSE,
)
RANGE = re.compile(r"\[(?:\d+[smhdw]|\$__rate_interval|\$__range)\]")

FUNCTIONS: dict[str, tuple[Kind, ...]] = {
    "rate": ("range",),
    "increase": ("range",),
    "deriv": ("range",),
    "absent": ("vector",),
    "clamp_min": ("vector", "scalar"),
    "histogram_quantile": ("scalar", "vector"),
}
AGGREGATIONS: dict[str, tuple[Kind, ...]] = {
    "sum": ("vector",),
    "min": ("vector",),
    "max": ("vector",),
    "count": ("vector",),
    "topk": ("scalar", "vector"),
}
BINARY = (
    {"or"},
    {"and", "unless"},
    {"==", "!=", ">", "<", ">=", "<="},
    {"+", "-"},
    {"*", "/", "%"},
)


class NotPromql(ValueError):
    pass


@dataclass(slots=True)
class Selector:
    """A metric as it is named, what its labels must be, and by which labels it is taken apart."""

    name: str
    matchers: dict[str, tuple[str, str]] = field(default_factory=dict)
    grouped: set[str] = field(default_factory=set)
    counted_up: bool = False


def selectors(expression: str) -> list[Selector]:
    reading = _Reading(list(_tokens(expression)))
    reading.binary(0)
    if reading.left():
        raise NotPromql(f"{reading.peek()!r} stands where nothing should, in {expression}")
    return reading.found


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while text[at:].strip():
        match = TOKEN.match(text, at)
        if match is None:
            raise NotPromql(f"cannot read {text[at:]!r}")
        at = match.end()
        yield match[0].strip()


class _Reading:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self.found: list[Selector] = []

    def left(self) -> bool:
        return self._at < len(self._tokens)

    def peek(self) -> str:
        return self._tokens[self._at] if self.left() else ""

    def take(self, wanted: str | None = None) -> str:
        token = self.peek()
        if not token or (wanted is not None and token != wanted):
            raise NotPromql(f"{wanted!r} is missing, {token!r} is there")
        self._at += 1
        return token

    def binary(self, level: int) -> Kind:
        if level == len(BINARY):
            return self._one()
        kind = self.binary(level + 1)
        while self.peek() in BINARY[level]:
            sign = self.take()
            other = self.binary(level + 1)
            if "range" in (kind, other):
                raise NotPromql(f"{sign} does not take ranges")
            if level < 2 and "scalar" in (kind, other):
                raise NotPromql(f"{sign} is for vectors")
            kind = "vector" if "vector" in (kind, other) else "scalar"
        return kind

    def _one(self) -> Kind:
        token = self.take()
        if token == "(":
            kind = self.binary(0)
            self.take(")")
            return kind
        if token[0].isdigit():
            return "scalar"
        if token in AGGREGATIONS:
            return self._aggregation(token)
        if self.peek() == "(":
            if token not in FUNCTIONS:
                raise NotPromql(f"{token} is no function known here")
            self._arguments(token, FUNCTIONS[token])
            return "vector"
        return self._selector(token)

    def _aggregation(self, name: str) -> Kind:
        labels: set[str] = set()
        if self.peek() == "by":
            self.take()
            labels = set(self._names())
        before = len(self.found)
        self._arguments(name, AGGREGATIONS[name])
        for selector in self.found[before:]:
            selector.grouped |= labels
        return "vector"

    def _names(self) -> Iterator[str]:
        self.take("(")
        yield self.take()
        while self.peek() == ",":
            self.take()
            yield self.take()
        self.take(")")

    def _arguments(self, name: str, wanted: tuple[Kind, ...]) -> None:
        self.take("(")
        before, kinds = len(self.found), [self.binary(0)]
        while self.peek() == ",":
            self.take()
            kinds.append(self.binary(0))
        self.take(")")
        if tuple(kinds) != wanted:
            raise NotPromql(f"{name} takes {wanted}, not {kinds}")
        if name in ("rate", "increase"):
            for selector in self.found[before:]:
                selector.counted_up = True

    def _selector(self, name: str) -> Kind:
        selector = Selector(name)
        self.found.append(selector)
        if self.peek() == "{":
            self.take()
            while self.peek() != "}":
                label, sign, value = self.take(), self.take(), self.take()
                if sign not in ("=", "!=", "=~", "!~") or not value.startswith('"'):
                    raise NotPromql(f"{label}{sign}{value} is no matcher")
                selector.matchers[label] = (sign, value.strip('"'))
                if self.peek() == ",":
                    self.take()
            self.take()
        if self.peek().startswith("["):
            if not RANGE.fullmatch(self.take()):
                raise NotPromql(f"{name} has a range that is none")
            return "range"
        return "vector"
