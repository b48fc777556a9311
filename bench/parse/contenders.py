"""Who parses, and what each has to hand back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import fastfeedparser
import fastfeedparser.main as fast
import feedparser
from lxml import etree

from bench.parse.corpus import ADDRESS
from bench.parse.normalised import Normalised, normalised
from headwater.parse import Document, parse

MAIN = "Headwater"
FEEDPARSER = "feedparser"
LXML_BACKEND = "fastfeedparser, lxml, normalised"
RUST_BACKEND = "fastfeedparser, Rust"
BARE = "lxml, bare tree"


@dataclass(frozen=True, slots=True)
class Contender:
    """One parser. `passes` is how often it goes over the corpus in each round."""

    name: str
    read: Callable[[bytes], object]
    reads_json: bool = True
    passes: int = 3
    has_core: bool = True


@contextmanager
def without_core() -> Iterator[None]:
    """fastfeedparser without its Rust extractor: every document takes the lxml path.

    This is the switch that its own FASTFEEDPARSER_DISABLE_CORE throws at import.
    """
    held: Any = fast._core
    fast._core = None
    try:
        yield
    finally:
        fast._core = held


def has_rust_backend() -> bool:
    """Wheels for the usual platforms carry it; the pure Python one does not."""
    return fast._core is not None


def read_by_headwater(body: bytes) -> Document:
    return parse(body, url=ADDRESS)


def _feedparser(body: bytes) -> object:
    found: object = feedparser.parse(
        body, response_headers={"content-location": ADDRESS}, sanitize_html=False
    )
    return found


def _fast(body: bytes) -> object:
    try:
        found: object = fastfeedparser.parse(body)
    except ValueError:
        return None
    return found


def _fast_normalised(body: bytes) -> Normalised | None:
    try:
        found = fastfeedparser.parse(body)
    except ValueError:
        return None
    return normalised(found, ADDRESS)


_BARE = etree.XMLParser(
    recover=True, resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False
)


def read_by_bare_lxml(body: bytes) -> object:
    try:
        tree: object = etree.fromstring(body, _BARE)
    except etree.XMLSyntaxError:
        return None
    return tree


CONTENDERS = (
    Contender(BARE, read_by_bare_lxml, reads_json=False),
    Contender(RUST_BACKEND, _fast),
    Contender(MAIN, read_by_headwater),
    Contender(LXML_BACKEND, _fast_normalised, has_core=False),
    Contender(FEEDPARSER, _feedparser, reads_json=False, passes=1),
)
