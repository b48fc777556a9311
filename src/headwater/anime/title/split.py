"""A title cut at its brackets: what stands inside which, and what stands free."""

import re
from typing import NamedTuple

_BRACKETS = re.compile(r"[\[\](){}]")
_OPENED_BY = {"]": "[", ")": "(", "}": "{"}

DEEPEST = 2
"""How many brackets that hold nothing but brackets are looked into: `[[name][05]]`."""
STARS = 3
"""From so many stars on, stars stand for brackets: `group★title★05★1080p`."""


class TitleSegment(NamedTuple):
    """A stretch of the title; `inside` is the bracket it stands in, or empty for free text.

    `start` and `end` are those of the content, without the brackets.
    """

    start: int
    end: int
    inside: str


def split_title(twin: str) -> list[TitleSegment]:
    """Outermost brackets and the free text between them, in order; a bracket without its partner
    is free text."""
    if twin.count("★") >= STARS:
        return _split_stars(twin)
    return _split_brackets(twin, 0, len(twin), DEEPEST)


def _split_brackets(twin: str, begin: int, finish: int, deepest: int) -> list[TitleSegment]:
    pieces: list[TitleSegment] = []
    free_from = begin
    for start, end in _outermost(twin, begin, finish):
        if start > free_from:
            pieces.append(TitleSegment(free_from, start, ""))
        if deepest and twin[start : start + 2] == "[[":
            pieces += _split_brackets(twin, start + 1, end, deepest - 1)
        else:
            pieces.append(TitleSegment(start + 1, end, twin[start]))
        free_from = end + 1
    if free_from < finish:
        pieces.append(TitleSegment(free_from, finish, ""))
    return pieces


def _split_stars(twin: str) -> list[TitleSegment]:
    pieces: list[TitleSegment] = []
    start = 0
    for content in twin.split("★"):
        end = start + len(content)
        if content.strip():
            pieces.append(TitleSegment(start, end, "★"))
        start = end + 1
    return pieces


def _outermost(twin: str, begin: int, finish: int) -> list[tuple[int, int]]:
    """Where matched brackets begin and end, without those that lie in others."""
    pairs: list[tuple[int, int]] = []
    waiting: list[tuple[str, int]] = []
    open_now = {"[": 0, "(": 0, "{": 0}
    for match in _BRACKETS.finditer(twin, begin, finish):
        mark, place = match.group(), match.start()
        if mark in open_now:
            waiting.append((mark, place))
            open_now[mark] += 1
            continue
        opener = _OPENED_BY[mark]
        if not open_now[opener]:
            continue
        opened, began = waiting.pop()
        open_now[opened] -= 1
        while opened != opener:
            opened, began = waiting.pop()
            open_now[opened] -= 1
        while pairs and pairs[-1][0] > began:
            pairs.pop()
        pairs.append((began, place))
    return pairs
