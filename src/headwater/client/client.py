"""The client for ordinary programs: every call waits for its answer."""

import ssl
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import orjson

from headwater.client import requests
from headwater.client.conversation import send_request, stream_frames
from headwater.client.cursor import Cursor, EventProgress
from headwater.client.errors import Refusal, Unreachable
from headwater.client.events import Event
from headwater.client.follow_events import After, EventFollower, StreamFilter
from headwater.client.records import Entry, Feed, page_records
from headwater.client.requests import GetRequest, check_response, decode_response
from headwater.client.service_address import Patience, Query, ServiceAddress
from headwater.core.errors import HeadwaterError

R = TypeVar("R")


class Client:
    """One Headwater. Safe to use from several threads: each call has a connection of its own."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        patience: Patience | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`token` is one with the scope `read`. `tls` trusts a private authority."""
        self._place = ServiceAddress.of(url, token, tls=tls)
        self._patience = patience or Patience()

    def events(
        self,
        after: After = None,
        types: Sequence[str] = (),
        feeds: Sequence[str] = (),
        categories: Sequence[str] = (),
        *,
        reconnect: bool = True,
        cursor: Cursor | None = None,
        by_hand: bool = False,
    ) -> Generator[Event, None, None]:
        """Every event after a number, then what comes, for ever; each once, none left out.

        `after` None begins with what comes from now on, "beginning" with the first of all. A
        `cursor` that holds a number goes on there instead. It moves past an event when the next one
        is asked for, so that what a crash (or a `break`) cut short is told again; `by_hand` it
        moves by `event.done()` alone. Connections that break are made again, with growing rests;
        `reconnect=False` ends with the first one instead. LogReset when the log was set back.
        """
        bookmark = EventProgress(cursor, time.monotonic, self._patience.save_every)
        wanted = StreamFilter(tuple(types), tuple(feeds), tuple(categories))
        following = EventFollower(wanted, after, bookmark, self._patience, by_hand=by_hand)
        return self._followed(following, reconnect)

    def feeds(self, state: str | None = None, *, page_size: int | None = None) -> Iterator[Feed]:
        """In the order they were added."""
        return self._listed(requests.feeds_request(state, page_size))

    def feed(self, feed_id: str) -> Feed:
        return self._asked(requests.feed_request(feed_id))

    def entries(
        self,
        feed: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        *,
        category: str | None = None,
        words: str | None = None,
        page_size: int | None = None,
    ) -> Iterator[Entry]:
        """Newest first by `first_seen`: `since` inclusive, `until` exclusive."""
        asked = requests.entries_request(feed, since, until, category, words, page_size)
        return self._listed(asked)

    def entry(self, uid: str, feed: str | None = None) -> Entry:
        """Refusal `ambiguous_entry` when several feeds have it and none was named."""
        return self._asked(requests.entry_request(uid, feed))

    def raw(self, fetch_id: str) -> bytes:
        """The body of a fetch exactly as served, still in its content coding."""
        request = self._place.request("GET", requests.raw_path(fetch_id))
        return check_response(*send_request(self._place, self._patience, request))

    def ask(
        self,
        method: str,
        path: str,
        said: Mapping[str, Any] | None = None,
        query: Query = (),
    ) -> Any:
        """Any other request, answered with JSON. Refusal or Unreachable otherwise."""
        body = None if said is None else orjson.dumps(said)
        request = self._place.request(method, path, query, body=body)
        return decode_response(*send_request(self._place, self._patience, request))

    def _asked(self, question: GetRequest[R]) -> R:
        return question.record(self.ask("GET", question.path, query=question.query))

    def _listed(self, question: GetRequest[R]) -> Iterator[R]:
        asked = question
        while True:
            page = self.ask("GET", asked.path, query=asked.query)
            records, cursor = page_records(page, question.name)
            yield from map(question.record, records)
            if cursor is None:
                return
            asked = question.after(cursor)

    def _followed(self, following: EventFollower, reconnect: bool) -> Generator[Event, None, None]:
        try:
            while True:
                trouble = yield from self._one_connection(following)
                if not reconnect:
                    if trouble is not None:
                        raise trouble
                    return
                time.sleep(following.rest_after(trouble))
        finally:
            following.bookmark.save(now=True)

    def _one_connection(
        self, following: EventFollower
    ) -> Generator[Event, None, HeadwaterError | None]:
        """What ended it; None when it came to its end. What cannot pass by itself is raised."""
        try:
            request = following.request(self._place)
            for frames in stream_frames(self._place, self._patience, request):
                yield from following.told(frames)
        except Refusal as trouble:
            if not trouble.may_pass:
                raise
            return trouble
        except Unreachable as trouble:
            return trouble
        return None
