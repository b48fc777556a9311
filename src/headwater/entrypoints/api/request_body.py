"""Request bodies, checked before any handler: their size, type, depth, and text that fits."""

import asyncio
import json
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.entrypoints.api.errors import BadBody, BadRequest, BodyTooLarge, WrongMediaType
from headwater.entrypoints.api.router import RouteRules
from headwater.settings import Settings

DEEPEST = 32
_MAY_HAVE_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_LINES = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl"})


_QUICKLY_PARSED = 1024 * 1024
"""Bytes of JSON that are parsed without a thread."""


class RequestBodyMiddleware:
    """Reads a body whole, within the limit of its route, and refuses what is not plain JSON."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in _MAY_HAVE_BODY:
            await self._app(scope, receive, send)
            return
        rules: RouteRules = scope["route_match"].rules
        headers = Headers(scope=scope)
        most: int = getattr(self._settings, rules.most_bytes)
        self._refuse_announced(headers, most)
        body = await self._read(receive, most)
        if body and rules.takes_lines:
            _check_ndjson_type(headers)
        elif body:
            _check_json_type(headers)
            if len(body) <= _QUICKLY_PARSED:
                check_json(body)
            else:  # in a thread, so that others are answered meanwhile
                await asyncio.to_thread(check_json, body)
        await self._app(scope, _replay_body(body, receive), send)

    def _refuse_announced(self, headers: Headers, most: int) -> None:
        announced = headers.get("content-length", "0")
        if not (announced.isascii() and announced.isdigit()):
            raise BadRequest("The Content-Length is not a number.")
        if len(announced) > 18 or int(announced) > most:
            raise _too_large(most)

    async def _read(self, receive: Receive, most: int) -> bytes:
        """Bytes are counted as they come: a chunked body announces no length."""
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise BadRequest("The request ended early.")
            body += message.get("body", b"")
            if len(body) > most:
                raise _too_large(most)
            if not message.get("more_body", False):
                return bytes(body)


def _too_large(most: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is larger than {most} bytes.", most_bytes=most)


def check_json(body: bytes) -> None:
    """BadBody unless this is one plain JSON value that every part of Headwater can hold."""
    try:
        value = json.loads(
            body.decode("utf-8"), object_pairs_hook=_each_key_once, parse_constant=_no_constant
        )
    except RecursionError as trouble:
        raise _bad("too_deep", f"nested deeper than {DEEPEST} levels") from trouble
    except ValueError as trouble:
        raise _bad("json_invalid", "this is not plain JSON in UTF-8") from trouble
    _check_depth_and_text(value)


def _check_depth_and_text(body: Any) -> None:
    level = [body]
    for _ in range(DEEPEST + 1):
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value.keys())
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
            elif isinstance(value, str) and not _is_storable(value):
                raise _bad("string_invalid", "a text has a NUL or half of a character")
        if not below:
            return
        level = below
    raise _bad("too_deep", f"nested deeper than {DEEPEST} levels")


def _is_storable(text: str) -> bool:
    if "\x00" in text:
        return False
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key is there twice")
    return fields


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _bad(kind: str, message: str) -> BadBody:
    return BadBody(
        f"The body does not work: {message}.",
        detail=[{"type": kind, "loc": ["body"], "msg": message}],
    )


def _check_json_type(headers: Headers) -> None:
    if _kind_of(headers) != "application/json":
        raise WrongMediaType("Send JSON, with Content-Type: application/json.")


def _check_ndjson_type(headers: Headers) -> None:
    if _kind_of(headers) not in _LINES:
        raise WrongMediaType("Send lines of JSON, with Content-Type: application/x-ndjson.")


def _kind_of(headers: Headers) -> str:
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise WrongMediaType("Compressed requests are not accepted.")
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _replay_body(body: bytes, receive: Receive) -> Receive:
    unread = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return unread.pop() if unread else await receive()

    return receive_again
