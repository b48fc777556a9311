"""The command line's way to the API: the same answers over HTTP and in process."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import orjson
import pytest

from headwater.core.errors import BadSettings, ConnectionLost
from headwater.entrypoints.api_request import ApiConnection, ApiRequest
from headwater.entrypoints.cli.http_connection import HttpConnection, ServiceUnreachable
from headwater.entrypoints.server.in_process import (
    AsgiApp,
    InProcessConnection,
    Message,
    Receive,
    Send,
)


class Mirror(BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    protocol_version = "HTTP/1.1"
    drop_next = False

    def do_GET(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        said = {
            "method": self.command,
            "target": self.path,
            "body": self.rfile.read(length).decode(),
            "authorization": self.headers.get("authorization"),
            "type": self.headers.get("content-type"),
            "key": self.headers.get("idempotency-key"),
        }
        body = orjson.dumps(said)
        self.send_response(418)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Thing", "Yes")
        self.end_headers()
        self.wfile.write(body)
        # The server says nothing, but closes: what a keep-alive limit looks like from outside.
        self.close_connection = Mirror.drop_next

    do_POST = do_GET  # noqa: N815 -- the name http.server calls

    def log_message(self, format: str, *args: object) -> None:
        return


async def mirror_app(scope: Message, receive: Receive, send: Send) -> None:
    """The same mirror as an ASGI app."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
        return
    asked = await receive()
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    query = scope["query_string"].decode()
    said = {
        "method": scope["method"],
        "target": scope["path"] + (f"?{query}" if query else ""),
        "body": asked["body"].decode(),
        "authorization": headers.get("authorization"),
        "type": headers.get("content-type"),
        "key": headers.get("idempotency-key"),
    }
    body = orjson.dumps(said)
    await send({"type": "http.response.start", "status": 418, "headers": [(b"X-Thing", b"Yes")]})
    await send({"type": "http.response.body", "body": body[:10], "more_body": True})
    await send({"type": "http.response.body", "body": body[10:]})


async def _lifespan(receive: Receive, send: Send) -> None:
    for phase in ("startup", "shutdown"):
        assert (await receive())["type"] == f"lifespan.{phase}"
        await send({"type": f"lifespan.{phase}.complete"})


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Mirror) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


@asynccontextmanager
async def opened(app: AsgiApp) -> AsyncIterator[AsgiApp]:
    # A time limit must be left by the task that entered it: so is an engine's task group.
    async with asyncio.timeout(30):
        yield app


@pytest.fixture(params=["http", "in process"])
def caller(request: pytest.FixtureRequest, server: str) -> Iterator[ApiConnection]:
    made: ApiConnection = (
        HttpConnection(server, "secret")
        if request.param == "http"
        else InProcessConnection(opened(mirror_app), host="127.0.0.1:8470", token="secret").open()
    )
    yield made
    made.close()


def test_a_question_arrives_whole_on_both_ways(caller: ApiConnection) -> None:
    reply = caller.ask(
        ApiRequest(
            "POST", "/feeds", {"a": "x y&z", "b": None}, b'{"n":1}', {"Idempotency-Key": "k"}
        )
    )
    assert reply.status == 418
    assert reply.headers["x-thing"] == "Yes"
    assert reply.record == {
        "method": "POST",
        "target": "/feeds?a=x+y%26z",
        "body": '{"n":1}',
        "authorization": "Bearer secret",
        "type": "application/json",
        "key": "k",
    }


def test_several_questions_one_after_the_other(caller: ApiConnection) -> None:
    targets = [caller.ask(ApiRequest("GET", f"/feeds/{n}")).record["target"] for n in range(3)]
    assert targets == ["/feeds/0", "/feeds/1", "/feeds/2"]


def test_a_connection_closed_meanwhile_is_opened_again(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mirror, "drop_next", True)
    caller = HttpConnection(server, None)
    for _ in range(3):
        assert caller.ask(ApiRequest("GET", "/feeds")).status == 418
    caller.close()


def test_nobody_there_is_told_with_what_to_do() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ServiceUnreachable, match="Start it with `headwater run`"):
        HttpConnection(f"http://127.0.0.1:{port}", None).ask(ApiRequest("GET", "/feeds"))


def test_a_base_path_stays_in_front(server: str) -> None:
    caller = HttpConnection(server + "/river/", None)
    assert caller.ask(ApiRequest("GET", "/feeds")).record["target"] == "/river/feeds"
    caller.close()


@pytest.mark.parametrize(
    "url",
    ["localhost:8470", "ftp://x/", "http://", "http://x:99999/", "http://x/ü", "http://ü..org/"],
)
def test_what_is_no_service_address_is_a_bad_setting(url: str) -> None:
    with pytest.raises(BadSettings):
        HttpConnection(url, None)


def test_an_engine_that_cannot_be_opened_is_told_as_itself() -> None:
    @asynccontextmanager
    async def engine(reachable: bool) -> AsyncIterator[AsgiApp]:
        if not reachable:
            raise ConnectionLost("The database cannot be reached.")
        yield mirror_app

    with pytest.raises(ConnectionLost):
        InProcessConnection(engine(False), host="127.0.0.1:1", token=None).open()


def test_an_app_that_fails_to_start_is_not_asked() -> None:
    async def failing(scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no luck"})

    with pytest.raises(RuntimeError, match="no luck"):
        InProcessConnection(opened(failing), host="127.0.0.1:1", token=None).open()


def test_the_app_in_process_is_closed_in_order() -> None:
    told: list[str] = []

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        for _ in range(2):
            message = await receive()
            told.append(message["type"])
            await send({"type": f"{message['type']}.complete"})

    @asynccontextmanager
    async def engine() -> AsyncIterator[AsgiApp]:
        told.append("opened")
        yield app
        told.append("closed")

    InProcessConnection(engine(), host="127.0.0.1:1", token=None).open().close()
    assert told == ["opened", "lifespan.startup", "lifespan.shutdown", "closed"]


def test_a_token_from_a_file_with_other_line_ends_works(server: str) -> None:
    with closing(HttpConnection(server, "a-token\r\n")) as caller:
        assert caller.ask(ApiRequest("GET", "/x")).record["authorization"] == "Bearer a-token"


def test_a_token_in_several_lines_is_refused_and_not_repeated(server: str) -> None:
    with pytest.raises(BadSettings) as told:
        HttpConnection(server, "very\nsecret").ask(ApiRequest("GET", "/x"))
    assert "secret" not in str(told.value)


def test_a_token_that_is_not_ascii_is_refused_and_not_repeated(server: str) -> None:
    with pytest.raises(BadSettings, match="not plain ASCII") as told:
        HttpConnection(server, "s3cret你").ask(ApiRequest("GET", "/x"))
    assert "s3cret" not in str(told.value)
