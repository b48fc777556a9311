"""Step 3 of reading a title: split it at its brackets into segments."""

import re
from typing import NamedTuple

_BRACKETS = re.compile(r"[\[\](){}]")
_OPENED_BY = {"]": "[", ")": "(", "}": "{"}

DEEPEST = 2
"""Levels of brackets that hold nothing but brackets, as `[[name][05]]`, which are opened."""
STARS = 3
"""From so many stars on, stars stand for brackets: `group★title★05★1080p`."""


class TitleSegment(NamedTuple):
    """A stretch of the title; `inside` is the bracket it stands in, or empty for free text.

    `start` and `end` are those of the content, without the brackets.
    """

    start: int
    end: int
    inside: str


def split_title(folded: str) -> list[TitleSegment]:
    """The outermost brackets and the free text between them, in order. A bracket without its
    partner is free text."""
    if folded.count("★") >= STARS:
        return _split_stars(folded)
    return _split_brackets(folded, 0, len(folded), DEEPEST)


def _split_brackets(folded: str, begin: int, finish: int, deepest: int) -> list[TitleSegment]:
    segments: list[TitleSegment] = []
    free_from = begin
    for start, end in _outermost_brackets(folded, begin, finish):
        if start > free_from:
            segments.append(TitleSegment(free_from, start, ""))
        if deepest and folded[start : start + 2] == "[[":
            segments += _split_brackets(folded, start + 1, end, deepest - 1)
        else:
            segments.append(TitleSegment(start + 1, end, folded[start]))
        free_from = end + 1
    if free_from < finish:
        segments.append(TitleSegment(free_from, finish, ""))
    return segments


def _split_stars(folded: str) -> list[TitleSegment]:
    segments: list[TitleSegment] = []
    start = 0
    for content in folded.split("★"):
        end = start + len(content)
        if content.strip():
            segments.append(TitleSegment(start, end, "★"))
        start = end + 1
    return segments


def _outermost_brackets(folded: str, begin: int, finish: int) -> list[tuple[int, int]]:
    """Where matched brackets begin and end, without those that lie in others."""
    pairs: list[tuple[int, int]] = []
    waiting: list[tuple[str, int]] = []
    open_now = {"[": 0, "(": 0, "{": 0}
    for match in _BRACKETS.finditer(folded, begin, finish):
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
