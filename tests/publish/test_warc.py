"""Web archives: what another reader finds in them is what was served."""

import gzip
import io
import zlib
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from headwater.core.values.response import Headers
from headwater.publish.export_rows import first_id_at
from headwater.publish.warc import Capture, gzip_record, render_request, render_response, warcinfo

FETCH = "0197c1ef-aa10-7f3e-8a53-0d6f5c1f7d42"
FEED = "0197c1ef-aa10-7f3e-8a53-0d6f5c1f7d43"
MOMENT = datetime(2026, 3, 1, 12, 0, 0, 123_456, tzinfo=UTC)


def a_capture(payload: bytes = b"<rss/>", *headers: tuple[str, str], **more: Any) -> Capture:
    return Capture(
        fetch_id=FETCH,
        feed_id=FEED,
        fetched_at=MOMENT,
        url="https://posts.example/feed?a=1",
        status=more.pop("status", 200),
        request_headers=(("User-Agent", "Headwater"), ("Authorization", "REDACTED")),
        response_headers=headers or (("Content-Type", "text/xml"), ("ETag", '"1"')),
        payload=payload,
        **more,
    )


def read(archive: bytes) -> list[tuple[Any, bytes]]:
    """Every record, its digests checked; bytes as they stand in the file."""
    found = []
    for record in ArchiveIterator(io.BytesIO(archive), check_digests="raise"):
        found.append((record, record.raw_stream.read()))
        assert record.digest_checker.passed is True
    return found


@pytest.mark.parametrize("pack", [False, True])
def test_another_reader_finds_payloads_exactly_as_served(pack: bool) -> None:
    payload = gzip.compress(b"<rss>\x00\xff</rss>")
    capture = a_capture(payload, ("Content-Type", "text/xml"), ("Content-Encoding", "gzip"))
    parts = [
        warcinfo("Headwater/1", MOMENT, "Feeds"),
        render_response(capture),
        render_request(capture),
    ]
    archive = b"".join(gzip_record(part) if pack else part for part in parts)
    (info, said), (answer, body), (asked, nothing) = read(archive)
    assert info.rec_type == "warcinfo"
    assert b"software: Headwater/1\r\n" in said
    assert b"format: WARC File Format 1.1\r\n" in said
    assert answer.rec_type == "response"
    assert answer.rec_headers.protocol == "WARC/1.1"
    assert answer.rec_headers["WARC-Record-ID"] == f"<urn:uuid:{FETCH}>"
    assert answer.rec_headers["WARC-Target-URI"] == "https://posts.example/feed?a=1"
    assert answer.rec_headers["WARC-Date"] == "2026-03-01T12:00:00.123456Z"
    assert answer.rec_headers["Headwater-Feed-ID"] == FEED
    assert answer.http_headers.get_statuscode() == "200"
    assert answer.http_headers["Content-Encoding"] == "gzip"
    assert (body, sha256(body).digest()) == (payload, sha256(payload).digest())
    assert asked.rec_type == "request"
    assert asked.rec_headers["WARC-Concurrent-To"] == f"<urn:uuid:{FETCH}>"
    assert asked.http_headers.protocol == "GET"
    assert asked.http_headers["Authorization"] == "REDACTED"
    assert nothing == b""


def test_a_changed_payload_does_not_pass_the_check() -> None:
    archive = render_response(a_capture(b"as served")).replace(b"as served", b"As served")
    with pytest.raises(Exception, match="digest failed"):
        read(archive)


def test_a_record_is_framed_to_the_letter() -> None:
    record = render_response(a_capture(b"body", ("Vary", "a"), ("Vary", "b")))
    head, _, rest = record.partition(b"\r\n\r\n")
    assert head.startswith(b"WARC/1.1\r\nWARC-Type: response\r\n")
    block = b"HTTP/1.1 200 OK\r\nVary: a\r\nVary: b\r\n\r\nbody"
    assert f"Content-Length: {len(block)}".encode() in head
    assert rest == block + b"\r\n\r\n"


def test_one_gzip_member_for_each_record() -> None:
    first, second = gzip_record(b"one"), gzip_record(b"two")
    unpacker = zlib.decompressobj(31)
    assert unpacker.decompress(first + second) == b"one"
    assert unpacker.unused_data == second
    assert first == gzip_record(b"one")


def test_a_transfer_coding_that_is_gone_is_not_undone_again() -> None:
    capture = a_capture(b"5\r\nplain\r\n", ("Transfer-Encoding", "chunked"))
    ((record, body),) = read(render_response(capture))
    assert record.http_headers["Transfer-Encoding"] is None
    assert record.http_headers["X-Archive-Orig-Transfer-Encoding"] == "chunked"
    assert body == b"5\r\nplain\r\n"


@pytest.mark.parametrize(
    ("error", "reason"),
    [("body_too_large", "length"), ("idle_timeout", "time"), ("connection_lost", "unspecified")],
)
def test_a_payload_that_was_cut_says_why(error: str, reason: str) -> None:
    ((record, _),) = read(render_response(a_capture(truncated=True, error=error)))
    assert record.rec_headers["WARC-Truncated"] == reason


def test_hostile_headers_stay_inside_their_lines() -> None:
    hostile: Headers = (
        ("X-Evil", "a\r\n\r\nHTTP/1.1 200 OK\r\nInjected: yes"),
        ("Bad Name:\r\nInjected", "x"),
        ("", "nameless"),
        ("X-Latin", "caf\xe9"),
        ("X-Wide", "水\ud800"),
    )
    capture = a_capture(b"body", *hostile)
    ((record, body),) = read(render_response(capture))
    names = [name for name, _ in record.http_headers.headers]
    assert names == ["X-Evil", "Bad_Name_Injected", "_", "X-Latin", "X-Wide"]
    assert record.http_headers["Injected"] is None
    assert body == b"body"
    assert b"X-Latin: caf\xe9\r\n" in render_response(capture)


def test_an_odd_status_and_an_odd_address_are_written_too() -> None:
    odd = a_capture(b"x", status=599)
    assert b"HTTP/1.1 599 \r\n" in render_response(odd)
    broken = Capture(FETCH, FEED, MOMENT, "https://a.example/x\r\nInjected: 1", 200, (), (), b"x")
    ((record, _),) = read(render_request(broken))
    assert record.rec_headers["WARC-Target-URI"] == "https://a.example/xInjected:1"
    assert record.http_headers["Host"] == "a.example"


def test_the_first_id_of_a_moment_sorts_before_all_of_that_moment() -> None:
    assert first_id_at(MOMENT) == "019ca945-0a7b-7000-8000-000000000000"
    assert first_id_at(datetime(1970, 1, 1, tzinfo=UTC)).startswith("00000000-0000-7000-")
