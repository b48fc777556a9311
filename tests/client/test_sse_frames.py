"""Server-sent events as the standard reads them, however their bytes are cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.client.errors import Garbled
from headwater.client.sse_frames import Frame, FrameParser

TEXT = (
    b"\xef\xbb\xbf: Headwater\nretry: 3000\nid: 7\n\n"
    b"id: 8\nevent: new_entry\ndata: {}\n\n"
    b"\n\n\n"
    b"id:9\ndata:one\ndata: two\nunknown: field\nnonsense\n\n"
    b": ping\nid: 9\n\n"
    b"data\n\n"
)
FRAMES = [
    Frame(b"7", b"", None, 3_000),
    Frame(b"8", b"new_entry", b"{}"),
    Frame(b"9", b"", b"one\ntwo"),
    Frame(b"9", b"", None),
    Frame(None, b"", b""),
]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@given(cuts=st.lists(st.integers(0, 300), max_size=8))
def test_frames_are_the_same_however_they_are_cut(end: bytes, cuts: list[int]) -> None:
    text = TEXT.replace(b"\n", end)
    places = sorted({0, len(text), *(cut % len(text) for cut in cuts)})
    frames = FrameParser(1_000)
    found: list[Frame] = []
    for start, stop in pairwise(places):
        found += frames.feed(text[start:stop])
    assert found == FRAMES


def test_half_a_frame_is_none() -> None:
    frames = FrameParser(1_000)
    assert frames.feed(b"id: 1\ndata: {}\n") == []
    assert frames.feed(b"\n") == [Frame(b"1", b"", b"{}")]


def test_a_frame_without_an_end_is_not_kept_for_ever() -> None:
    frames = FrameParser(10_000)
    for _ in range(9):
        frames.feed(b"data: " + b"x" * 1_000)
    with pytest.raises(Garbled):
        frames.feed(b"data: " + b"x" * 1_000)


@pytest.mark.parametrize("said", [b"retry: -1", b"retry: 3s", b"retry: " + b"9" * 30, b"retry:"])
def test_a_retry_that_is_no_number_is_not_believed(said: bytes) -> None:
    (frame,) = FrameParser(1_000).feed(said + b"\n\n")
    assert frame.retry_ms is None
