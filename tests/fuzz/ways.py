"""The parser's two ways, compiled and plain, and how to take one of them for a while."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headwater.parse import speed
from headwater.parse.lift import Places
from headwater.parse.speed import Way


@contextmanager
def taking(way: Way) -> Iterator[None]:
    usual, speed.way = speed.way, way
    try:
        yield
    finally:
        speed.way = usual


def compiled() -> Way:
    """Where nothing was compiled the test is skipped; not where nothing may be missing."""
    if speed.COMPILED is not None:
        return speed.COMPILED
    trouble = f"the parser is not compiled: {speed.in_words()}"
    if os.environ.get("CI") == "true":
        pytest.fail(trouble)
    pytest.skip(trouble)


def eager(way: Way) -> Way:
    """The compiled way, with every text lifted that may be, however short."""

    def lifted(document: bytes) -> tuple[bytes, dict[str, str], Places]:
        return way.lifted(document, 1, 1)  # type: ignore[call-arg]

    return way._replace(lifted=lifted)
