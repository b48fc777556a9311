"""What a reader of the stream knows between two connections: where it is, and when to come back.

No number is handed out twice and none is left out: what a server repeats is dropped, and a stream
that jumps over a number is broken off and asked for again.
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
    """Which events; empty means all."""

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
    """One call of `events`, however many connections it takes."""

    def __init__(
        self,
        wanted: StreamFilter,
        after: After,
        bookmark: EventProgress,
        patience: Patience,
        *,
        by_hand: bool,
    ) -> None:
        kept = bookmark.load()
        self.position = kept if kept is not None else _first_position(after)
        self.bookmark = bookmark
        self._wanted, self._patience, self._by_hand = wanted, patience, by_hand
        self._failures = 0
        self._greeted = False
        self._rest = DEFAULT_RETRY_SECONDS

    def request(self, place: ServiceAddress) -> bytes:
        """For what comes after the place we are at, over a new connection."""
        self._greeted = False
        said = {"accept": EVENT_STREAM_TYPE, "cache-control": "no-store"}
        if self.position is not None:
            said["last-event-id"] = str(self.position)
        return place.request("GET", PATH, self._wanted.query, said)

    def told(self, frames: Sequence[Frame]) -> Iterator[Event]:
        """What these tell that was not told before.

        Whoever asks for the next event has dealt with this one, unless they say so by hand.
        """
        for frame in frames:
            event = self._take(frame)
            if event is not None:
                self.bookmark.told(event.seq)
                yield event
                if not self._by_hand:
                    self.bookmark.done(event.seq)
                self.bookmark.save()
            elif frame.retry_ms is not None:
                self._rest = frame.retry_ms / 1000
        self.bookmark.save()

    def rest_after(self, trouble: HeadwaterError | None) -> float:
        """Seconds until the next try; None as trouble is a stream that came to its end."""
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

    def _take(self, frame: Frame) -> Event | None:
        if frame.event == b"log_reset":
            raise _reset_of(frame)
        number = parse_event_number(frame)
        if frame.data is None:
            self._note_position(number)
            return None
        if number is None:
            raise Garbled("The stream has an event without an id.")
        if self.position is not None and number <= self.position:
            return None
        if self._wanted.is_everything and self.position not in (None, number - 1):
            raise Garbled(f"The stream jumps from {self.position} to {number}.")
        event = self._event(frame.event, frame.data, number)
        self.position, self._failures = number, 0
        return event

    def _event(self, kind: bytes, data: bytes, number: int) -> Event | None:
        if kind == b"unreadable":
            logger.error(
                "event %d cannot be read: %s", number, data[:500].decode("utf-8", "replace")
            )
            self.bookmark.passed(number)
            return None
        event = parse_event(data, self.bookmark.done)
        if event.seq != number:
            raise Garbled(f"The event {event.seq} came as number {number}.")
        return event

    def _note_position(self, number: int | None) -> None:
        """An id alone: everything wanted up to there was told. So the next start begins there.

        The first one of a connection is its greeting. With a later one, a ping, it has worked for a
        while, and what breaks it after that is a new trouble: a quiet log is no failure.
        """
        if number is None:
            return
        if self._greeted:
            self._failures = 0
        self._greeted = True
        if number == self.position:
            return
        if self.position is not None and (number < self.position or self._wanted.is_everything):
            raise Garbled(f"The stream is at {number}, this reader at {self.position}.")
        self.position = number
        self.bookmark.passed(number)


def _first_position(after: After) -> int | None:
    if after == "beginning":
        return 0
    if after is None or (type(after) is int and 0 <= after < 10**18):
        return after
    raise BadInput("`after` is the number of an event, None for now, or 'beginning'.")


def _reset_of(frame: Frame) -> LogReset:
    try:
        last = orjson.loads(frame.data or b"")["last_seq"]
        return LogReset(int(last))
    except (ValueError, KeyError, TypeError) as trouble:
        raise Garbled(f"The log was reset, but to where? {trouble}") from trouble
