"""A document in sections: what may hold markup, and what is verbatim (CDATA) or a comment."""

import re
from collections.abc import Iterator
from typing import NamedTuple

MARKUP, CDATA, COMMENT = "markup", "cdata", "comment"
_CDATA, _CDATA_END = b"<![CDATA[", b"]]>"
_COMMENT, _COMMENT_END = b"<!--", b"-->"
_OPEN_ELEMENT = re.compile(rb"<([A-Za-z_][\w:.-]*+)[^<>]*+>[^<]*+\Z")
_TORN_END = re.compile(rb"\]{1,2}\s*>?\s*\Z")
_LONE_COMMENT = re.compile(rb"<!--[^<>]*+>?")
_ROOT_END = re.compile(rb"</(?:rss|feed|rdf:RDF)\s*+>", re.IGNORECASE)
# A value that was wrapped as texts are: a section means nothing in a tag.
_WRAPPED_VALUE = re.compile(rb"""(=\s*+(["']))<!\[CDATA\[([^"'<>]*?)\]\]>(?=\s*+\2)""")
_NEAR = 256


class Section(NamedTuple):
    kind: str
    text: bytes
    is_closed: bool = True


def sections(document: bytes) -> Iterator[Section]:
    """In order and without loss; found by plain searches, so that size costs next to nothing."""
    done = 0
    at = document.find(b"<!")
    while at >= 0:
        kind, ending = _kind_at(document, at)
        if not ending:
            at = document.find(b"<!", at + 2)
            continue
        if at > done:
            yield Section(MARKUP, document[done:at])
        end = document.find(ending, at + 4)
        is_closed = end >= 0
        done = end + 3 if is_closed else len(document)
        yield Section(kind, document[at:done], is_closed)
        at = document.find(b"<!", done)
    if done < len(document):
        yield Section(MARKUP, document[done:])


def _kind_at(document: bytes, at: int) -> tuple[str, bytes]:
    """And what ends it, which is nothing where no section begins."""
    if document.startswith(_CDATA, at):
        return CDATA, _CDATA_END
    return (COMMENT, _COMMENT_END) if document.startswith(_COMMENT, at) else (MARKUP, b"")


def without_wrapped_values(document: bytes) -> bytes:
    """Attributes whose value stands in a section (`url="<![CDATA[…]]>"`), without that."""
    return _WRAPPED_VALUE.sub(rb"\1\3", document) if _CDATA in document else document


def with_ends(document: bytes) -> bytes:
    """A section that nothing ends, ended where its element ends; such a comment was none.

    Left as it is in a document that was cut off before that.
    """
    if document.rfind(_CDATA) <= document.rfind(_CDATA_END) and (
        document.rfind(_COMMENT) + len(_COMMENT) <= document.rfind(_COMMENT_END)
    ):
        return document
    at, last = 0, None
    for last in sections(document):
        at += len(last.text)
    if last is None or last.is_closed:
        return document
    at -= len(last.text)
    if last.kind == CDATA:
        return _with_ended_cdata(document, at)
    has_end = _ROOT_END.search(last.text) is not None
    return document[:at] + _LONE_COMMENT.sub(b"", last.text) if has_end else document


def _with_ended_cdata(document: bytes, at: int) -> bytes:
    """Each section from `at` on, of which none has an end of its own."""
    pieces: list[bytes] = []
    done = 0
    while at >= 0:
        element = _OPEN_ELEMENT.search(document, max(0, at - _NEAR), at)
        end = document.find(b"</" + element[1], at) if element is not None else -1
        if end < 0:
            break
        torn = _TORN_END.search(document, max(at, end - 8), end)
        pieces += (document[done : torn.start() if torn else end], _CDATA_END)
        done = end
        at = document.find(_CDATA, end)
    pieces.append(document[done:])
    return b"".join(pieces)
