"""Follow the event stream over many connections: where the reader is, and when to connect again.

No number is handed out twice and none is left out: repeated events are dropped, and when a stream
jumps over a number, the reader breaks it off and connects again.
"""

import logging
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import orjson

from headwater.client.cursor import EventProgress
from headwater.client.errors import Garbled, LogReset, Refusal
from headwater.client.events import Event, parse_event, parse_event_number
from headwater.client.service_address import EVENT_STREAM_TYPE, Patience, ServiceAddress
from headwater.client.sse_frames import Frame
from headwater.core.errors import BadInput, HeadwaterError

PATH = "/events/stream"
DEFAULT_RETRY_SECONDS = 3.0

After = int | Literal["beginning"] | None

logger = logging.getLogger("headwater.client")


@dataclass(frozen=True, slots=True)
class StreamFilter:
    """The events to read; an empty list means all."""

    types: Sequence[str] = ()
    feeds: Sequence[str] = ()
    categories: Sequence[str] = ()

    @property
    def is_everything(self) -> bool:
        return not (self.types or self.feeds or self.categories)

    @property
    def query(self) -> list[tuple[str, str]]:
        return [
            *(("type", each) for each in self.types),
            *(("feed_id", each) for each in self.feeds),
            *(("category", each) for each in self.categories),
        ]


class EventFollower:
    """The state of one call of `events`, over all of its connections."""

    def __init__(
        self,
        stream_filter: StreamFilter,
        after: After,
        progress: EventProgress,
        patience: Patience,
        *,
        by_hand: bool,
    ) -> None:
        saved = progress.load()
        self.position = saved if saved is not None else _first_position(after)
        self.progress = progress
        self._filter, self._patience, self._by_hand = stream_filter, patience, by_hand
        self._failures = 0
        self._greeted = False
        self._rest = DEFAULT_RETRY_SECONDS

    def request(self, address: ServiceAddress) -> bytes:
        """The request for the events after our position, over a new connection."""
        self._greeted = False
        headers = {"accept": EVENT_STREAM_TYPE, "cache-control": "no-store"}
        if self.position is not None:
            headers["last-event-id"] = str(self.position)
        return address.request("GET", PATH, self._filter.query, headers)

    def read_events(self, frames: Sequence[Frame]) -> Iterator[Event]:
        """The events of these frames that were not handed out before.

        When the caller asks for the next event, this one is done, unless `by_hand`.
        """
        for frame in frames:
            event = self._read_frame(frame)
            if event is not None:
                self.progress.handed_out(event.seq)
                yield event
                if not self._by_hand:
                    self.progress.done(event.seq)
                self.progress.save()
            elif frame.retry_ms is not None:
                self._rest = frame.retry_ms / 1000
        self.progress.save()

    def rest_after(self, trouble: HeadwaterError | None) -> float:
        """Seconds until the next try. The trouble is None when the stream came to its end."""
        if trouble is None:
            self._failures = 0
        else:
            self._failures += 1
            logger.warning("the event stream: %s; after %s", trouble.message, self.position)
        rest = max(self._rest, self._patience.shortest_rest)
        rest *= 2.0 ** min(max(self._failures - 1, 0), 20)
        rest = min(rest, self._patience.longest_rest)
        asked = trouble.retry_after if isinstance(trouble, Refusal) else 0.0
        return max(asked, rest - rest / 2 * random.random())  # noqa: S311 -- luck, no secret

    def _read_frame(self, frame: Frame) -> Event | None:
        if frame.event == b"log_reset":
            raise _log_reset_from(frame)
        number = parse_event_number(frame)
        if frame.data is None:
            self._note_position(number)
            return None
        if number is None:
            raise Garbled("The stream has an event without an id.")
        if self.position is not None and number <= self.position:
            return None
        if self._filter.is_everything and self.position not in (None, number - 1):
            raise Garbled(f"The stream jumps from {self.position} to {number}.")
        event = self._parse_event(frame.event, frame.data, number)
        self.position, self._failures = number, 0
        return event

    def _parse_event(self, kind: bytes, data: bytes, number: int) -> Event | None:
        if kind == b"unreadable":
            logger.error(
                "event %d cannot be read: %s", number, data[:500].decode("utf-8", "replace")
            )
            self.progress.passed(number)
            return None
        event = parse_event(data, self.progress.done)
        if event.seq != number:
            raise Garbled(f"The event {event.seq} came as number {number}.")
        return event

    def _note_position(self, number: int | None) -> None:
        """An id alone: all events up to it that we asked for were sent, so the next start begins
        there.

        The first one of a connection is its greeting. After a later one, a ping, the connection has
        worked for a while, and what breaks it then is a new trouble: a quiet log is no failure.
        """
        if number is None:
            return
        if self._greeted:
            self._failures = 0
        self._greeted = True
        if number == self.position:
            return
        if self.position is not None and (number < self.position or self._filter.is_everything):
            raise Garbled(f"The stream is at {number}, this reader at {self.position}.")
        self.position = number
        self.progress.passed(number)


def _first_position(after: After) -> int | None:
    if after == "beginning":
        return 0
    if after is None or (type(after) is int and 0 <= after < 10**18):
        return after
    raise BadInput("`after` is the number of an event, None for now, or 'beginning'.")


def _log_reset_from(frame: Frame) -> LogReset:
    try:
        last = orjson.loads(frame.data or b"")["last_seq"]
        return LogReset(int(last))
    except (ValueError, KeyError, TypeError) as trouble:
        raise Garbled(f"The log was reset, but to where? {trouble}") from trouble
