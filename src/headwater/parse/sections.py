"""A document in sections: what may hold markup, and what is verbatim (CDATA) or a comment."""

from collections.abc import Iterator
from typing import NamedTuple

MARKUP, CDATA, COMMENT = "markup", "cdata", "comment"


class Section(NamedTuple):
    kind: str
    text: bytes
    is_closed: bool = True


def sections(document: bytes) -> Iterator[Section]:
    """In order and without loss; found by plain searches, so that size costs next to nothing."""
    done = 0
    at = document.find(b"<!")
    while at >= 0:
        kind = _kind_at(document, at)
        if kind is None:
            at = document.find(b"<!", at + 2)
            continue
        if at > done:
            yield Section(MARKUP, document[done:at])
        ending = b"]]>" if kind == CDATA else b"-->"
        end = document.find(ending, at + 4)
        is_closed = end >= 0
        done = end + 3 if is_closed else len(document)
        yield Section(kind, document[at:done], is_closed)
        at = document.find(b"<!", done)
    if done < len(document):
        yield Section(MARKUP, document[done:])


def _kind_at(document: bytes, at: int) -> str | None:
    if document.startswith(b"<![CDATA[", at):
        return CDATA
    return COMMENT if document.startswith(b"<!--", at) else None
