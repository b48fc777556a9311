"""Which version of which entry an event speaks of."""

from typing import Any

import orjson
import pytest

from headwater.core.values.ids import index_key
from headwater.feeds.entries.entry_version import (
    KeptVersion,
    VersionKey,
    version_json,
    version_key_of,
)

FEED = "01900000-0000-7000-8000-000000000001"
KEPT = KeptVersion(
    feed_id=FEED,
    uid_key=index_key("a"),
    number=2,
    present=2,
    snapshot=None,
    uid="a",
    link="https://a.example/1",
    title='"Quoted"\n',
    summary=None,
    content="<p>x</p>",
    authors='[{"name":"Anna","email":null,"uri":null}]',
    categories='["b"]',
    enclosures="[]",
    details="{}",
    published=1_767_614_400_000_000,
    updated=-1,
    first_seen=1_767_614_400_500_000,
    content_hash="0" * 64,
    fetch_id="01900000-0000-7000-8000-000000000002",
    offset=10,
    length=None,
)


def test_a_new_entry_is_its_first_version() -> None:
    payload = {"feed_id": FEED, "entry_uid": "a"}
    assert version_key_of("new_entry", payload) == VersionKey(FEED, index_key("a"), 1)


def test_an_edited_entry_names_its_version() -> None:
    payload = {"feed_id": FEED, "entry_uid": "a", "version": 7}
    assert version_key_of("updated_entry", payload) == VersionKey(FEED, index_key("a"), 7)


def test_other_events_speak_of_no_entry() -> None:
    assert version_key_of("feed_gone", {"feed_id": FEED, "entry_uid": "a"}) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"feed_id": None},
        {"feed_id": 7},
        {"feed_id": "a\0b"},
        {"entry_uid": None},
        {"entry_uid": ["a"]},
        {"version": None},
        {"version": "1"},
        {"version": True},
        {"version": 0},
        {"version": -1},
        {"version": 2**31},
        {"version": 10**30},
        {"version": 1.5},
    ],
)
def test_what_no_database_can_look_for_is_not_asked_for(wrong: dict[str, Any]) -> None:
    payload = {"feed_id": FEED, "entry_uid": "a", "version": 1} | wrong
    assert version_key_of("updated_entry", payload) is None


def test_a_version_is_told_with_moments_in_words_and_lists_as_lists() -> None:
    told = orjson.loads(version_json(KEPT))
    assert told == {
        "entry_uid": "a",
        "feed_id": FEED,
        "canonical_link": "https://a.example/1",
        "title": '"Quoted"\n',
        "summary": None,
        "content": "<p>x</p>",
        "authors": [{"name": "Anna", "email": None, "uri": None}],
        "categories": ["b"],
        "enclosures": [],
        "published": "2026-01-05T12:00:00Z",
        "updated": "1969-12-31T23:59:59.999999Z",
        "first_seen": "2026-01-05T12:00:00.500000Z",
        "raw_refs": [
            {"fetch_id": "01900000-0000-7000-8000-000000000002", "offset": 10, "length": None}
        ],
        "content_hash": "0" * 64,
        "version": 2,
        "details": {},
    }


def test_what_an_edit_replaced_comes_from_its_snapshot() -> None:
    before = {
        "canonical_link": None,
        "title": "Before",
        "summary": "s",
        "content": None,
        "authors": "[]",
        "categories": '["old"]',
        "enclosures": '[{"url":"https://a.example/x","type":null,"length":null}]',
        "details": '{"x":1}',
        "published": None,
        "updated": 1_767_614_400_000_000,
    }
    kept = KEPT._replace(number=1, snapshot=orjson.dumps(before).decode())
    told = orjson.loads(version_json(kept))
    assert (told["title"], told["content"], told["canonical_link"]) == ("Before", None, None)
    assert (told["categories"], told["details"]) == (["old"], {"x": 1})
    assert (told["published"], told["updated"]) == (None, "2026-01-05T12:00:00Z")
    assert (told["version"], told["first_seen"]) == (1, "2026-01-05T12:00:00.500000Z")
