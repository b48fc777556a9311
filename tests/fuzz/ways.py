"""The parser's two ways, compiled and plain, and how to take one of them for a while."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headwater.parse import accelerator
from headwater.parse.accelerator import ParserBackend
from headwater.parse.lift import Places


@contextmanager
def taking(way: ParserBackend) -> Iterator[None]:
    usual, accelerator.in_use = accelerator.in_use, way
    try:
        yield
    finally:
        accelerator.in_use = usual


def compiled() -> ParserBackend:
    """Where nothing was compiled the test is skipped; not where nothing may be missing."""
    if accelerator.COMPILED is not None:
        return accelerator.COMPILED
    trouble = f"the parser is not compiled: {accelerator.describe()}"
    if os.environ.get("CI") == "true":
        pytest.fail(trouble)
    pytest.skip(trouble)


def eager(way: ParserBackend) -> ParserBackend:
    """The compiled way, with every text lifted that may be, however short."""

    def lifted(document: bytes) -> tuple[bytes, dict[str, str], Places]:
        return way.lifted(document, 1, 1)  # type: ignore[call-arg]

    return way._replace(lifted=lifted)
