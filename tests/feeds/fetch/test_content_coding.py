"""Content codings, honest ones."""

import gzip
import time
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from headwater.feeds.fetch.content_coding import ACCEPTED, DecodedBody, decode_body

LIMIT = 10 * 1024 * 1024
TEXT = b"<rss>" + b"some words of a feed, " * 4000 + b"</rss>"


def raw_deflate(plain: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(plain) + stream.flush()


def streamed_zstd(plain: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_content_size=False).compress(plain)


@pytest.mark.parametrize(
    ("label", "body"),
    [
        (None, TEXT),
        ("", TEXT),
        ("identity", TEXT),
        ("gzip", gzip.compress(TEXT)),
        ("x-gzip", gzip.compress(TEXT)),
        (" GZip ", gzip.compress(TEXT)),
        ("gzip, identity", gzip.compress(TEXT)),
        ("identity,gzip", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("br", brotli.compress(TEXT)),
        ("zstd", zstandard.compress(TEXT)),
        ("zstd", streamed_zstd(TEXT)),
    ],
)
def test_every_coding_we_ask_for_is_undone(label: str | None, body: bytes) -> None:
    assert decode_body(body, label, max_bytes=LIMIT) == DecodedBody(TEXT)


def test_we_ask_only_for_what_we_can_undo() -> None:
    for label in ACCEPTED.split(", "):
        assert decode_body(b"rubbish", label, max_bytes=LIMIT).error == "bad_coding"


@given(st.binary(max_size=3000))
def test_what_was_compressed_comes_back(plain: bytes) -> None:
    assert decode_body(gzip.compress(plain), "gzip", max_bytes=LIMIT).body == plain
    assert decode_body(zlib.compress(plain), "deflate", max_bytes=LIMIT).body == plain
    assert decode_body(raw_deflate(plain), "deflate", max_bytes=LIMIT).body == plain
    assert decode_body(brotli.compress(plain), "br", max_bytes=LIMIT).body == plain
    assert decode_body(streamed_zstd(plain), "zstd", max_bytes=LIMIT).body == plain


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "br", "zstd"]))
def test_rubbish_is_a_value_and_never_an_exception(body: bytes, label: str) -> None:
    assert decode_body(body, label, max_bytes=1000).error in (None, "bad_coding", "body_too_large")


@pytest.mark.parametrize("cut", [1, 5, 9, 20])
@pytest.mark.parametrize(
    ("label", "body"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("br", brotli.compress(TEXT)),
        ("zstd", zstandard.compress(TEXT)),
        ("zstd", streamed_zstd(TEXT)),
    ],
)
def test_a_stream_that_ends_too_early_is_not_a_document(label: str, body: bytes, cut: int) -> None:
    assert decode_body(body[:-cut], label, max_bytes=LIMIT).error == "bad_coding"


def test_the_limit_itself_fits() -> None:
    for label, body in (
        (None, TEXT),
        ("gzip", gzip.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("br", brotli.compress(TEXT)),
        ("zstd", zstandard.compress(TEXT)),
        ("zstd", streamed_zstd(TEXT)),
    ):
        assert decode_body(body, label, max_bytes=len(TEXT)).body == TEXT
        assert decode_body(body, label, max_bytes=len(TEXT) - 1).error == "body_too_large"


SKIPPED = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"abcd"


@pytest.mark.parametrize(
    "body",
    [
        zstandard.compress(TEXT[:7]) + zstandard.compress(TEXT[7:]),
        streamed_zstd(TEXT[:7]) + streamed_zstd(TEXT[7:]),
        SKIPPED + zstandard.compress(TEXT),
        zstandard.compress(TEXT) + SKIPPED,
        zstandard.compress(TEXT) + b"rubbish",
        zstandard.ZstdCompressor(write_checksum=True).compress(TEXT[:7])
        + zstandard.compress(TEXT[7:]),
    ],
    ids=["two", "streamed", "skipped before", "skipped after", "rubbish", "checksum"],
)
def test_all_frames_of_zstd_are_read(body: bytes) -> None:
    assert decode_body(body, "zstd", max_bytes=LIMIT).body == TEXT
    assert decode_body(body, "zstd", max_bytes=len(TEXT) - 1).error == "body_too_large"


def test_a_second_frame_that_is_cut_is_told() -> None:
    body = zstandard.compress(TEXT[:7]) + zstandard.compress(TEXT[7:])
    assert decode_body(body[:-3], "zstd", max_bytes=LIMIT).error == "bad_coding"
    many = zstandard.compress(b"") * 300
    assert decode_body(many, "zstd", max_bytes=LIMIT).error == "bad_coding"


def test_a_second_member_of_gzip_is_as_whole_as_the_first() -> None:
    body = gzip.compress(TEXT[:7]) + gzip.compress(TEXT[7:])
    assert decode_body(body, "gzip", max_bytes=LIMIT).body == TEXT
    assert decode_body(body[:-3], "gzip", max_bytes=LIMIT).error == "bad_coding"
    assert decode_body(body[:-30], "gzip", max_bytes=LIMIT).error == "bad_coding"


def test_members_beyond_the_limit_are_too_much_and_not_broken() -> None:
    body = gzip.compress(b"a" * 10) + gzip.compress(b"b" * 11) + gzip.compress(b"c")
    for limit in (19, 20, 21):
        assert decode_body(body, "gzip", max_bytes=limit).error == "body_too_large"
    assert decode_body(body, "gzip", max_bytes=22).body == b"a" * 10 + b"b" * 11 + b"c"


def test_gunzip_costs_little_more_than_zlib() -> None:
    body = gzip.compress(TEXT)

    def fastest(work: object) -> float:
        assert callable(work)
        times = []
        for _ in range(30):
            started = time.thread_time()
            work()
            times.append(time.thread_time() - started)
        return min(times)

    ours = fastest(lambda: decode_body(body, "gzip", max_bytes=LIMIT))
    bare = fastest(lambda: zlib.decompress(body, 31))
    assert ours < 2 * bare + 50e-6
