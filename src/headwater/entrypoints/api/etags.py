"""Conditional GETs of our own: an answer the caller has already costs no body."""

from hashlib import sha256

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Etags:
    """The tag is the hash of the body, so it can neither be wrong nor tell of anybody else's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        asked = Headers(scope=scope).getlist("if-none-match")
        await self._app(scope, receive, _Tagging(send, ", ".join(asked)).send)


class _Tagging:
    def __init__(self, send: Send, asked: str) -> None:
        self._send = send
        self._asked = asked
        self._start: Message | None = None
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _has_an_end(message):
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
        if is_known(tag, self._asked):
            start, body = {**start, "status": 304}, b""
            del headers["content-length"]
            start["headers"] = headers.raw
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body, "more_body": False})


def _has_an_end(start: Message) -> bool:
    """A whole answer; a stream of events goes through as it comes, and so does one with a tag."""
    headers = Headers(raw=start["headers"])
    kind = headers.get("content-type", "")
    plain = start["status"] == 200 and "etag" not in headers
    return plain and not kind.startswith("text/event-stream")


def is_known(tag: str, asked: str) -> bool:
    """If-None-Match, compared weakly as RFC 9110 says."""
    given = [each.strip().removeprefix("W/") for each in asked.split(",")]
    return "*" in given or tag.removeprefix("W/") in given
