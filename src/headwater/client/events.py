"""Events of the log, parsed from the frames of the stream."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from headwater.client.errors import Garbled
from headwater.client.sse_frames import Frame

LARGEST_DIGITS = 18


def _ignore_done(seq: int) -> None:
    """For an event without a cursor."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `seq` is its place in the log, without gaps; `id` is the same in every delivery.

    docs/events.md describes the `payload` of each type.
    """

    seq: int
    id: str
    type: str
    at: datetime
    feed_id: str | None
    payload: Mapping[str, Any]
    _when_done: Callable[[int], None] = field(default=_ignore_done, repr=False, compare=False)

    def done(self) -> None:
        """Call this when you are done with the event: the cursor may move past it."""
        self._when_done(self.seq)


def parse_event(data: bytes, when_done: Callable[[int], None] = _ignore_done) -> Event:
    """Parse the data of a frame. Garbled unless it has the fields of an event."""
    try:
        event = orjson.loads(data)
        seq, payload = event["seq"], event["payload"]
        if type(seq) is not int or not isinstance(payload, dict):
            raise TypeError("seq is a number, payload an object")
        return Event(
            seq,
            str(event["id"]),
            str(event["type"]),
            datetime.fromisoformat(event["at"]),
            event["feed_id"],
            payload,
            when_done,
        )
    except (ValueError, KeyError, TypeError) as trouble:
        raise Garbled(f"The stream has an event that is none: {trouble}") from trouble


def parse_event_number(frame: Frame) -> int | None:
    """The frame's id; None when it has none."""
    text = frame.id
    if text is None:
        return None
    if not text.isdigit() or len(text) > LARGEST_DIGITS:
        raise Garbled("The stream has an event whose id is no number.")
    return int(text)
