"""A scripted origin on loopback: feeds made of posts, told what to answer, remembering who asked.

    async with Origin() as origin:                    # Origin(clock=virtual_clock) owns time too
        feed = origin.feed("/blog.xml", [Post("1", "First")], address="127.0.4.1")
        feed.url                                      # http://127.0.4.1:PORT/blog.xml
        feed.publish(Post("2", "Second"))             # on top of the document
        feed.edit("1", text="better words")
        feed.remove("1")
        feed.answer_next(Reply(503, headers={"Retry-After": "60"}), Reply(410))
        feed.stand_in = Reply(200, b"<rss><cha")      # instead of the document, until it is None
        feed.delay = 0.5                              # seconds before each answer
        origin.requests                               # every request in order, with its reply
        origin.open, origin.most_open                 # requests being answered now, and at most
        feed.requests                                 # the same for one feed

A feed answers a conditional request honestly: 304 exactly when its document is the one asked
about. Every address of 127.0.0.0/8 can be used; all share one port. What was really sent stays in
`Request.sent` (as served, with its SHA-256) and `Request.is_whole` says that all of it went out.
`rss(posts)` and `atom(posts)` make documents without any server.
"""

import asyncio
import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from hashlib import sha256
from types import TracebackType
from typing import Literal, Self
from xml.sax.saxutils import escape

from headwater.adapters.clock import SystemClock
from headwater.core.ports import Clock

REASONS = {200: "OK", 301: "Moved Permanently", 302: "Found", 304: "Not Modified", 410: "Gone"}


@dataclass(frozen=True, slots=True)
class Post:
    """One post. Without a `link` it gets one made from its guid."""

    guid: str
    title: str
    text: str = ""
    link: str | None = None
    published: datetime | None = None

    @property
    def where(self) -> str:
        return self.link or f"https://posts.example/{self.guid}"


Render = Callable[[Sequence[Post]], bytes]


def rss(posts: Sequence[Post], *, title: str = "A feed", channel: str = "") -> bytes:
    """RSS 2.0, posts in the order given. `channel` is XML for the channel, such as a ttl."""
    items = "".join(
        f'<item><guid isPermaLink="false">{escape(post.guid)}</guid>'
        f"<title>{escape(post.title)}</title><link>{escape(post.where)}</link>"
        f"{_dated('pubDate', post.published, format_datetime)}"
        f"<description>{escape(post.text)}</description></item>\n"
        for post in posts
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel>'
        f"<title>{escape(title)}</title><link>https://posts.example/</link>"
        f"<description>Posts</description>{channel}\n{items}</channel></rss>\n"
    ).encode()


def atom(posts: Sequence[Post], *, title: str = "A feed", head: str = "") -> bytes:
    """Atom 1.0, posts in the order given. `head` is XML for the feed itself."""
    entries = "".join(
        f"<entry><id>{escape(post.guid)}</id><title>{escape(post.title)}</title>"
        f'<link href="{escape(post.where)}"/>'
        f"{_dated('published', post.published, datetime.isoformat)}"
        f"{_dated('updated', post.published, datetime.isoformat)}"
        f"<summary>{escape(post.text)}</summary></entry>\n"
        for post in posts
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
        f"<id>https://posts.example/</id><title>{escape(title)}</title>{head}\n{entries}</feed>\n"
    ).encode()


def _dated(name: str, when: datetime | None, written: Callable[[datetime], str]) -> str:
    return f"<{name}>{written(when)}</{name}>" if when else ""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer, sent as it is. `cut_at`: the connection breaks after so many bytes of body."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut_at: int | None = None


@dataclass(slots=True, eq=False)
class Request:
    """One request as it came, and what was answered; `reply` is None while it is being answered.

    `posts` are the guids in the document that was sent, newest first (none for a scripted reply).
    """

    number: int
    at: datetime
    started: float
    address: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    reply: Reply | None = None
    posts: tuple[str, ...] = ()
    ended: float | None = None
    is_whole: bool = False

    def header(self, name: str) -> str | None:
        """The last value of a request header."""
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        return found[-1] if found else None

    @property
    def status(self) -> int | None:
        return self.reply.status if self.reply else None

    @property
    def sent(self) -> bytes:
        """The body as it went over the wire, in its content coding."""
        return self.reply.body if self.reply else b""

    @property
    def sha256(self) -> str:
        return sha256(self.sent).hexdigest()


Validators = Literal["both", "etag", "last-modified", "none"]


class OriginFeed:
    """One URL of an origin. Change it at any time; the next request sees the change."""

    def __init__(self, origin: "Origin", address: str, path: str, posts: Sequence[Post]) -> None:
        self.origin = origin
        self.address = address
        self.path = path
        self.posts = list(posts)
        self.render: Render = rss
        self.headers: dict[str, str] = {"Content-Type": "application/rss+xml; charset=utf-8"}
        self.validators: Validators = "both"
        self.window: int | None = None
        """How many of the newest posts a document shows; None for all."""
        self.gzipped = False
        self.delay = 0.0
        self.stand_in: Reply | None = None
        self.modified = origin.clock.now()
        self.ever: dict[str, Post] = {post.guid: post for post in posts}
        """Every post that was ever published here, as it was last."""
        self._next: list[Reply] = []
        self._was_shown = False

    @property
    def url(self) -> str:
        return f"http://{self.address}:{self.origin.port}{self.path}"

    @property
    def requests(self) -> list[Request]:
        return [
            each
            for each in self.origin.requests
            if (each.address, each.path) == (self.address, self.path)
        ]

    def publish(self, *posts: Post) -> None:
        """On top, the last one uppermost."""
        for post in posts:
            self.posts.insert(0, post)
            self.ever[post.guid] = post
        self._touch()

    def edit(self, guid: str, *, title: str | None = None, text: str | None = None) -> None:
        place = self._place(guid)
        old = self.posts[place]
        self.posts[place] = replace(
            old,
            title=old.title if title is None else title,
            text=old.text if text is None else text,
        )
        self.ever[guid] = self.posts[place]
        self._touch()

    def remove(self, guid: str) -> None:
        del self.posts[self._place(guid)]
        self._touch()

    def answer_next(self, *replies: Reply) -> None:
        """Each is given once, in order, before anything else is."""
        self._next.extend(replies)

    def forget_script(self) -> None:
        """What `answer_next` was told and has not been asked for yet."""
        self._next.clear()

    @property
    def is_scripted(self) -> bool:
        return bool(self._next)

    def shown(self) -> list[Post]:
        return self.posts[: self.window]

    def document(self) -> bytes:
        """The body that a request without validators gets now, as served."""
        plain = self.render(self.shown())
        return gzip.compress(plain, 6, mtime=0) if self.gzipped else plain

    def answer(self, request: Request) -> tuple[Reply, tuple[str, ...]]:
        """What this request gets, and the guids in it."""
        if self._next:
            return self._next.pop(0), ()
        if self.stand_in is not None:
            return self.stand_in, ()
        self._was_shown, body = True, self.document()
        headers = {**self.headers, **self._validators_of(body)}
        if self.gzipped:
            headers["Content-Encoding"] = "gzip"
        if self._is_known(request, headers):
            headers.pop("Content-Type", None)
            return Reply(304, headers=headers, delay=self.delay), ()
        guids = tuple(post.guid for post in self.shown())
        return Reply(200, body, headers, self.delay), guids

    def _validators_of(self, body: bytes) -> dict[str, str]:
        headers = {}
        if self.validators in {"both", "etag"}:
            headers["ETag"] = f'"{sha256(body).hexdigest()[:20]}"'
        if self.validators in {"both", "last-modified"}:
            headers["Last-Modified"] = format_datetime(self.modified, usegmt=True)
        return headers

    def _is_known(self, request: Request, headers: Mapping[str, str]) -> bool:
        """If-None-Match is the stronger of the two."""
        asked, since = request.header("If-None-Match"), request.header("If-Modified-Since")
        if asked is not None and "ETag" in headers:
            return headers["ETag"] in [tag.strip().removeprefix("W/") for tag in asked.split(",")]
        if since is None or "Last-Modified" not in headers:
            return False
        return parsedate_to_datetime(since) >= self.modified.replace(microsecond=0)

    def _touch(self) -> None:
        """HTTP dates have whole seconds: no two documents shown share one, so no 304 is a lie."""
        now = self.origin.clock.now()
        self.modified = max(now, self.modified + timedelta(seconds=1)) if self._was_shown else now
        self._was_shown = False

    def _place(self, guid: str) -> int:
        return next(place for place, post in enumerate(self.posts) if post.guid == guid)


class Origin:
    """Listens as long as its block lasts. Addresses are opened as feeds ask for them."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self.requests: list[Request] = []
        self.open = 0
        self.most_open = 0
        self.port = 0
        self._feeds: dict[tuple[str, str], OriginFeed] = {}
        self._sites: dict[str, asyncio.Server] = {}
        self._talks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self.listen("127.0.0.1")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        trouble: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        for site in self._sites.values():
            site.close()
        for talk in list(self._talks):
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    async def listen(self, *addresses: str) -> None:
        """Open these addresses of 127.0.0.0/8 (127.0.0.1 is open already)."""
        for address in addresses:
            if address not in self._sites:
                site = await asyncio.start_server(self._meet, address, self.port, backlog=1024)
                self._sites[address] = site
                self.port = site.sockets[0].getsockname()[1]

    def feed(
        self, path: str, posts: Sequence[Post] = (), *, address: str = "127.0.0.1"
    ) -> OriginFeed:
        """A new feed at this path; its address must be open."""
        assert address in self._sites, f"listen({address!r}) first"
        made = self._feeds[address, path] = OriginFeed(self, address, path, posts)
        return made

    def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A task of our own: the one asyncio would make complains when it is cancelled."""
        talk = asyncio.create_task(self._talk(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side went away, as killed processes do
        finally:
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        request = self._noted(head, writer.get_extra_info("sockname")[0])
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            return await self._answer(request, writer)
        finally:
            self.open -= 1
            request.ended = self.clock.monotonic()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        feed = self._feeds.get((request.address, request.path))
        reply, posts = feed.answer(request) if feed else (Reply(404, b"nothing here"), ())
        if reply.delay:
            await self.clock.sleep(reply.delay)
        request.reply, request.posts = reply, posts
        if writer.is_closing():
            return False
        writer.write(_head_of(reply, self.clock.now()) + reply.body[: reply.cut_at])
        await writer.drain()
        request.is_whole = reply.cut_at is None
        return request.is_whole

    def _noted(self, head: bytes, address: str) -> Request:
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        method, path, _ = first.split(" ", 2)
        pairs = (line.partition(":") for line in lines)
        request = Request(
            number=len(self.requests) + 1,
            at=self.clock.now(),
            started=self.clock.monotonic(),
            address=address,
            method=method,
            path=path,
            headers=tuple((name, value.strip()) for name, _, value in pairs),
        )
        self.requests.append(request)
        return request


def _head_of(reply: Reply, now: datetime) -> bytes:
    headers = {"Date": format_datetime(now, usegmt=True), **reply.headers}
    if reply.status != 304:
        headers["Content-Length"] = str(len(reply.body))
    lines = [f"HTTP/1.1 {reply.status} {REASONS.get(reply.status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
