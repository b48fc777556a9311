"""What stands behind the question mark of a personal feed's address."""

from typing import Any

import pytest

from headwater.core.errors import Unauthorized
from headwater.core.values.instant import to_micros
from headwater.entrypoints.api.errors import BadBody
from headwater.entrypoints.api.feed_response import is_not_modified, last_modified
from headwater.entrypoints.api.personal_feeds.feed_query import (
    LONGEST_TOKEN,
    MOST_FIELDS,
    PersonalQuery,
    has_token,
    parse_feed_query,
)
from headwater.entrypoints.api.personal_feeds.feed_server import LONGEST_FIELD, accepts_gzip
from tests.support.clock import START


def refused(raw: bytes, most: int | None = 200) -> dict[str, Any]:
    with pytest.raises(BadBody) as trouble:
        parse_feed_query(raw, most)
    (said,) = trouble.value.facts["detail"]
    assert isinstance(said, dict)
    return said


def test_a_token_alone_is_all_that_is_needed() -> None:
    assert parse_feed_query(b"token=hwr_abc-DEF_09", 200) == PersonalQuery("hwr_abc-DEF_09")
    assert parse_feed_query(b"token=%68wr_%2B%2f", 200) == PersonalQuery("hwr_+/")


def test_every_field_is_read() -> None:
    asked = parse_feed_query(
        b"limit=7&category=a%26b&token=t&category=c+d&category=c+d&format=atom", 200
    )
    assert asked == PersonalQuery("t", 7, ("a&b", "c d"), "atom")


def test_names_that_mean_nothing_here_are_left_alone() -> None:
    assert parse_feed_query(b"token=t&_=1712&utm_source=x", 200) == PersonalQuery("t")


@pytest.mark.parametrize("raw", [b"", b"user=ada", b"Token=t", b"token[]=t", b"tokens=t", b"&&"])
def test_a_missing_token_is_told_as_fastapi_tells_it(raw: bytes) -> None:
    assert refused(raw) == {"type": "missing", "loc": ["query", "token"], "msg": "Field required"}


@pytest.mark.parametrize("raw", [b"token=a&token=b", b"token=a&token=a", b"token=a&token="])
def test_several_tokens_are_none(raw: bytes) -> None:
    assert refused(raw)["loc"] == ["query", "token"]


@pytest.mark.parametrize(
    "raw",
    [
        b"token=",
        b"token",
        b"token=+",
        b"token=a+b",
        b"token=a%20b",
        b"token=a%00b",
        b"token=%00",
        b"token=a%0Ab",
        b"token=a%7F",
        b"token=%D0%B0bc",  # a Cyrillic letter that looks like ours
        b"token=%EF%BD%81",  # a wide one
        b"token=\xd0\xb0",
        b"token=\xff",
        b"token=%FF%FE",
        b"token=%ED%A0%80",
        b"token=" + b"a" * (LONGEST_TOKEN + 1),
        b"token=" + b"a" * 30_000,
    ],
)
def test_what_cannot_be_a_token_is_unauthorized(raw: bytes) -> None:
    with pytest.raises(Unauthorized, match="Invalid RSS token"):
        parse_feed_query(raw, 200)


def test_tokens_of_other_tools_are_well_formed_too() -> None:
    every = "".join(map(chr, range(0x21, 0x7F)))
    quoted = "".join(f"%{ord(letter):02X}" for letter in every)
    assert parse_feed_query(f"token={quoted}".encode(), 200).token == every
    assert len(parse_feed_query(b"token=" + b"a" * LONGEST_TOKEN, 200).token) == 256


@pytest.mark.parametrize(
    "text", ["0", "201", "-1", "1.5", "", "ten", "1e2", "%D9%A1", "9" * 5_000, "1&limit=2", " 1"]
)
def test_a_limit_is_a_whole_number_within_its_bounds(text: str) -> None:
    assert refused(f"token=t&limit={text}".encode())["loc"] == ["query", "limit"]


def test_the_bounds_themselves_are_allowed() -> None:
    assert parse_feed_query(b"token=t&limit=1", 200).limit == 1
    assert parse_feed_query(b"token=t&limit=200", 200).limit == 200


def test_where_the_limit_is_somebody_elses_business_it_is_not_looked_at() -> None:
    assert parse_feed_query(b"token=t&limit=100000", None) == PersonalQuery("t")


def test_a_flood_of_fields_is_refused_before_it_is_read() -> None:
    with pytest.raises(BadBody):
        parse_feed_query(b"token=t" + b"&a=1" * MOST_FIELDS, 200)


def test_bytes_that_are_no_text_are_a_category_that_nobody_has() -> None:
    assert parse_feed_query(b"token=t&category=%FF", 200).categories == ("\udcff",)
    assert parse_feed_query("token=t&category=Flüsse".encode(), 200).categories == ("Flüsse",)


def test_an_empty_category_is_one_too() -> None:
    assert parse_feed_query(b"token=t&category=", 200).categories == ("",)


def test_a_token_is_noticed_wherever_it_stands() -> None:
    assert has_token(b"limit=1&token=")
    assert has_token(b"%74oken=x")
    assert not has_token(b"limit=1&my_token=x")
    assert not has_token(b"")


@pytest.mark.parametrize(
    ("field", "welcome"),
    [
        ("gzip", True),
        ("deflate, gzip;q=0.5, br", True),
        ("GZIP", True),
        ("x-gzip", True),
        ("*", True),
        ("identity, *;q=0.1", True),
        ("", False),
        ("identity", False),
        ("br, deflate", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000, *", False),
        ("*;q=0", False),
        ("gzipped", False),
        ("gzip," + " " * LONGEST_FIELD, False),
    ],
)
def test_gzip_is_sent_to_those_who_take_it(field: str, welcome: bool) -> None:
    assert accepts_gzip(field) is welcome


NOW = to_micros(START)
MINUTE = 60_000_000


def test_a_new_change_is_told_two_minutes_too_early() -> None:
    assert last_modified(NOW, NOW) == "Mon, 05 Jan 2026 11:58:00 GMT"
    assert last_modified(NOW, NOW + 2 * MINUTE - 1) == "Mon, 05 Jan 2026 11:58:00 GMT"
    assert last_modified(NOW, NOW + 2 * MINUTE) == "Mon, 05 Jan 2026 12:00:00 GMT"
    assert last_modified(0, NOW) == "Thu, 01 Jan 1970 00:00:00 GMT"


def test_the_time_counts_only_where_no_tag_is_given() -> None:
    later = "Mon, 05 Jan 2026 12:00:00 GMT"
    assert is_not_modified(None, later, 'W/"a"', NOW)
    assert is_not_modified(None, later, 'W/"a"', NOW + 999_999)
    assert not is_not_modified(None, later, 'W/"a"', NOW + 1_000_000)
    assert not is_not_modified('"b"', later, 'W/"a"', NOW)
    assert is_not_modified('"b", W/"a"', None, 'W/"a"', NOW)
    assert is_not_modified('"a"', None, 'W/"a"', NOW)
    assert is_not_modified("*", None, 'W/"a"', NOW)
    assert not is_not_modified(None, None, 'W/"a"', NOW)


@pytest.mark.parametrize(
    "since",
    [
        "yesterday",
        "",
        "Mon, 05 Jan 2026 12:00:00 +99999999999999",
        "Mon, 05 Jan 99999999999999999999 12:00:00 GMT",
        "Mon, 05 Jan 2026 99999999999999999999:00:00 GMT",
        "Mon, 99 Jan 2026 12:00:00 GMT",
    ],
)
def test_a_time_that_is_none_is_no_condition(since: str) -> None:
    assert not is_not_modified(None, since, 'W/"a"', NOW)
