"""The API in process, without a server: short commands call the same ASGI app."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import unquote

from headwater.entrypoints.api_request import ApiRequest, ApiResponse, all_headers

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Message, Receive, Send], Awaitable[None]]


class InProcessConnection:
    """Opens the app in a loop of its own, which runs only while a request is answered."""

    is_service = False
    where = "this process"

    def __init__(
        self,
        app: AbstractAsyncContextManager[AsgiApp],
        *,
        host: str,
        token: str | None,
        loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
    ) -> None:
        self._opening = app
        self._host = host
        self._token = token
        self._runner = asyncio.Runner(loop_factory=loop_factory)
        self._stop = asyncio.Event()
        self._life: asyncio.Task[None] | None = None
        self._app: AsgiApp = _not_open

    def open(self) -> Self:
        try:
            self._runner.run(self._start())
        except BaseException:
            self._runner.close()
            raise
        return self

    def ask(self, request: ApiRequest) -> ApiResponse:
        call = call_app(self._app, request, host=self._host, token=self._token)
        return self._runner.run(call)

    def close(self) -> None:
        try:
            self._runner.run(self._end())
        finally:
            self._runner.close()

    async def _start(self) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # One task opens and closes everything, as time limits and task groups need it.
        self._life = asyncio.create_task(self._live(ready))
        await asyncio.wait({self._life, ready}, return_when=asyncio.FIRST_COMPLETED)
        if self._life.done():
            await self._life

    async def _live(self, ready: asyncio.Future[None]) -> None:
        async with self._opening as app, Lifespan(app):
            self._app = app
            ready.set_result(None)
            await self._stop.wait()

    async def _end(self) -> None:
        self._stop.set()
        if self._life is not None:
            await self._life


async def _not_open(scope: Message, receive: Receive, send: Send) -> None:
    raise RuntimeError("The app is asked before it is opened.")


class Lifespan:
    """Starts and stops an ASGI app, as a server would."""

    def __init__(self, app: AsgiApp) -> None:
        """Call it inside a running loop: it starts the task of the app."""
        scope: Message = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._outbox: asyncio.Queue[Message] = asyncio.Queue()
        self._task = asyncio.create_task(_finished(app(scope, self._inbox.get, self._outbox.put)))

    async def __aenter__(self) -> None:
        await self._send("lifespan.startup")

    async def __aexit__(self, *_: object) -> None:
        await self._send("lifespan.shutdown")
        await self._task

    async def _send(self, message_type: str) -> None:
        await self._inbox.put({"type": message_type})
        reply = asyncio.create_task(self._outbox.get())
        await asyncio.wait({reply, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if not reply.done():
            reply.cancel()
            await self._task
            raise RuntimeError(f"The app ended without an answer to {message_type}.")
        answer = reply.result()
        if answer["type"] != f"{message_type}.complete":
            raise RuntimeError(f"{message_type}: {answer.get('message') or answer['type']}")


async def _finished(running: Awaitable[None]) -> None:
    await running


@dataclass(slots=True)
class _Answer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in message.get("headers", ())
            }
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")


async def call_app(
    app: AsgiApp, request: ApiRequest, *, host: str, token: str | None
) -> ApiResponse:
    """Send one request, and return its whole answer."""
    answer = _Answer()
    unread = [{"type": "http.request", "body": request.body, "more_body": False}]

    async def receive() -> Message:
        return unread.pop() if unread else await _wait_forever()

    await app(_scope(request, host, token), receive, answer.send)
    return ApiResponse(answer.status, answer.headers, bytes(answer.body))


async def _wait_forever() -> Message:
    """A caller in the same process never disconnects."""
    await asyncio.Event().wait()
    return {"type": "http.disconnect"}


def _scope(request: ApiRequest, host: str, token: str | None) -> Message:
    headers = all_headers(request, token) | {"host": host}
    if request.body:
        headers["content-length"] = str(len(request.body))
    name, _, port = host.rpartition(":")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(request.path),
        "raw_path": request.path.encode(),
        "query_string": request.query_string.encode(),
        "root_path": "",
        "headers": [(key.encode("latin-1"), v.encode("latin-1")) for key, v in headers.items()],
        "client": ("127.0.0.1", 0),
        "server": (name, int(port)),
        "state": {},
    }
