"""Attacks on the REST way in (J 127-130, L): each test names the case it stands for."""

import asyncio
import itertools
import logging
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from headwater.adapters.database import SqlDatabase, open_database
from headwater.core.errors import BadSettings
from headwater.entrypoints.api.app import create_app
from headwater.entrypoints.server.listener import build_server
from headwater.personal_feeds.database_store import PersonalDatabase
from headwater.personal_feeds.served_feeds import PersonalFeeds, PersonalPolicy
from headwater.settings import Settings
from tests.support.api_caller import Answer, Api
from tests.support.api_routes import RIGHTS
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.scripted_engine import River, ScriptedWeb, an_engine, an_entry

ADMIN = "an-admin-token-of-the-tests"
FEED = "01900000-0000-7000-8000-000000000001"
WITHOUT_A_TOKEN = {"/healthz": 200, "/rss": 422, "/atom": 422, "/feed.json": 422, "/opml": 422}
"""What is answered to everybody; the last four open for a reader's own token alone."""
SQLITE = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


@pytest.fixture
def engine(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> EngineParts:
    return an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)


@pytest.fixture
def river(engine: EngineParts) -> River:
    return River(engine, ScriptedWeb())


@pytest.fixture
def api(engine: EngineParts, tmp_path: Path) -> Api:
    return Api(create_app(engine.services, Settings(data_dir=tmp_path)))


@pytest.fixture
def guarded(engine: EngineParts, tmp_path: Path) -> Callable[..., Api]:
    def app(token: str | None = ADMIN, **settings: object) -> Api:
        every = {"data_dir": tmp_path, "admin_token": ADMIN} | settings
        return Api(create_app(engine.services, Settings(**every)), token)  # type: ignore[arg-type]

    return app


async def token_of(admin: Api, scope: str) -> str:
    return str((await admin.post("/tokens", {"name": scope, "scope": scope})).json["token"])


async def operations(api: Api) -> list[tuple[str, str]]:
    """Every route of the OpenAPI, with ids that do not exist."""
    schema = (await api.get("/openapi.json")).json
    return [
        (verb.upper(), path.replace("{feed_id}", FEED).replace("{", "").replace("}", ""))
        for path, verbs in schema["paths"].items()
        for verb in verbs
    ]


@SQLITE
async def test_154_every_route_is_closed_to_all_but_its_scope(
    guarded: Callable[..., Api],
) -> None:
    admin = guarded()
    found = await operations(admin)
    assert len(found) == len(RIGHTS)
    tokens = {scope: await token_of(admin, scope) for scope in ("read", "admin", "publish")}
    callers = {name: guarded(token) for name, token in tokens.items()}
    strangers = {"nobody": guarded(None), "wrong": guarded("hw_wrong"), "empty": guarded("")}
    for caller in callers.values():
        caller.app.state.context.closing.set()  # so that streams have an end
    reached: dict[str, set[tuple[str, str]]] = {name: set() for name in callers}
    for method, path in found:
        for name, stranger in strangers.items():
            status = (await stranger.ask(method, path)).status
            assert status == WITHOUT_A_TOKEN.get(path, 401), (name, method, path)
        for name, caller in callers.items():
            status = (await caller.ask(method, path)).status
            assert status != 401
            if status != 403:
                reached[name].add((method, path))
    assert reached["admin"] == set(found)
    everybodys = {("GET", path) for path in WITHOUT_A_TOKEN}
    assert reached["publish"] == everybodys | {
        ("POST", "/internal/rss/item"),
        ("POST", "/internal/rss/items"),
    }
    only_looks = {(method, path) for method, path in found if method == "GET"}
    assert reached["read"] == only_looks - {
        ("GET", "/tokens"),
        ("GET", "/status"),
        ("GET", "/fetcher-modules/fetcher_id/events"),
        ("GET", "/readers"),
        ("GET", "/readers/reader_id"),
        ("GET", "/readers/reader_id/tokens"),
        ("GET", "/readers/reader_id/opml"),
    }


@SQLITE
async def test_154_what_does_not_exist_is_told_only_to_those_let_in(
    guarded: Callable[..., Api],
) -> None:
    for target in (
        "/nothing",
        "/feeds/",
        "/docs/oauth2-redirect",
        "/redoc",
        "/metrics/",
        "/console/a/b",
    ):
        refused = await guarded(None).get(target)
        assert (refused.status, refused.error) == (401, "unauthorized")
        assert refused.headers["www-authenticate"].startswith("Bearer")
        missing = await guarded().get(target)
        assert (missing.status, missing.error) == (404, "not_found")
    wrong = await guarded().ask("PUT", "/feeds")
    assert (wrong.status, wrong.error) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "GET, HEAD, POST"


@SQLITE
async def test_154_odd_authorization_headers_open_nothing(guarded: Callable[..., Api]) -> None:
    nobody = guarded(None)
    for headers in (
        [("authorization", ADMIN)],
        [("authorization", f"Basic {ADMIN}")],
        [("authorization", "Bearer")],
        [("authorization", f"Bearer {ADMIN}x")],
        [("authorization", f"Bearer {ADMIN[:-1]}")],
        [("authorization", f"Bearer {'a' * 100_000}")],
        [("authorization", f"Bearer {ADMIN}"), ("authorization", "Bearer x")],
        [("authorization", "Bearer \xff\xfe")],
        [("x-api-key", ADMIN)],
        [("cookie", f"token={ADMIN}")],
    ):
        assert (await nobody.ask("GET", "/feeds", headers=headers)).status == 401
    assert (await nobody.get(f"/feeds?token={ADMIN}")).status == 401
    lower_case = {"authorization": f"bearer {ADMIN}"}
    assert (await nobody.ask("GET", "/feeds", headers=lower_case)).status == 200


@SQLITE
async def test_155_forwarded_headers_give_no_trust(
    engine: EngineParts, tmp_path: Path, guarded: Callable[..., Api]
) -> None:
    claims = {
        "x-forwarded-for": "127.0.0.1",
        "forwarded": "for=127.0.0.1;host=localhost",
        "x-real-ip": "127.0.0.1",
        "x-forwarded-host": "localhost",
    }
    afar = Api(create_app(engine.services, Settings(data_dir=tmp_path)), peer="203.0.113.9")
    refused = await afar.ask("GET", "/feeds", headers=claims)
    assert (refused.status, refused.error) == (403, "forbidden")
    assert (await guarded(None).ask("GET", "/feeds", headers=claims)).status == 401


@SQLITE
async def test_155_without_a_token_only_loopback_is_bound(
    engine: EngineParts, tmp_path: Path
) -> None:
    for host in ("0.0.0.0", "192.168.1.5", "::", "headwater.example"):
        with pytest.raises(BadSettings):
            create_app(engine.services, Settings(data_dir=tmp_path, host=host))
        create_app(
            engine.services, Settings(data_dir=tmp_path, host=host, admin_token=SecretStr("x"))
        )


@SQLITE
async def test_156_only_our_own_names_are_answered_for(guarded: Callable[..., Api]) -> None:
    api = guarded(ADMIN, host="10.1.2.3", public_base_url="https://feeds.example:8443/base")
    for host in (
        "localhost:8470",
        "LOCALHOST",
        "127.0.0.1",
        "[::1]:8470",
        "10.1.2.3:8470",
        "feeds.example",
        "feeds.example.:8443",
    ):
        assert (await api.ask("GET", "/feeds", headers={"host": host})).status == 200, host
    for host in (
        "evil.example",
        "localhost.evil.example",
        "feeds.example.evil",
        "10.1.2.4",
        "a@localhost",
        "localhost/x",
        "localhost:x",
        "",
        "[::1",
    ):
        refused = await api.ask("GET", "/healthz", headers={"host": host})
        assert (refused.status, refused.error) == (421, "misdirected_request"), host
    twice = [("host", "localhost"), ("host", "evil.example")]
    assert (await api.ask("GET", "/feeds", headers=twice)).status == 421
    forged = {"x-forwarded-host": "evil.example"}
    assert b"evil" not in (await api.ask("GET", "/docs", headers=forged)).body


@SQLITE
async def test_157_and_159_other_pages_cannot_use_a_browser_against_us(
    api: Api, river: River
) -> None:
    feed_id = await river.feed()
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:3000"},
        {"origin": "http://localhost:8470"},
        {"origin": "http://127.0.0.1:8470.evil.example"},
        {"origin": "http://[::1"},
        {"origin": "app://127.0.0.1:8470"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        refused = await api.ask("DELETE", f"/feeds/{feed_id}", headers=headers)
        assert (refused.status, refused.error) == (403, "forbidden"), headers
    both = [("origin", "http://127.0.0.1:8470"), ("origin", "https://evil.example")]
    assert (await api.ask("DELETE", f"/feeds/{feed_id}", headers=both)).status == 403
    preflight = await api.ask(
        "OPTIONS",
        "/feeds",
        headers={"origin": "https://evil.example", "access-control-request-method": "POST"},
    )
    assert preflight.status == 405
    reading = await api.get("/feeds", origin="https://evil.example")
    for answer in (preflight, reading):
        assert not [name for name in answer.headers if name.startswith("access-control-")]
    own = {"origin": "http://127.0.0.1:8470", "sec-fetch-site": "same-origin"}
    assert (await api.ask("DELETE", f"/feeds/{feed_id}", headers=own)).status == 200


@SQLITE
async def test_157_our_public_address_is_our_own_page(guarded: Callable[..., Api]) -> None:
    api = guarded(ADMIN, public_base_url="https://feeds.example/")
    body = b'{"name":"a"}'
    for origin, status in (("https://feeds.example", 201), ("http://feeds.example.evil", 403)):
        said = {"host": "127.0.0.1:8470", "origin": origin}
        assert (await api.ask("POST", "/tokens", body, said)).status == status


@SQLITE
async def test_160_and_161_paths_lead_nowhere_else(api: Api) -> None:
    for target in (
        "/..%2f..%2fetc%2fpasswd",
        "/docs/..%2f..%2fetc",
        "//etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/....//etc",
        "/feeds%00",
        "/raw/..%5c..%5cx",
        "/static/../../x",
        "/docs?next=//evil.example",
    ):
        answer = await api.get(target)
        assert answer.status in (200, 404)
        assert "location" not in answer.headers
        assert b"root:" not in answer.body


async def test_162_sql_is_never_made_of_what_callers_say(api: Api, river: River) -> None:
    """On both databases: every filter, cursor and id with the classics."""
    feed_id = await river.feed()
    await river.entries(feed_id, an_entry("1", "One"))
    for text in ("'", "' OR '1'='1", "1; DROP TABLE feeds", "\\", "%27--", "$1", "?", "\u2028"):
        words = "".join(f"%{byte:02x}" for byte in text.encode())
        for target in (
            f"/entries?q={words}",
            f"/entries?category={words}",
            f"/entries?cursor={words}",
            f"/entries?since={words}",
            f"/entries?order_by={words}",
            f"/entries/{words}",
            f"/feeds?url={words}",
            f"/feeds?state={words}",
            f"/feeds/{words}",
            f"/events?type={words}",
            f"/events?after={words}",
        ):
            assert (await api.get(target)).status in (200, 404, 422), target
    assert len((await api.get("/entries")).json["entries"]) == 1


@SQLITE
async def test_164_bodies_are_bounded_and_plain_before_any_handler(api: Api, river: River) -> None:
    feed = f"/feeds/{await river.feed()}"
    pieces = itertools.repeat(b"a" * 65_536, 20)
    for answer, status, code in [
        (await api.ask("POST", "/feeds", pieces), 413, "body_too_large"),
        (await api.ask("POST", "/feeds", b"{}", {"content-length": "1" * 30}), 413, None),
        (await api.ask("POST", "/feeds", b"{}", {"content-length": "104857600"}), 413, None),
        (await api.ask("POST", "/feeds", b"{}", {"content-length": "-1"}), 400, "bad_request"),
        (await api.ask("POST", "/feeds", b"a=b", {"content-type": "text/plain"}), 415, None),
        (await api.ask("POST", "/feeds", b"{}", {"content-type": "text/json"}), 415, None),
        (await api.ask("POST", "/feeds", b"\x1f", {"content-encoding": "gzip"}), 415, None),
        *[(await api.ask("PATCH", feed, body), 422, "validation_error") for body in ODD_BODIES],
    ]:
        assert answer.status == status, answer.body
        assert answer.error == (code or answer.error)
    assert (await api.get(feed)).json["title"] is None


ODD_BODIES = [
    b"[" * 100_000,
    b"[" * 40 + b"]" * 40,
    b'{"a":' * 33 + b"1" + b"}" * 33,
    b'\xef\xbb\xbf{"title":"bom"}',
    b'{"title":"a","title":"b"}',
    b'{"priority":NaN}',
    b'{"priority":Infinity}',
    b'{"priority":1e999}',
    b'{"priority":' + b"9" * 5_000 + b"}",
    b'{"title":"\\ud800"}',
    b'{"title":"a\\u0000b"}',
    b'{"title":"\xff"}',
    b"null",
    b"[]",
    b'"x"',
    b"{",
    b"{}x",
    b"{" + b",".join(b'"k%d":1' % n for n in range(50_000)) + b"}",
]


@SQLITE
async def test_164_a_body_of_the_deepest_allowed_shape_is_read(api: Api) -> None:
    """Refused for its fields, not for its depth."""
    body = b'{"overrides":' + b"[" * 31 + b"]" * 31 + b"}"
    answer = await api.ask("POST", "/feeds", body)
    assert answer.status == 422
    assert answer.json["detail"][0]["loc"] != ["body"]


@SQLITE
async def test_164_a_refusal_is_never_much_larger_than_its_reason(api: Api) -> None:
    many = b"{" + b",".join(b'"k%d":1' % n for n in range(50_000)) + b"}"
    long = b'{"' + b"k" * 900_000 + b'":1}'
    for body in (many, long):
        refused = await api.ask("POST", "/feeds", body)
        assert (refused.status, refused.error) == (422, "validation_error")
        assert len(refused.body) < 10_000


@SQLITE
async def test_167_nobody_assigns_what_is_ours(api: Api) -> None:
    for field in ("id", "created_at", "is_admin", "fence", "state", "claimed_by"):
        said = {"url": "https://a.example/", "visit": "later", field: "x"}
        refused = await api.post("/feeds", said)
        assert (refused.status, refused.error) == (422, "validation_error")
        assert refused.json["detail"][0]["type"] == "extra_forbidden"
    assert (await api.get("/feeds")).json["feeds"] == []


async def test_170_a_lost_database_is_told_on_every_route(
    engine: EngineParts, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """500 with Retry-After, never a stack trace, never success. Metrics tell it by a figure."""
    caplog.set_level(logging.CRITICAL)
    lost = open_database("postgresql://nobody:secret@127.0.0.1:1/none")
    engine.database = lost
    engine.personal = PersonalDatabase(lost, engine.clock)
    engine.personal_feeds = PersonalFeeds(engine.personal, engine.clock, PersonalPolicy())
    api = Api(create_app(engine.services, Settings(data_dir=tmp_path)))
    for method, template in RIGHTS:
        if template in ("/", "/console/{name}", "/docs", "/openapi.json", "/metrics"):
            continue
        path = template.replace("{feed_id}", FEED).replace("{fetch_id}", FEED)
        path = path.replace("{token_id}", "1").replace("{entry_uid:path}", "u")
        path = path.replace("{alias_uid:path}", "u").replace("{subscription_id:path}", "1")
        path = re.sub(r"\{[a-z]+_id\}", "1", path)
        path = path.replace("{name:path}", "all").replace("{name}", "a")
        path += "?all=true" if (method, path[-13:]) == ("DELETE", "/dead-letters") else ""
        path += f"?feed={FEED}" if path == "/trackings/proposal" else ""
        path += "?token=x" if WITHOUT_A_TOKEN.get(path) == 422 else ""
        lines = {"content-type": "application/x-ndjson"} if path.endswith("/rss/items") else {}
        answer = await api.ask(method, path, SAID.get((method, template), b""), lines)
        assert (answer.status, answer.error) == (500, "connection_error"), (method, path)
        assert answer.headers["retry-after"] == "5"
        assert b"secret" not in answer.body
        assert b"Traceback" not in answer.body
    await lost.close()


ITEM = b'{"title":"a","description":"","link":"https://a.example/","category":"a"}'
SAID = {
    ("POST", "/feeds"): b'{"url":"https://a.example/","visit":"later"}',
    ("PATCH", "/feeds/{feed_id}"): b'{"priority":1}',
    ("POST", "/tokens"): b'{"name":"a"}',
    ("POST", "/services/register"): b'{"service_name":"a","base_url":"https://a.example"}',
    ("PATCH", "/fetcher-modules/{fetcher_id}"): b'{"priority":1}',
    ("POST", "/subscriptions"): b'{"source_url":"https://a.example/"}',
    ("PATCH", "/subscriptions/{subscription_id}"): b'{"name":"a"}',
    ("POST", "/conflicts"): b'{"subscription_id":1,"conflict_data":'
    b'{"candidate_fetcher_ids":[1,2]}}',
    ("POST", "/conflicts/{conflict_id}/resolve"): b'{"fetcher_id":1}',
    ("POST", "/fetcher-modules/{fetcher_id}/claims/renew"): b'{"claims":[{"subscription_id":1,'
    b'"scheduled_at":"2026-01-05T12:00:00Z","fence":1}]}',
    ("POST", "/fetcher-results"): b'{"subscription_id":1,"fetcher_id":1,"outcome":"unchanged"}',
    ("PUT", "/subscriptions/{subscription_id}/credentials"): b'{"bearer":"x"}',
    ("POST", "/groups"): b'{"name":"a"}',
    ("PATCH", "/groups/{group_id}"): b'{"name":"a"}',
    ("POST", "/groups/{group_id}/actions"): b'{"action":"pause"}',
    ("PUT", "/groups/{group_id}/credentials"): b'{"bearer":"x"}',
    ("POST", "/sinks"): b'{"name":"a","kind":"ndjson"}',
    ("PATCH", "/sinks/{name}"): b'{"enabled":false}',
    ("POST", "/sinks/{name}/replay"): b'{"from":1}',
    ("POST", "/sinks/{name}/dead-letters/retry"): b'{"all":true}',
    ("POST", "/internal/rss/item"): ITEM,
    ("POST", "/internal/rss/items"): ITEM,
    ("POST", "/readers"): b'{"name":"a"}',
    ("PATCH", "/readers/{reader_id}"): b'{"name":"a"}',
    ("POST", "/shows"): b'{"title":"a"}',
    ("PATCH", "/shows/{show_id}"): b'{"title":"a"}',
    ("POST", "/trackings"): b'{"feed_id":"%b"}' % FEED.encode(),
    ("PATCH", "/trackings/{tracking_id}"): b'{"packs":true}',
    ("POST", "/trackings/{tracking_id}/preview"): b'{"packs":true}',
}


@SQLITE
async def test_170_a_bug_of_ours_says_nothing_about_itself(api: Api, engine: EngineParts) -> None:
    def broken() -> None:
        raise ZeroDivisionError("a secret of the house")

    engine.database.read = broken  # type: ignore[method-assign, assignment]
    with capture_logs():  # the log has it all; drawing it takes structlog seconds
        answer = await api.get("/feeds")
    assert (answer.status, answer.error) == (500, "internal_error")
    assert b"secret" not in answer.body
    assert answer.headers["x-content-type-options"] == "nosniff"


@SQLITE
async def test_172_each_caller_has_a_rate_of_its_own(
    guarded: Callable[..., Api], virtual_clock: VirtualClock
) -> None:
    admin = guarded(ADMIN, api_rate_per_minute=6)
    reader = Api(admin.app, await token_of(admin, "read"))
    statuses = [(await admin.get("/feeds")).status for _ in range(6)]
    assert statuses == [200] * 5 + [429]  # making the token was the sixth
    refused = await admin.get("/feeds")
    assert refused.error == "rate_limited"
    assert refused.headers["retry-after"] == "10"
    assert (await reader.get("/feeds")).status == 200
    await virtual_clock.advance(10)
    assert (await admin.get("/feeds")).status == 200


@SQLITE
async def test_172_guessing_tokens_is_slowed_down_and_locks_nobody_out(
    guarded: Callable[..., Api],
) -> None:
    admin = guarded(ADMIN, api_rate_per_minute=5)
    guesser = Api(admin.app, "hw_guess")
    assert [(await guesser.get("/feeds")).status for _ in range(7)] == [401] * 5 + [429] * 2
    assert (await admin.get("/feeds")).status == 200
    elsewhere = Api(admin.app, "hw_guess", peer="203.0.113.9")
    assert (await elsewhere.get("/feeds")).status == 401


@SQLITE
async def test_172_an_open_loopback_has_no_rate(engine: EngineParts, tmp_path: Path) -> None:
    api = Api(create_app(engine.services, Settings(data_dir=tmp_path, api_rate_per_minute=1)))
    assert {(await api.get("/feeds")).status for _ in range(5)} == {200}


@SQLITE
async def test_175_health_tells_strangers_nothing(guarded: Callable[..., Api]) -> None:
    nobody = guarded(None)
    assert (await nobody.get("/healthz")).body == b'{"status":"ok"}'
    for target in ("/status", "/metrics", "/docs", "/openapi.json"):
        assert (await nobody.get(target)).status == 401


@SQLITE
async def test_130_no_refusal_is_a_page_or_echoes_what_was_sent(api: Api) -> None:
    hostile = "%3Cscript%3Ealert(1)%3C/script%3E"
    answers: list[Answer] = [
        await api.get(f"/feeds/{hostile}"),
        await api.get(f"/raw/{hostile}"),
        await api.get(f"/entries/{hostile}"),
        await api.get(f"/nothing/{hostile}"),
        await api.get(f"/subscriptions/{hostile}"),
        await api.delete(f"/subscriptions/{hostile}"),
        await api.get(f"/conflicts/{hostile}"),
        await api.get(f"/fetcher-modules/{hostile}"),
        await api.get(f"/events?type={hostile}"),
        await api.get(f"/entries?since={hostile}"),
        await api.get(f"/feeds?limit={hostile}"),
        await api.ask("BREW", f"/feeds?x={hostile}"),
        await api.post("/feeds", {"url": "https://a.example/", "<script>alert(1)</script>": 1}),
    ]
    for answer in answers:
        assert answer.status >= 400
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        if answer.error != "validation_error":
            assert b"<script" not in answer.body
            assert b"alert" not in answer.body


@SQLITE
async def test_every_answer_leaves_with_safe_headers(api: Api, river: River) -> None:
    for target in (f"/feeds/{await river.feed()}", "/docs", "/nothing", "/healthz"):
        headers = (await api.get(target)).headers
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-robots-tag"] == "noindex, nofollow"
        assert headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers


@asynccontextmanager
async def served(api: Api) -> AsyncIterator[int]:
    """The app behind the real server on a loopback port."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = build_server(api.app, stop_seconds=1)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await running
        listener.close()


async def wire(port: int, request: bytes) -> bytes:
    """What comes back for these very bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with closing(writer):
        writer.write(request)
        await writer.drain()
        return await asyncio.wait_for(reader.read(), 10)


@SQLITE
async def test_164_and_165_on_the_wire(api: Api) -> None:
    async with served(api) as port:
        head = b"Host: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n"
        chunk = b"10000\r\n" + b"a" * 65_536 + b"\r\n"
        endless = b"POST /feeds HTTP/1.1\r\n" + head + b"Transfer-Encoding: chunked\r\n\r\n"
        assert b" 413 " in (await wire(port, endless + chunk * 17 + b"0\r\n\r\n"))[:20]
        smuggled = (
            b"POST /feeds HTTP/1.1\r\n" + head + b"Content-Length: 5\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /tokens HTTP/1.1\r\n\r\n"
        )
        answer = await wire(port, smuggled)
        assert b" 400 " in answer[:20]
        assert answer.count(b"HTTP/1.1") == 1
        hostless = b"GET /feeds HTTP/1.1\r\nConnection: close\r\n\r\n"
        assert b" 421 " in (await wire(port, hostless))[:20]
        fine = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        answer = await wire(port, fine)
        assert b" 200 " in answer[:20]
        assert b"server:" not in answer.lower()
