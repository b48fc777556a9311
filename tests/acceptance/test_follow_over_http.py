"""The real thing: real server, real HTTP on loopback, real adapters, a real origin to follow."""

import asyncio
import http.client
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.entrypoints.api.app import create_app
from headwater.entrypoints.server.listener import build_server
from headwater.settings import Settings
from headwater.wiring.app import open_services
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin, Post


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[int]:
    async with open_services(settings) as services:
        engine = EngineParts.of(services)
        listener = socket.create_server(("127.0.0.1", 0))
        server = build_server(create_app(engine.services, settings), stop_seconds=1)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await running
            listener.close()


def ask(
    port: int, method: str, target: str, said: Any = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """One plain HTTP request, as any program would make it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        body = None if said is None else orjson.dumps(said)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            named["Content-Type"] = "application/json"
        connection.request(method, target, body, named)
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


async def test_a_feed_is_followed_over_real_http(database_url: str, tmp_path: Path) -> None:
    async with Origin() as origin:
        feed = origin.feed("/blog.xml", [Post("a/1", "First"), Post("a/2", "Second")])
        settings = Settings(
            data_dir=tmp_path,
            database_url=database_url,
            allow_addresses=["127.0.0.0/8"],
            parser_processes=1,
        )
        async with served(settings) as port:
            await asyncio.to_thread(story, port, feed.url)
        assert len(origin.requests) == 1


def story(port: int, url: str) -> None:
    status, headers, body = ask(port, "POST", "/feeds", {"url": url}, idempotency_key="k")
    assert status == 201, body
    made = orjson.loads(body)
    assert headers["location"] == f"/feeds/{made['id']}"
    again = ask(port, "POST", "/feeds", {"url": url}, idempotency_key="k")
    assert (again[0], again[2]) == (201, body)
    assert ask(port, "POST", "/feeds", {"url": url})[0] == 409
    status, headers, body = ask(port, "GET", "/entries/a%2F1")
    assert (status, orjson.loads(body)["title"]) == (200, "First")
    assert ask(port, "GET", "/entries/a%2F1", if_none_match=headers["etag"])[0] == 304
    assert ask(port, "HEAD", "/entries/a%2F1")[2] == b""
    fetch_id = orjson.loads(body)["raw_refs"][0]["fetch_id"]
    status, headers, body = ask(port, "GET", f"/raw/{fetch_id}")
    assert (status, headers["content-type"]) == (200, "application/octet-stream")
    assert b"<title>First</title>" in body
    events = orjson.loads(ask(port, "GET", "/events")[2])
    told = [event["type"] for event in events["events"]]
    assert told == ["subscription_created", "new_entry", "new_entry"]
    visits = orjson.loads(ask(port, "GET", f"/feeds/{made['id']}/visits")[2])["visits"]
    assert [(visit["outcome"], visit["new_entries"]) for visit in visits] == [("fetched", 2)]
    assert ask(port, "POST", f"/feeds/{made['id']}/refetch")[0] == 429
    assert ask(port, "DELETE", f"/feeds/{made['id']}?hard=true")[0] == 200
    assert ask(port, "GET", f"/raw/{fetch_id}")[0] == 404


async def test_a_feed_that_three_add_at_once_is_asked_for_once(
    database_url: str, tmp_path: Path
) -> None:
    settings = Settings(
        data_dir=tmp_path,
        database_url=database_url,
        allow_addresses=["127.0.0.0/8"],
        parser_processes=1,
    )
    async with Origin() as origin, served(settings) as port:
        feed = origin.feed("/blog.xml", [Post("a/1", "First")])
        said = {"url": feed.url}
        answers = await asyncio.gather(
            *(asyncio.to_thread(ask, port, "POST", "/feeds", said) for _ in range(3))
        )
        assert sorted(status for status, _, _ in answers) == [201, 409, 409]
        told = {status: orjson.loads(body) for status, _, body in answers}
        assert told[409]["error"] == "duplicate_url"
        assert told[409]["feed_id"] == told[201]["id"]
        assert len(origin.requests) == 1


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_the_embedded_database_needs_nothing_but_a_folder(
    database_url: str, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path, database_url=database_url, parser_processes=1)
    async with served(settings) as port:
        status, headers, body = await asyncio.to_thread(ask, port, "GET", "/healthz")
    assert (status, body) == (200, b'{"status":"ok"}')
    assert "server" not in headers
