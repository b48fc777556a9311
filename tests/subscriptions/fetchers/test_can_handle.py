"""A fetcher's answer, read strictly: only a plain yes is a yes."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.subscriptions.fetchers.can_handle import encode_can_handle, parse_can_handle_answer
from headwater.subscriptions.fetchers.ports import FetcherAnswer


def test_the_question_is_a_small_object() -> None:
    assert orjson.loads(encode_can_handle("https://example.org/feed", "rss")) == {
        "source_url": "https://example.org/feed",
        "source_type": "rss",
    }


@pytest.mark.parametrize(
    ("status", "body", "verdict", "code"),
    [
        (200, b'{"can_handle": true}', "yes", "yes"),
        (200, b'{"can_handle": false}', "no", "no"),
        (200, b'{"can_handle": true, "fetcher_id": null, "priority": null}', "yes", "yes"),
        (200, b'{"can_handle": true, "fetcher_id": 1, "priority": 9223372036854775808}', "yes",
         "yes"),
        (200, b'{"can_handle": true, "priority": 1e400}', "silent", "bad_json"),
        (204, b"", "no", "no_content"),
        (204, b'{"can_handle": true}', "no", "no_content"),
        (200, b'{"can_handle": "true"}', "silent", "bad_answer"),
        (200, b'{"can_handle": 1}', "silent", "bad_answer"),
        (200, b'{"can_handle": null}', "silent", "bad_answer"),
        (200, b"{}", "silent", "bad_answer"),
        (200, b'{"can_handle": true, "admin": true}', "silent", "bad_answer"),
        (200, b"true", "silent", "bad_answer"),
        (200, b'[{"can_handle": true}]', "silent", "bad_answer"),
        (200, b"", "silent", "bad_json"),
        (200, b'{"can_handle": true', "silent", "bad_json"),
        (200, b"\xff\xfe{}", "silent", "bad_json"),
        (200, b"[" * 5_000 + b"]" * 5_000, "silent", "too_deep"),
        (200, b" " * 65_537, "silent", "body_too_large"),
        (201, b'{"can_handle": true}', "silent", "http_201"),
        (302, b'{"can_handle": true}', "silent", "http_302"),
        (404, b'{"can_handle": true}', "silent", "http_404"),
        (500, b'{"can_handle": true}', "silent", "http_500"),
    ],
)  # fmt: skip
def test_each_answer_has_one_reading(status: int, body: bytes, verdict: str, code: str) -> None:
    answer = parse_can_handle_answer(status, body)
    assert (answer.verdict, answer.code) == (verdict, code)


@given(st.binary(max_size=200))
def test_no_bytes_are_a_yes_but_an_object_that_says_so(body: bytes) -> None:
    if parse_can_handle_answer(200, body) == FetcherAnswer("yes", "yes"):
        assert orjson.loads(body)["can_handle"] is True
