"""The client for programs without asyncio: every call waits for its answer."""

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
    """A client of one Headwater. Threads may share it: each call has a connection of its own."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        patience: Patience | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """The `token` needs the scope `read`. `tls` trusts a private authority."""
        self._address = ServiceAddress.of(url, token, tls=tls)
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
        """Every event after a number, then new ones for ever; each once, none left out.

        With `after` None the first event is the next one to come, with "beginning" the first of
        all. A `cursor` that holds a number goes on there instead. It moves past an event when you
        ask for the next one, so an event that a crash (or a `break`) cut short comes again. With
        `by_hand` only `event.done()` moves it. Connections that break are made again, with growing
        rests; `reconnect=False` ends with the first one instead. LogReset when the log was set
        back.
        """
        progress = EventProgress(cursor, time.monotonic, self._patience.save_every)
        stream_filter = StreamFilter(tuple(types), tuple(feeds), tuple(categories))
        follower = EventFollower(stream_filter, after, progress, self._patience, by_hand=by_hand)
        return self._follow(follower, reconnect)

    def feeds(self, state: str | None = None, *, page_size: int | None = None) -> Iterator[Feed]:
        """All feeds, in the order they were added."""
        return self._list(requests.feeds_request(state, page_size))

    def feed(self, feed_id: str) -> Feed:
        return self._get(requests.feed_request(feed_id))

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
        request = requests.entries_request(feed, since, until, category, words, page_size)
        return self._list(request)

    def entry(self, uid: str, feed: str | None = None) -> Entry:
        """Refusal `ambiguous_entry` when several feeds have the entry and `feed` is None."""
        return self._get(requests.entry_request(uid, feed))

    def raw(self, fetch_id: str) -> bytes:
        """The body of a fetch exactly as served, still in its content coding."""
        request = self._address.request("GET", requests.raw_path(fetch_id))
        return check_response(*send_request(self._address, self._patience, request))

    def ask(
        self,
        method: str,
        path: str,
        said: Mapping[str, Any] | None = None,
        query: Query = (),
    ) -> Any:
        """Send any other request, with `said` as its JSON body, and return the JSON of the answer.
        Raises Refusal or Unreachable."""
        body = None if said is None else orjson.dumps(said)
        request = self._address.request(method, path, query, body=body)
        return decode_response(*send_request(self._address, self._patience, request))

    def _get(self, request: GetRequest[R]) -> R:
        return request.record(self.ask("GET", request.path, query=request.query))

    def _list(self, request: GetRequest[R]) -> Iterator[R]:
        page_request = request
        while True:
            page = self.ask("GET", page_request.path, query=page_request.query)
            records, cursor = page_records(page, request.name)
            yield from map(request.record, records)
            if cursor is None:
                return
            page_request = request.after(cursor)

    def _follow(self, follower: EventFollower, reconnect: bool) -> Generator[Event, None, None]:
        try:
            while True:
                trouble = yield from self._read_connection(follower)
                if not reconnect:
                    if trouble is not None:
                        raise trouble
                    return
                time.sleep(follower.rest_after(trouble))
        finally:
            follower.progress.save(now=True)

    def _read_connection(
        self, follower: EventFollower
    ) -> Generator[Event, None, HeadwaterError | None]:
        """Read one connection to its end. Returns the trouble that ended it, None for an orderly
        end. Trouble that cannot pass by itself is raised."""
        try:
            request = follower.request(self._address)
            for frames in stream_frames(self._address, self._patience, request):
                yield from follower.read_events(frames)
        except Refusal as trouble:
            if not trouble.may_pass:
                raise
            return trouble
        except Unreachable as trouble:
            return trouble
        return None
