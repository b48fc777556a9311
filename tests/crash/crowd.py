"""Feeds that never rest: an origin whose posts come, change and go while visits are under way."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from tests.support.origin import Origin, OriginFeed, Post, Reply, Request, atom, rss

SHOWN = 12
"""Posts in one document; older ones fall out of it."""

BROKEN = b'<?xml version="1.0"?><notes><note>this is no feed at all</notes'
ERROR_PAGE = b"<html><body>something went wrong on our side</body></html>"


class Crowd:
    """Some feeds on addresses of their own, some sharing one; all of them change all the time."""

    def __init__(self, origin: Origin, luck: random.Random) -> None:
        self.origin = origin
        self.feeds: list[OriginFeed] = []
        self.did: Counter[str] = Counter()
        self._luck = luck
        self._posts = 0
        self._moving: asyncio.Task[None] | None = None

    async def settle(self, count: int) -> None:
        """So many feeds: every fifth one shares its host with the four before it."""
        for number in range(count):
            address = (
                f"127.77.{number // 1000}.{10 + (number - number % 5 if number % 2 else number)}"
            )
            await self.origin.listen(address)
            feed = self.origin.feed(f"/{number}.xml", address=address)
            feed.window = SHOWN
            feed.render = (rss, atom)[number % 2]
            feed.gzipped = number % 3 == 0
            feed.validators = ("both", "etag", "last-modified", "none")[number % 4]
            feed.delay = self._luck.choice((0.0, 0.05, 0.3, 0.8))
            feed.publish(*(self._post() for _ in range(5)))
            self.feeds.append(feed)
            if number % 8 == 0:
                self._break(feed)

    def start(self) -> None:
        self._moving = asyncio.create_task(self._move())

    async def rest(self) -> None:
        """Nothing changes any more, and every feed shows its document without delay."""
        if self._moving is not None:
            self._moving.cancel()
            with suppress(asyncio.CancelledError):
                await self._moving
            self._moving = None
        for feed in self.feeds:
            feed.stand_in, feed.delay = None, 0.0
            feed.forget_script()

    async def neglected(self, seconds: float) -> list[str]:
        """Waits until every feed is asked twice more, so that one answer at least is committed.

        Answers the URLs for which that did not happen in time.
        """
        before = {url: len(requests) for url, requests in self.asked().items()}
        deadline = self.origin.clock.monotonic() + seconds
        while True:
            now = self.asked()
            waiting = [url for url, count in before.items() if len(now[url]) < count + 2]
            if not waiting or self.origin.clock.monotonic() > deadline:
                return waiting
            await asyncio.sleep(0.1)

    def asked(self) -> dict[str, list[Request]]:
        """Requests by the URL asked for."""
        found: dict[str, list[Request]] = {feed.url: [] for feed in self.feeds}
        for request in self.origin.requests:
            found[f"http://{request.address}:{self.origin.port}{request.path}"].append(request)
        return found

    async def _move(self) -> None:
        acts: dict[Callable[[OriginFeed], None], int] = {
            self._publish: 50,
            self._edit: 20,
            self._remove: 5,
            self._slow_down: 10,
            self._break: 8,
            self._mend: 12,
            self._refuse: 2,
            self._cut: 2,
        }
        while True:
            (act,) = self._luck.choices(list(acts), list(acts.values()))
            act(self._luck.choice(self.feeds))
            self.did[act.__name__.strip("_")] += 1
            await asyncio.sleep(0.03)

    def _post(self) -> Post:
        self._posts += 1
        published = self.origin.clock.now() - timedelta(seconds=self._luck.randrange(60))
        return Post(f"post-{self._posts}", f"Post {self._posts}", "words", published=published)

    def _publish(self, feed: OriginFeed) -> None:
        feed.publish(self._post())

    def _edit(self, feed: OriginFeed) -> None:
        if feed.posts:
            post = self._luck.choice(feed.shown())
            self._posts += 1
            feed.edit(post.guid, text=f"words, as of change {self._posts}")

    def _remove(self, feed: OriginFeed) -> None:
        if len(feed.posts) > 1:
            feed.remove(self._luck.choice(feed.shown()).guid)

    def _slow_down(self, feed: OriginFeed) -> None:
        feed.delay = self._luck.choice((0.0, 0.05, 0.3, 0.8))

    def _break(self, feed: OriginFeed) -> None:
        feed.stand_in = Reply(200, BROKEN, {"Content-Type": "application/xml"}, feed.delay)

    def _mend(self, feed: OriginFeed) -> None:
        broken = [each for each in self.feeds if each.stand_in is not None]
        if len(broken) > len(self.feeds) // 8:
            self._luck.choice(broken).stand_in = None

    def _refuse(self, feed: OriginFeed) -> None:
        if not feed.is_scripted:
            feed.answer_next(Reply(500, ERROR_PAGE, {"Content-Type": "text/html"}))

    def _cut(self, feed: OriginFeed) -> None:
        body = feed.document()
        headers = dict(feed.headers) | ({"Content-Encoding": "gzip"} if feed.gzipped else {})
        if not feed.is_scripted:
            feed.answer_next(Reply(200, body, headers, cut_at=max(1, len(body) // 2)))
