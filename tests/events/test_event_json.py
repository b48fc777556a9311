"""Events as they are sent: the same bytes for everybody, each time."""

from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.values.instant import rfc3339, to_micros
from headwater.events.event_json import BadPayload, wire_event_of
from headwater.events.event_rows import LoggedEvent
from headwater.subscriptions.fetchers.send_news import encode_news

ID = "0197c1f0-5b0e-7c4e-9d1b-3f6f2f0a9b11"
FEED = "0197c1ef-aa10-7f3e-8a53-0d6f5c1f7d42"
AT = 1_772_366_400_123_456


def as_it_was_sent_before(event: LoggedEvent) -> bytes:
    """Consumers have these bytes, and their signatures."""
    return orjson.dumps(
        {
            "seq": event.seq,
            "id": event.event_id,
            "type": event.type,
            "at": rfc3339(event.at),
            "feed_id": event.feed_id,
            "payload": event.payload,
        }
    )


def test_an_event_is_one_line_of_json_in_this_order() -> None:
    parcel = wire_event_of(7, ID, "new_entry", AT, FEED, '{"entry_uid":"a","n":1}')
    assert parcel.body == (
        b'{"seq":7,"id":"0197c1f0-5b0e-7c4e-9d1b-3f6f2f0a9b11","type":"new_entry",'
        b'"at":"2026-03-01T12:00:00.123456Z",'
        b'"feed_id":"0197c1ef-aa10-7f3e-8a53-0d6f5c1f7d42",'
        b'"payload":{"entry_uid":"a","n":1}}'
    )
    assert parcel.payload == {"entry_uid": "a", "n": 1}
    assert (parcel.seq, parcel.event_id, parcel.type) == (7, ID, "new_entry")
    assert (parcel.at, parcel.feed_id) == (AT, FEED)


def test_an_event_without_a_feed_says_so() -> None:
    parcel = wire_event_of(1, ID, "conflict_opened", 0, None, "{}")
    assert parcel.body == (
        b'{"seq":1,"id":"0197c1f0-5b0e-7c4e-9d1b-3f6f2f0a9b11","type":"conflict_opened",'
        b'"at":"1970-01-01T00:00:00Z","feed_id":null,"payload":{}}'
    )


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(
    st.integers(1, 2**62),
    st.dictionaries(st.text(), JSON, max_size=6),
    st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1)),
)
def test_sinks_and_fetchers_get_the_bytes_they_always_got(
    seq: int, payload: dict[str, object], at: datetime
) -> None:
    told = LoggedEvent(seq, ID, "feed_moved", at.replace(tzinfo=UTC), FEED, payload)
    kept = orjson.dumps(payload).decode()
    parcel = wire_event_of(seq, ID, "feed_moved", to_micros(told.at), FEED, kept)
    assert encode_news(told) == as_it_was_sent_before(told)
    assert parcel.body == as_it_was_sent_before(told)
    assert b"\n" not in parcel.body
    assert b"\r" not in parcel.body


@pytest.mark.parametrize("kept", ['{"a": 1,\n "b": 2}', '{"a": 1,\r\n "b": 2}\n'])
def test_a_payload_of_several_lines_is_sent_on_one(kept: str) -> None:
    assert wire_event_of(1, ID, "feed_gone", 0, None, kept).body.endswith(
        b'"payload":{"a":1,"b":2}}'
    )


@pytest.mark.parametrize(
    "kept", ["", "[1, 2]", '"text"', "null", "{", '{"a": NaN}', '{"a": "\\ud800"}', "{} {}"]
)
def test_a_payload_that_is_no_json_object_cannot_be_sent(kept: str) -> None:
    with pytest.raises(BadPayload) as told:
        wire_event_of(12, ID, "new_entry", AT, FEED, kept)
    assert told.value.facts == {"seq": 12, "event_id": ID}
    assert told.value.code == "bad_payload"


def test_a_moment_outside_of_all_calendars_cannot_be_sent() -> None:
    with pytest.raises(BadPayload):
        wire_event_of(12, ID, "new_entry", 2**62, FEED, "{}")
