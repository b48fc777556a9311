"""HTTP answers read strictly: the same however they are cut, and nothing that makes no sense."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.client.errors import Garbled, Unexpected, Unreachable
from headwater.client.http_answer import ResponseParser

CHUNKED = (
    b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nX-A: 1\r\nx-a: 2\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n7;name=value\r\n, world\r\n0\r\nTrailer: yes\r\n\r\n"
)
COUNTED = b"HTTP/1.1 404 Not Found\r\nContent-Length: 12\r\n\r\nhello, world"
CLOSED = b"HTTP/1.0 200 OK\r\n\r\nhello, world"


def read(pieces: list[bytes], *, closed: bool = False) -> tuple[ResponseParser, bytes]:
    incoming = ResponseParser()
    body = b"".join(incoming.feed(piece) for piece in pieces if piece)
    if closed:
        incoming.feed(b"")
    return incoming, body


@pytest.mark.parametrize("text", [CHUNKED, COUNTED, CLOSED])
@given(cuts=st.lists(st.integers(0, 300), max_size=6))
def test_an_answer_is_the_same_however_it_is_cut(text: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut % len(text) for cut in cuts)})
    pieces = [text[start:end] for start, end in pairwise(places)]
    incoming, body = read(pieces, closed=text is CLOSED)
    assert body == b"hello, world"
    assert incoming.ended
    assert incoming.head is not None
    assert incoming.head.status == (404 if text is COUNTED else 200)


def test_headers_are_found_by_lower_names_and_joined() -> None:
    incoming, _ = read([CHUNKED])
    assert incoming.head is not None
    assert incoming.head.headers["x-a"] == "1, 2"
    assert incoming.head.media_type == "text/event-stream"


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_some_answers_never_have_a_body(status: bytes) -> None:
    incoming, body = read([b"HTTP/1.1 " + status + b"\r\n\r\n"])
    assert (incoming.ended, body) == (True, b"")


@pytest.mark.parametrize("text", [CHUNKED, COUNTED])
def test_an_answer_that_breaks_off_is_no_answer(text: bytes) -> None:
    for end in range(1, len(text)):
        incoming = ResponseParser()
        incoming.feed(text[:end])
        with pytest.raises(Unreachable):
            incoming.feed(b"")


NONSENSE = {
    "not HTTP": b"SSH-2.0-OpenSSH\r\n\r\n",
    "HTTP of another age": b"HTTP/9.9 200 OK\r\n\r\n",
    "no status": b"HTTP/1.1 OK\r\n\r\n",
    "a status of two digits": b"HTTP/1.1 20 OK\r\n\r\n",
    "a status below all": b"HTTP/1.1 099 OK\r\n\r\n",
    "a header without a colon": b"HTTP/1.1 200 OK\r\nhello\r\n\r\n",
    "a folded header": b"HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "a negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "a length beyond all": b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 40 + b"\r\n\r\n",
    "length and chunks": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n",
    "another coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
}


@pytest.mark.parametrize("case", NONSENSE)
def test_what_is_no_answer_of_headwater_is_refused(case: str) -> None:
    with pytest.raises(Unexpected):
        ResponseParser().feed(NONSENSE[case])


HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
GARBLED = {
    "an endless head": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000,
    "a chunk without a size": HEAD + b"\r\nhello",
    "a size that is none": HEAD + b"-5\r\nhello",
    "a size with an underscore": HEAD + b"1_0\r\nhello",
    "a size beyond all": HEAD + b"f" * 16 + b"\r\n",
    "an endless size": HEAD + b"5;" + b"a" * 2_000,
    "a chunk longer than it said": HEAD + b"2\r\nhello\r\n",
    "endless trailers": HEAD + b"0\r\nX: " + b"a" * 70_000,
}


@pytest.mark.parametrize("case", GARBLED)
def test_what_makes_no_sense_ends_the_connection(case: str) -> None:
    with pytest.raises(Garbled):
        ResponseParser().feed(GARBLED[case])
