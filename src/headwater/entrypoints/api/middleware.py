"""Middleware: host and origin checks, headers, errors, ETags and the metrics of each answer."""

import ipaddress
import time
from functools import lru_cache
from hashlib import sha256
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.core.errors import DatabaseError, Forbidden, HeadwaterError
from headwater.core.telemetry.log import get_logger
from headwater.entrypoints.api.errors import Misdirected, error_response, internal_error_response
from headwater.entrypoints.api.request_metrics import count_answer
from headwater.entrypoints.server.listener import is_loopback
from headwater.settings import Settings

logger = get_logger("headwater.api")

LONGEST_HOST = 300
"""A DNS name has at most 253 characters; a colon and a port follow."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class HostAndOriginMiddleware:
    """Stops DNS rebinding against loopback and forged requests from pages in a browser."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._names = {settings.host.lower().strip("[]")} - _EVERYWHERE
        self._public = _origin_of(settings.public_base_url)
        if settings.public_base_url:
            self._names.add((urlsplit(settings.public_base_url).hostname or "").rstrip("."))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            hosts = headers.getlist("host")
            if len(hosts) != 1 or not self._is_ours(hosts[0]):
                raise Misdirected(
                    "This request names a host that Headwater does not answer for."
                    " Set HEADWATER_PUBLIC_BASE_URL to the address it is reached by."
                )
            if scope["method"] not in SAFE_METHODS:
                self._refuse_foreign_page(headers, hosts[0])
        await self._app(scope, receive, send)

    def _is_ours(self, host: str) -> bool:
        name = _name_of(host)
        return name is not None and (name in self._names or is_loopback(name))

    def _refuse_foreign_page(self, headers: Headers, host: str) -> None:
        """Programs send neither header. Our own pages in a browser send our origin."""
        for origin in headers.getlist("origin"):
            same = _netloc_of(origin) == host.lower()
            if not same and (self._public is None or _origin_of(origin) != self._public):
                raise Forbidden("Requests from other web pages are not accepted.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Forbidden("Requests from other web pages are not accepted.")


_EVERYWHERE = {"", "0.0.0.0", "::"}  # noqa: S104 -- compared with, never bound to


def _name_of(host: str) -> str | None:
    """The name or address without its port; None for a Host that no client would send."""
    return _parse_host(host) if len(host) <= LONGEST_HOST else None


@lru_cache(maxsize=1_024)
def _parse_host(host: str) -> str | None:
    """Cached, as nearly all requests name the same few hosts."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    if parts.username is not None or parts.path or parts.query or parts.fragment:
        return None
    name = (parts.hostname or "").rstrip(".")
    return _plain_address(name)


def _plain_address(name: str) -> str:
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name


def _netloc_of(origin: str) -> str | None:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.lower() if parts.scheme in ("http", "https") else None


def _origin_of(url: str | None) -> str | None:
    if url is None:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc}".lower() if parts.netloc else None


class ETagMiddleware:
    """Adds an ETag to each answer: the hash of its body. So it is never wrong, and tells nothing
    about other bodies."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        tags = Headers(scope=scope).getlist("if-none-match")
        await self._app(scope, receive, _ETagSender(send, ", ".join(tags)).send)


class _ETagSender:
    def __init__(self, send: Send, if_none_match: str) -> None:
        self._send = send
        self._if_none_match = if_none_match
        self._start: Message | None = None
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _can_be_tagged(message):
            self._start = message
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self._start)
        else:
            await self._send(message)

    async def _finish(self, start: Message) -> None:
        body = bytes(self._body)
        tag = f'"{sha256(body).hexdigest()[:32]}"'
        headers = MutableHeaders(scope=start)
        headers["etag"] = tag
        headers["cache-control"] = "private, no-cache"
        if etag_matches(tag, self._if_none_match):
            start, body = {**start, "status": 304}, b""
            del headers["content-length"]
            start["headers"] = headers.raw
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body, "more_body": False})


def _can_be_tagged(start: Message) -> bool:
    """Only a whole answer without a tag. Streams of events are passed on as they come."""
    headers = Headers(raw=start["headers"])
    kind = headers.get("content-type", "")
    untagged = start["status"] == 200 and "etag" not in headers
    return untagged and not kind.startswith("text/event-stream")


def etag_matches(tag: str, if_none_match: str) -> bool:
    """Compare weakly, as RFC 9110 says."""
    tags = [text.strip().removeprefix("W/") for text in if_none_match.split(",")]
    return "*" in tags or tag.removeprefix("W/") in tags


class MetricsMiddleware:
    """Counts answers, and times each until it begins: a stream may go on for hours."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, has_begun = time.monotonic(), False

        def count(status: int) -> None:
            nonlocal has_begun
            if not has_begun:
                has_begun = True
                route = getattr(scope.get("route"), "path", None)
                count_answer(scope["method"], route, status, time.monotonic() - began)

        async def send_and_count(message: Message) -> None:
            if message["type"] == "http.response.start":
                count(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, send_and_count)
        except HeadwaterError as trouble:
            count(trouble.status)
            raise
        except Exception:
            count(500)
            raise


SAFE_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex, nofollow",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_SAFE = [(name.encode(), value.encode()) for name, value in SAFE_HEADERS.items()]


class ErrorsAndHeadersMiddleware:
    """Turns errors into answers and adds the safe headers. Answers HEAD as GET without its body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        outgoing = _OutgoingResponse(send, bodiless=scope["method"] == "HEAD")
        if outgoing.bodiless:
            scope = dict(scope) | {"method": "GET", "bodiless": True}
        try:
            await self._app(scope, receive, outgoing.send)
        except HeadwaterError as trouble:
            if isinstance(trouble, DatabaseError) or trouble.status >= 500:
                # 502 is about the host that we asked: a feed that is not there is no error of ours.
                log = logger.info if trouble.status == 502 else logger.error
                log("request_failed", code=trouble.code, problem=trouble.message)
            await outgoing.refuse(error_response(trouble), trouble, scope, receive)
        except Exception as trouble:
            logger.exception("request_crashed", path=scope["path"])
            await outgoing.refuse(internal_error_response(), trouble, scope, receive)


class _OutgoingResponse:
    """An answer on its way out."""

    def __init__(self, send: Send, *, bodiless: bool) -> None:
        self._send = send
        self._started = False
        self.bodiless = bodiless

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            names = {name.lower() for name, _ in message["headers"]}
            safe = [header for header in _SAFE if header[0] not in names]
            message = {**message, "headers": [*message["headers"], *safe]}
        elif self.bodiless and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await self._send(message)

    async def refuse(
        self, answer: ASGIApp, trouble: Exception, scope: Scope, receive: Receive
    ) -> None:
        """Send an error in place of the answer. When half an answer is sent already, the error is
        raised, and the connection breaks."""
        if self._started:
            raise trouble
        await answer(scope, receive, self.send)
