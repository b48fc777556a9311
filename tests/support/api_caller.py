"""A caller of the API in the same process: plain ASGI, every byte of the request in its hands."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import orjson
from fastapi import FastAPI

HOST = "127.0.0.1:8470"


@dataclass(slots=True)
class Answer:
    """What came back; header names in lower case."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def error(self) -> str:
        """The code of the envelope, once the whole envelope was looked at."""
        said = self.json
        assert said["status_code"] == self.status
        assert isinstance(said["message"], str)
        assert said["detail"]
        assert self.headers["content-type"] == "application/json"
        return str(said["error"])


@dataclass(slots=True)
class Api:
    """Calls one app. `token` goes along as a bearer token."""

    app: FastAPI
    token: str | None = None
    host: str = HOST
    peer: str = "127.0.0.1"

    async def get(self, target: str, **headers: str) -> Answer:
        return await self.ask("GET", target, headers=_named(headers))

    async def post(self, target: str, said: Any = None, **headers: str) -> Answer:
        return await self.ask("POST", target, _json(said), _named(headers))

    async def patch(self, target: str, said: Any, **headers: str) -> Answer:
        return await self.ask("PATCH", target, _json(said), _named(headers))

    async def put(self, target: str, said: Any = None, **headers: str) -> Answer:
        return await self.ask("PUT", target, _json(said), _named(headers))

    async def delete(self, target: str, **headers: str) -> Answer:
        return await self.ask("DELETE", target, headers=_named(headers))

    async def ask(
        self,
        method: str,
        target: str,
        body: bytes | Iterable[bytes] = b"",
        headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    ) -> Answer:
        pieces = [body] if isinstance(body, bytes) else list(body)
        given = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
        return await call(self.app, self._scope(method, target, given, any(pieces)), pieces)

    def _scope(
        self, method: str, target: str, headers: list[tuple[str, str]], has_body: bool
    ) -> dict[str, Any]:
        path, _, query = target.partition("?")
        said = {name.lower() for name, _ in headers}
        usual = [("host", self.host)]
        if self.token is not None:
            usual.append(("authorization", f"Bearer {self.token}"))
        if has_body:
            usual.append(("content-type", "application/json"))
        every = [each for each in usual if each[0] not in said] + headers
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in every],
            "client": (self.peer, 50_000),
            "server": ("127.0.0.1", 8470),
            "state": {},
        }


async def call(app: FastAPI, scope: dict[str, Any], pieces: list[bytes]) -> Answer:
    answer = Answer()
    unread = list(pieces)

    async def receive() -> dict[str, Any]:
        if not unread:
            await asyncio.Event().wait()
        piece = unread.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(unread)}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {
                k.decode().lower(): v.decode("latin-1") for k, v in message["headers"]
            }
        else:
            answer.body += message.get("body", b"")

    await app(scope, receive, send)
    return answer


def _json(said: Any) -> bytes:
    return b"" if said is None else orjson.dumps(said)


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
