"""Attacks on personal feeds and their tokens: guessed, leaked, mixed up, and used elsewhere."""

import asyncio
import io
import logging
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog

from headwater.adapters.database import SqlDatabase
from headwater.auth.tokens import SECRET_BYTES, token_hash
from headwater.core.errors import ConnectionLost
from headwater.core.telemetry.log import configure
from headwater.core.values.instant import to_micros
from headwater.entrypoints.api.app import create_app
from headwater.parse.parser import parse
from headwater.settings import Settings
from tests.support.api_caller import Answer, Api
from tests.support.api_server import served
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.readers import Readers
from tests.support.scripted_engine import ScriptedWeb, an_engine

ADMIN = "an-admin-token-of-the-tests"
PLANTED = "hwr_PlantedTokenThatMustNotBeSeenAnywhere0123456789"
PATHS = ("/rss", "/atom", "/feed.json", "/opml")

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


@pytest.fixture
def engine(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> EngineParts:
    return an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)


@pytest.fixture
def readers(engine: EngineParts) -> Readers:
    return Readers(engine)


@pytest.fixture
def app(engine: EngineParts, tmp_path: Path) -> Callable[..., Api]:
    def made(token: str | None = None, **settings: object) -> Api:
        every: dict[str, Any] = {
            "data_dir": tmp_path,
            "admin_token": ADMIN,
            "personal_guesses_per_minute": 1_000_000,
            "personal_rate_per_minute": 1_000_000,
        }
        return Api(create_app(engine.services, Settings(**(every | settings))), token)

    return made


def titles(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.body
    return [
        entry.title.value if entry.title else ""
        for entry in parse(answer.body, url="http://127.0.0.1:8470").entries
    ]


# Tokens that open nothing -----------------------------------------------------------------------


async def test_whatever_does_not_open_looks_the_same(
    app: Callable[..., Api], readers: Readers, virtual_clock: VirtualClock
) -> None:
    """Unknown, revoked, ended, of a reader that is gone, of another kind: one answer."""
    ada = await readers.reader("Ada", "rivers")
    gone = await readers.opened("Ben", "rivers", token="of-ben")
    now = to_micros(virtual_clock.now())
    revoked = await readers.token(ada, "revoked")
    await readers.token(ada, "ended", until=now + 1)
    store = readers.engine.personal
    await store.end_token(revoked, until=now, revoked=True, now=now)
    await store.remove_reader(gone.id, now)
    await virtual_clock.advance(1)
    api = app()
    api_token = (await app(ADMIN).post("/tokens", {"name": "r", "scope": "read"})).json["token"]
    for path in PATHS:
        answers = [
            await api.get(f"{path}?token={token}")
            for token in ("wrong", "revoked", "ended", "of-ben", ADMIN, api_token)
        ]
        assert {answer.status for answer in answers} == {404}
        assert {answer.body for answer in answers} == {answers[0].body}
        assert {tuple(answer.headers.items()) for answer in answers} == {
            tuple(answers[0].headers.items())
        }


async def test_what_is_looked_up_is_a_hash_so_time_tells_nothing_of_a_prefix(
    app: Callable[..., Api], readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokens that share a long beginning with a real one, or nothing: the same work for each."""
    await readers.opened("Ada", "rivers", token=PLANTED)
    looked: list[bytes] = []
    plain = type(readers.engine.personal).holder

    async def watched(self: Any, hashed: bytes, token: str, now: int) -> Any:
        looked.append(hashed)
        return await plain(self, hashed, token, now)

    monkeypatch.setattr(type(readers.engine.personal), "holder", watched)
    api, took = app(), dict[str, list[float]](near=[], far=[])
    near, far = [PLANTED[:-2] + f"{n:02}" for n in range(90)], [f"{n:051}" for n in range(90)]
    for pair in zip(near, far, strict=True):
        for kind, token in zip(("near", "far"), pair, strict=True):
            began = time.perf_counter()
            answer = await api.get(f"/rss?token={token}")
            took[kind].append(time.perf_counter() - began)
            assert answer.status == (200 if token == PLANTED else 404)
    assert [hashed for hashed in looked if hashed != token_hash(PLANTED)] == [
        token_hash(token)
        for pair in zip(near, far, strict=True)
        for token in pair
        if token != PLANTED
    ]
    # Generous, as the machine may be busy: an early end of a comparison would not even show here.
    ratio = statistics.median(took["near"]) / statistics.median(took["far"])
    assert 0.5 < ratio < 2.0


@pytest.mark.parametrize("path", PATHS)
async def test_odd_ways_to_give_a_token_are_refused_with_little_work(
    app: Callable[..., Api], readers: Readers, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await readers.opened("Ada", "rivers", token=PLANTED)

    async def never(*_: object) -> None:
        raise AssertionError("the store was asked")

    monkeypatch.setattr(type(readers.engine.personal), "holder", never)
    monkeypatch.setattr(type(readers.engine.personal), "changes", never)
    api = app()
    for query, status in {
        f"token={PLANTED}&token={PLANTED}": 422,
        f"token={PLANTED}&token=b": 422,
        f"token[]={PLANTED}": 422,
        f"token[0]={PLANTED}": 422,
        f"token.x={PLANTED}": 422,
        f"Token={PLANTED}": 422,
        f"token={PLANTED}%00": 401,
        f"token=%00{PLANTED}": 401,
        f"token={PLANTED}%0d%0aX-Header:1": 401,
        f"token=+{PLANTED}": 401,
        f"token={PLANTED[:-1]}%D0%B0": 401,
        f"token={'a' * 20_000}": 401,
        f"token={'a' * 1_000_000}": 401,
        f"token={PLANTED}{'&a=1' * 20_000}": 422,
        f"token={PLANTED}&limit=1%00": 422,
    }.items():
        answer = await api.get(f"{path}?{query}")
        assert answer.status == status, query[:80]
        assert len(answer.body) < 1_000
        assert PLANTED.encode() not in answer.body
    for headers in ({"authorization": f"Bearer {PLANTED}"}, {"cookie": f"token={PLANTED}"}):
        assert (await api.ask("GET", path, headers=headers)).status == 422


async def test_a_token_of_a_megabyte_never_reaches_us(engine: EngineParts, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, port=0)
    async with served(engine, settings) as service:
        with socket.create_connection(service.place, timeout=10) as peer:
            peer.setblocking(False)
            head = b"GET /rss?token=" + b"a" * 1_000_000
            assert await _hung_up_on(peer, head)


async def _hung_up_on(peer: socket.socket, data: bytes) -> bool:
    loop = asyncio.get_running_loop()
    try:
        await loop.sock_sendall(peer, data)
        return await asyncio.wait_for(loop.sock_recv(peer, 1_000), 10) == b""
    except (ConnectionError, BrokenPipeError):
        return True


async def test_a_flood_of_guesses_ends_in_429_and_locks_nobody_out(
    app: Callable[..., Api], readers: Readers
) -> None:
    """Tokens have 256 bits: guessing is hopeless anyway, and made slow."""
    assert SECRET_BYTES * 8 >= 128
    await readers.opened("Ada", "rivers", token=PLANTED)
    api = app(personal_guesses_per_minute=30)
    statuses = [(await api.get(f"/rss?token=guess-{n}")).status for n in range(300)]
    assert statuses[:30] == [404] * 30
    assert set(statuses[30:]) == {429}
    refused = await api.get("/rss?token=one-more")
    assert int(refused.headers["retry-after"]) >= 1
    assert (await api.get(f"/rss?token={PLANTED}")).status == 200


async def test_addresses_that_guess_cost_bounded_memory(app: Callable[..., Api]) -> None:
    api = app(personal_guesses_per_minute=1)
    for number in range(12_000):
        api.app.state.feed_server._authenticator.note_guess(f"2001:db8:{number % 65536:x}::1")
    assert len(api.app.state.feed_server._authenticator._guesses._buckets) <= 10_000


# What belongs to others -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["*", "?", "[a-z]", "..", "a:b", "%", "_", "ri*", "rivers:", "\\*", "rivers\n", "RIVERS"],
)
async def test_names_of_categories_are_plain_names(
    app: Callable[..., Api], readers: Readers, name: str
) -> None:
    await readers.opened("Ada", "rivers", "a", "b", token="of-ada")
    await readers.opened("Eve", name, token="of-eve")
    for category in ("rivers", "a", "b", "a:b:c"):
        await readers.item(category, category)
    api = app()
    assert titles(await api.get("/rss?token=of-eve")) == []
    await readers.item(name, "of eve")
    await readers.engine.clock.advance(1)  # type: ignore[attr-defined]
    assert titles(await api.get("/rss?token=of-eve")) == ["of eve"]
    assert "of eve" not in titles(await api.get("/rss?token=of-ada"))


async def test_a_category_of_somebody_else_is_as_empty_as_one_that_is_not_there(
    app: Callable[..., Api], readers: Readers
) -> None:
    await readers.opened("Ada", "rivers", token="of-ada")
    await readers.opened("Eve", "lakes", token="of-eve")
    await readers.item("rivers", "secret of ada")
    api = app()
    for path in ("/rss", "/atom", "/feed.json"):
        foreign = await api.get(f"{path}?token=of-eve&category=rivers")
        nowhere = await api.get(f"{path}?token=of-eve&category=nowhere")
        assert titles(foreign) == []
        assert (foreign.body, foreign.headers) == (nowhere.body, nowhere.headers)
    listed = await api.get("/opml?token=of-eve&category=rivers")
    assert b"rivers" not in listed.body


async def test_the_tag_of_one_reader_says_nothing_to_another(
    app: Callable[..., Api], readers: Readers
) -> None:
    """Even where both follow the same, and so would get the same items."""
    await readers.opened("Ada", "rivers", token="of-ada")
    await readers.opened("Ada's twin", "rivers", token="of-eve")
    await readers.item("rivers", "first")
    api = app()
    for path in ("/rss", "/atom", "/feed.json"):
        tags = {}
        for token in ("of-ada", "of-eve"):
            tags[token] = (await api.get(f"{path}?token={token}")).headers["etag"]
        assert tags["of-ada"] != tags["of-eve"]
        crossed = await api.get(f"{path}?token=of-eve", if_none_match=tags["of-ada"])
        assert crossed.status == 200
        stolen = await api.get(f"{path}?token=unknown", if_none_match=tags["of-ada"])
        assert stolen.status == 404
        assert (await api.get(f"{path}?token=unknown", if_none_match="*")).status == 404


async def test_one_token_opens_one_kind_of_door(app: Callable[..., Api], readers: Readers) -> None:
    await readers.opened("Ada", "rivers", token=PLANTED)
    nobody, bearer = app(), app(PLANTED)
    for target in ("/feeds", "/status", "/readers", "/tokens", "/events", "/metrics", "/docs"):
        assert (await bearer.get(target)).status == 401
        assert (await nobody.get(f"{target}?token={PLANTED}")).status == 401
    said = {"title": "t", "description": "d", "link": "https://x.example/", "category": "rivers"}
    assert (await bearer.post("/internal/rss/item", said)).status == 401
    admin = app(ADMIN)
    for scope in ("read", "admin", "publish", "register"):
        token = (await admin.post("/tokens", {"name": scope, "scope": scope})).json["token"]
        for path in PATHS:
            assert (await nobody.get(f"{path}?token={token}")).status == 404
            assert (await app(token).get(path)).status == 422  # a head is no address
    for path in PATHS:
        assert (await nobody.get(f"{path}?token={ADMIN}")).status == 404


# What leaks -------------------------------------------------------------------------------------


@contextmanager
def everything_logged() -> Iterator[io.StringIO]:
    """Every line at every level, as it would be written."""
    before = structlog.get_config()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    out = io.StringIO()
    configure("debug", "json", out)
    try:
        yield out
    finally:
        structlog.configure(**before)
        root.handlers[:] = handlers
        root.setLevel(level)


def files_with(text: str, folder: Path) -> list[Path]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert files
    return [file for file in files if text.encode() in file.read_bytes()]


async def test_a_planted_token_appears_nowhere(
    app: Callable[..., Api],
    engine: EngineParts,
    readers: Readers,
    tmp_path: Path,
    virtual_clock: VirtualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not in logs at any level, exceptions, metrics, events, other answers, or the database."""
    await readers.opened("Ada", "rivers", token=PLANTED)
    await readers.item("rivers", "first")
    settings = Settings(data_dir=tmp_path, port=0, admin_token=ADMIN)
    with everything_logged() as out:
        async with served(engine, settings) as service:
            for path in PATHS:
                for query in (
                    f"token={PLANTED}",
                    f"token={PLANTED}&limit=0",
                    f"token={PLANTED}&token=x",
                    f"token={PLANTED}x",
                    f"token={PLANTED}%00",
                ):
                    answer = await _raw(service.place, f"{path}?{query}")
                    if path != "/opml":
                        assert PLANTED.encode() not in answer
            await _raw(service.place, f"/meta/all.xml?token={PLANTED}")
            await _raw(service.place, f"/rss/{PLANTED}")
            await _raw(service.place, f"/feeds?token={PLANTED}")
            await _trouble(service.place, engine, monkeypatch, virtual_clock)
            metrics = await _raw(service.place, "/metrics", f"Authorization: Bearer {ADMIN}")
        await engine.personal_feeds.flush()
    said = out.getvalue()
    assert "request_crashed" in said  # so that there was something to leak
    assert "request_failed" in said
    assert '"path":"/rss/REDACTED"' in said
    assert PLANTED not in said
    assert b"headwater_api_requests" in metrics
    assert PLANTED.encode() not in metrics
    assert files_with(PLANTED, tmp_path) == []


async def _trouble(
    place: tuple[str, int],
    engine: EngineParts,
    monkeypatch: pytest.MonkeyPatch,
    clock: VirtualClock,
) -> None:
    """The store away, and a bug of our own: both say something to the log."""
    for trouble in (ConnectionLost("away"), RuntimeError("a bug")):

        async def broken(*_: object, trouble: Exception = trouble) -> None:
            raise trouble

        await clock.advance(1)
        with monkeypatch.context() as patch:
            patch.setattr(type(engine.personal), "changes", broken)
            answer = await _raw(place, f"/rss?token={PLANTED}")
        assert answer.startswith(b"HTTP/1.1 500 ")
        assert PLANTED.encode() not in answer


async def _raw(place: tuple[str, int], target: str, *fields: str) -> bytes:
    reader, writer = await asyncio.open_connection(*place)
    head = [f"GET {target} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *fields]
    writer.write(("\r\n".join(head) + "\r\n\r\n").encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_no_link_holds_a_token_or_a_name(app: Callable[..., Api], readers: Readers) -> None:
    await readers.opened("Ada-Lovelace", "rivers", token=PLANTED)
    await readers.item("rivers", "first")
    api = app(hub_url="https://hub.example/")
    for path in ("/rss", "/atom", "/feed.json"):
        answer = await api.get(f"{path}?token={PLANTED}&limit=5&category=rivers&user=Ada-Lovelace")
        assert PLANTED.encode() not in answer.body
        assert b"user=" not in answer.body
        for line in answer.body.replace(b",", b"\n").replace(b">", b">\n").splitlines():
            if b"http" in line and b"<title>" not in line:
                assert b"Ada-Lovelace" not in line, line
        head = " ".join(answer.headers.values())
        assert PLANTED not in head
        assert "Ada-Lovelace" not in head


async def test_crawlers_are_told_to_stay_away(app: Callable[..., Api], readers: Readers) -> None:
    await readers.opened("Ada", "rivers", token=PLANTED)
    api = app()
    for path in PATHS:
        for query in (f"token={PLANTED}", "token=unknown", "token=", ""):
            answer = await api.get(f"{path}?{query}")
            assert "noindex" in answer.headers["x-robots-tag"]
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert "access-control-allow-origin" not in answer.headers
            shared = answer.headers["cache-control"]
            assert shared == "no-store" or shared.startswith("private, ")


async def test_another_host_gets_no_feed(app: Callable[..., Api], readers: Readers) -> None:
    """A page elsewhere that points its own name at this machine."""
    await readers.opened("Ada", "rivers", token=PLANTED)
    api = app()
    api.host = "evil.example"
    assert (await api.get(f"/rss?token={PLANTED}")).status == 421
