"""Validators go back exactly as they came, as a pair of one response."""

import pytest

from headwater.core.values.response import Validators
from headwater.feeds.fetch.validators import condition_headers, validators_of


def test_both_validators_are_sent_back_verbatim() -> None:
    validators = Validators('W/"a b-c"', "Garbage, 99 Foo 0000")
    assert condition_headers(validators) == (
        ("If-None-Match", 'W/"a b-c"'),
        ("If-Modified-Since", "Garbage, 99 Foo 0000"),
    )
    assert condition_headers(Validators()) == ()
    assert condition_headers(Validators(etag='"x"')) == (("If-None-Match", '"x"'),)


def test_the_pair_comes_from_one_response() -> None:
    headers = (("etag", '"x"'), ("Last-Modified", "Sun, 15 Nov 2026 10:00:00 GMT"))
    assert validators_of(headers) == Validators('"x"', "Sun, 15 Nov 2026 10:00:00 GMT")
    assert validators_of((("ETag", '"y"'),)) == Validators('"y"', None)
    assert validators_of(()) == Validators()


@pytest.mark.parametrize(
    "value", ['"a\x01b\xff"', '"\u00fc"', "", "x" * 1025, '"a\tb"', '"a\x7fb"']
)
def test_what_cannot_be_sent_back_is_dropped(value: str) -> None:
    assert validators_of((("ETag", value), ("Last-Modified", value))) == Validators()


def test_a_validator_of_1024_bytes_is_kept() -> None:
    assert validators_of((("ETag", "x" * 1024),)).etag == "x" * 1024


def test_validators_that_contradict_each_other_are_dropped() -> None:
    headers = (("ETag", '"x"'), ("ETag", '"y"'), ("Last-Modified", "now"))
    assert validators_of(headers) == Validators(None, "now")
    assert validators_of((("ETag", '"x"'), ("etag", '"x"'))).etag == '"x"'
