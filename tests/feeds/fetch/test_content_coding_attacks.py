"""Bombs and lies in content codings: bounded work, typed errors, the bytes as served kept."""

import gzip
import resource
import time
import tracemalloc
import zlib
from collections.abc import Callable
from functools import cache
from io import BytesIO

import brotli
import pytest
import zstandard

from headwater.core.values.response import Validators, header
from headwater.feeds.fetch.content_coding import DecodedBody, decode_body
from headwater.feeds.fetch.outcome import Fetched
from headwater.feeds.fetch.request_feed import FetchPolicy, FetchRequest, fetch_url
from tests.support.clock import VirtualClock
from tests.support.site import LOOPBACK, Site, a_web, response

LIMIT = 10 * 1024 * 1024
PIECE = b"\0" * (1024 * 1024)


def gzip_bomb(pieces: int) -> bytes:
    stream = zlib.compressobj(9, wbits=31)
    return b"".join([*(stream.compress(PIECE) for _ in range(pieces)), stream.flush()])


def brotli_bomb(pieces: int) -> bytes:
    stream = brotli.Compressor(quality=5, lgwin=24)
    return b"".join([*(stream.process(PIECE) for _ in range(pieces)), stream.finish()])


def zstd_bomb(pieces: int) -> bytes:
    out = BytesIO()
    with zstandard.ZstdCompressor().stream_writer(out, closefd=False) as stream:
        for _ in range(pieces):
            stream.write(PIECE)
    return out.getvalue()


def deflate_bomb(pieces: int, window: int) -> bytes:
    stream = zlib.compressobj(9, wbits=window)
    return b"".join([*(stream.compress(PIECE) for _ in range(pieces)), stream.flush()])


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "gzip": ("gzip", lambda: gzip_bomb(256)),  # 66
    "brotli": ("br", lambda: brotli_bomb(1024)),  # 67
    "zstd": ("zstd", lambda: zstd_bomb(1024)),
    "zstd that announces its size": ("zstd", lambda: zstandard.compress(b"\0" * 64 * len(PIECE))),
    "deflate": ("deflate", lambda: deflate_bomb(128, 15)),
    "raw deflate": ("deflate", lambda: deflate_bomb(128, -15)),
    "second member of a gzip": ("gzip", lambda: gzip.compress(b"hello") + gzip_bomb(256)),  # 70
    "a crowd of zstd frames": ("zstd", lambda: zstandard.compress(b"\0" * 500_000) * 200),
    "a thousand members": ("gzip", lambda: gzip.compress(b"\0" * 500_000) * 200),
}
"""By name: the label, and how it is made. Making them takes seconds, so not while collecting."""


@cache
def bomb(name: str) -> bytes:
    return BOMBS[name][1]()


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_stops_at_the_limit(name: str) -> None:
    label, body = BOMBS[name][0], bomb(name)
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
    result = decode_body(body, label, max_bytes=LIMIT)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert (result.body, result.error) == (b"", "body_too_large")
    assert time.thread_time() - started < 1.0
    assert grown < 64 * 1024 * 1024


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_never_held_beyond_the_limit(name: str) -> None:
    """Not even for a moment, and whatever this process had in its memory before."""
    label, body = BOMBS[name][0], bomb(name)
    tracemalloc.start()
    try:
        result = decode_body(body, label, max_bytes=1024 * 1024)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.error == "body_too_large"
    assert peak < 8 * 1024 * 1024


def test_a_zstd_window_beyond_what_a_server_may_assume_is_refused() -> None:
    window = zstandard.ZstdCompressionParameters.from_level(3, window_log=24)
    stream = zstandard.ZstdCompressor(compression_params=window).compressobj()
    body = stream.compress(b"hello") + stream.flush()
    assert decode_body(body, "zstd", max_bytes=LIMIT).error == "bad_coding"


def test_the_bombs_are_bombs() -> None:
    assert len(bomb("gzip")) * 1000 < 256 * len(PIECE)
    assert len(bomb("brotli")) < 10_000
    assert len(bomb("zstd")) < 200_000


@pytest.mark.parametrize(
    "label",
    [
        "gzip, gzip",  # 69
        "gzip,br",
        "gzip, identity, identity",
        ", ".join(["gzip"] * 5000),
        ", ".join(["identity"] * 5000),
        "gzip" * 1000,
    ],
)
def test_a_chain_of_codings_is_refused(label: str) -> None:
    body = gzip.compress(gzip.compress(b"hello"))
    assert decode_body(body, label, max_bytes=LIMIT).error == "too_many_codings"


@pytest.mark.parametrize(
    ("label", "body"),
    [
        ("gzip", gzip.compress(b"hello", mtime=0) + b"trailing rubbish"),  # 70
        ("gzip", gzip.compress(b"hel", mtime=0) + gzip.compress(b"lo", mtime=0)),
        ("gzip", gzip.compress(b"hel", mtime=0) + gzip.compress(b"lo", mtime=0) + b"\0" * 100),
        ("gzip", b"".join(gzip.compress(bytes([letter]), mtime=0) for letter in b"hello")),
        ("deflate", zlib.compress(b"hello")),
        ("deflate", zlib.compress(b"hello", wbits=-15)),
        ("deflate", zlib.compress(b"hello") + b"rubbish"),
        ("zstd", zstandard.compress(b"hello") + b"rubbish"),
    ],
)
def test_members_forms_and_trailing_rubbish_are_taken_in_stride(label: str, body: bytes) -> None:
    assert decode_body(body, label, max_bytes=LIMIT) == DecodedBody(b"hello")


def test_a_crowd_of_empty_members_is_refused_in_no_time() -> None:  # 70
    crowd = gzip.compress(b"") * 500_000
    started = time.thread_time()
    assert decode_body(crowd, "gzip", max_bytes=LIMIT).error == "bad_coding"
    assert time.thread_time() - started < 1.0


@pytest.mark.parametrize(
    ("label", "code"),
    [
        ("compress", "unsupported_coding"),  # 71
        ("utf-8", "unsupported_coding"),
        ("../../x", "unsupported_coding"),
        ("gzip", "bad_coding"),
        ("deflate", "bad_coding"),
        ("br", "bad_coding"),
        ("zstd", "bad_coding"),
    ],
)
async def test_a_label_that_lies_is_an_error_and_the_bytes_are_kept(label: str, code: str) -> None:
    plain = b"<rss>not compressed at all</rss>"
    served = response("200 OK", f"Content-Encoding: {label}", body=plain)
    async with Site(served) as site, a_web() as web:
        policy = FetchPolicy("t", address=LOOPBACK)
        outcome = await fetch_url(
            FetchRequest(site.url(), Validators()), policy, web, VirtualClock()
        )
    assert isinstance(outcome, Fetched)
    answer = outcome.exchange.answer
    assert answer.body == plain
    coding = header(answer.response_headers, "content-encoding")
    assert decode_body(answer.body, coding, max_bytes=LIMIT).error == code


@pytest.mark.parametrize("label", [None, "identity"])
def test_a_compressed_file_is_not_unpacked_by_itself(label: str | None) -> None:  # 72
    packed = gzip.compress(b"<rss/>")
    assert decode_body(packed, label, max_bytes=LIMIT).body == packed
