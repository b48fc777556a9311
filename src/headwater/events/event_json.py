"""Event JSON: an event as one line of JSON, the same bytes for every reader and every time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson

from headwater.core.errors import HeadwaterError
from headwater.core.values.instant import rfc3339, rfc3339_at


@dataclass(frozen=True, slots=True)
class WireEvent:
    """One event on its way to a sink. `body` is JSON, the same bytes each time.

    `at` is in microseconds. `payload` is the event's own part of `body`, already decoded.
    """

    seq: int
    event_id: str
    type: str
    at: int
    feed_id: str | None
    payload: Mapping[str, Any]
    body: bytes


class BadPayload(HeadwaterError):
    """An event whose row is damaged and cannot be sent. Facts: `seq`, `event_id`."""

    code = "bad_payload"


def wire_event_of(
    seq: int, event_id: str, type: str, at: int, feed_id: str | None, payload_json: str
) -> WireEvent:
    """Raise BadPayload when `payload_json` is no JSON object: that event can be sent to nobody."""
    try:
        payload, moment = parse_payload(payload_json), _format_moment(at)
    except (ValueError, OverflowError) as trouble:
        raise BadPayload(str(trouble), seq=seq, event_id=event_id) from trouble
    # To send the stored text costs nothing. A line break between its parts would end the line that
    # the event is sent on. Headwater writes none; somebody who edits the database might.
    is_one_line = "\n" not in payload_json and "\r" not in payload_json
    text = payload_json.encode() if is_one_line else orjson.dumps(payload)
    body = _encode_body(seq, event_id, type, moment, feed_id, text)
    return WireEvent(seq, event_id, type, at, feed_id, payload, body)


def parse_payload(payload_json: str) -> dict[str, Any]:
    """Raise ValueError when the text is no JSON object."""
    payload = orjson.loads(payload_json)
    if not isinstance(payload, dict):
        raise ValueError("The payload is no JSON object.")
    return payload


def encode_event(
    seq: int, event_id: str, type: str, at: datetime, feed_id: str | None, payload: object
) -> bytes:
    """Make the same bytes for callers who have decoded the payload already."""
    return _encode_body(seq, event_id, type, rfc3339(at), feed_id, orjson.dumps(payload))


def _encode_body(
    seq: int, event_id: str, type: str, at: str, feed_id: str | None, payload: bytes
) -> bytes:
    return orjson.dumps(
        {
            "seq": seq,
            "id": event_id,
            "type": type,
            "at": at,
            "feed_id": feed_id,
            "payload": orjson.Fragment(payload),
        }
    )


@lru_cache(maxsize=1_000)
def _format_moment(at: int) -> str:
    """Cached, because events of one commit share their moment."""
    return rfc3339_at(at)
