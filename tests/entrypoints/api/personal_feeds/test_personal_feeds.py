"""What a feed reader gets to see: the feed, nothing twice, and a plain word where there is none."""

import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi import FastAPI
from lxml import etree

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import ConnectionLost
from headwater.core.values.instant import to_micros
from headwater.entrypoints.api.app import create_app
from headwater.entrypoints.api.personal_feeds import personal_feeds
from headwater.parse.parser import parse
from headwater.publish.opml import parse_opml
from headwater.settings import Settings
from tests.support.api_caller import Answer, Api
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.readers import Readers
from tests.support.scripted_engine import ScriptedWeb, an_engine

ADMIN = "an-admin-token-of-the-tests"
TOKEN = "hwr_aTokenOfAda"
BASE = "http://127.0.0.1:8470"


@pytest.fixture
def engine(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> EngineParts:
    return an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)


@pytest.fixture
def readers(engine: EngineParts) -> Readers:
    return Readers(engine)


@pytest.fixture
def app(engine: EngineParts, tmp_path: Path) -> Callable[..., Api]:
    """Behind an admin token, which nobody here sends."""

    def made(token: str | None = None, **settings: object) -> Api:
        every: dict[str, Any] = {"data_dir": tmp_path, "admin_token": ADMIN} | settings
        return Api(create_app(engine.services, Settings(**every)), token)

    return made


@pytest.fixture
def api(app: Callable[..., Api]) -> Api:
    return app()


def titles(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.body
    return [
        entry.title.value if entry.title else "" for entry in parse(answer.body, url=BASE).entries
    ]


PATHS = ["/rss", "/atom", "/feed.json"]
KINDS = {
    "/rss": "application/rss+xml",
    "/atom": "application/atom+xml",
    "/feed.json": "application/feed+json",
}
sqlite_only = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


@pytest.mark.parametrize("path", PATHS)
async def test_a_token_opens_its_readers_feed(api: Api, readers: Readers, path: str) -> None:
    await readers.opened("Ada", "rivers", "lakes", token=TOKEN)
    await readers.item("rivers", "first")
    await readers.item("lakes", "second")
    await readers.item("seas", "not hers")
    answer = await api.get(f"{path}?token={TOKEN}")
    assert titles(answer) == ["second", "first"]
    assert answer.headers["content-type"] == KINDS[path]
    assert answer.headers["content-length"] == str(len(answer.body))
    assert answer.headers["cache-control"] == "private, max-age=300"
    assert answer.headers["vary"] == "accept-encoding"
    assert "noindex" in answer.headers["x-robots-tag"]
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["link"] == f'<{BASE}{path}>; rel="self"'
    assert TOKEN.encode() not in answer.body


@sqlite_only
async def test_without_an_admin_token_it_is_the_same(
    engine: EngineParts, readers: Readers, tmp_path: Path
) -> None:
    open_to_all = Api(create_app(engine.services, Settings(data_dir=tmp_path)))
    await readers.opened("Ada", "rivers", token=TOKEN)
    await readers.item("rivers", "first")
    assert titles(await open_to_all.get(f"/rss?token={TOKEN}")) == ["first"]
    assert (await open_to_all.get("/rss?token=other")).status == 404
    assert (await open_to_all.get("/rss")).status == 422


@sqlite_only
@pytest.mark.parametrize("path", PATHS)
async def test_nothing_to_show_is_a_valid_feed(api: Api, readers: Readers, path: str) -> None:
    await readers.opened("Ada", token=TOKEN)
    await readers.opened("Ben", "nothing came here", token="t2")
    for token in (TOKEN, "t2"):
        assert titles(await api.get(f"{path}?token={token}")) == []


@sqlite_only
async def test_the_limit_counts_from_the_newest(app: Callable[..., Api], readers: Readers) -> None:
    await readers.opened("Ada", "rivers", token=TOKEN)
    for number in range(8):
        await readers.item("rivers", str(number))
    api = app(personal_limit=3, personal_limit_max=6)
    assert titles(await api.get(f"/rss?token={TOKEN}&limit=2")) == ["7", "6"]
    assert len(titles(await api.get(f"/rss?token={TOKEN}&limit=6"))) == 6
    for text in ("0", "7", "x", ""):
        refused = await api.get(f"/rss?token={TOKEN}&limit={text}")
        assert (refused.status, refused.error) == (422, "validation_error")
        assert refused.json["detail"][0]["loc"] == ["query", "limit"]


@sqlite_only
async def test_categories_narrow_the_feed_to_ones_own(api: Api, readers: Readers) -> None:
    await readers.opened("Ada", "rivers", "lakes", "a&b c", token=TOKEN)
    for category in ("rivers", "lakes", "a&b c", "seas"):
        await readers.item(category, category)
    ask = f"/rss?token={TOKEN}"
    assert titles(await api.get(f"{ask}&category=lakes")) == ["lakes"]
    assert titles(await api.get(f"{ask}&category=a%26b+c&category=rivers")) == ["a&b c", "rivers"]
    foreign = await api.get(f"{ask}&category=seas")
    nowhere = await api.get(f"{ask}&category=atlantis")
    assert titles(foreign) == []
    assert (foreign.body, foreign.headers) == (nowhere.body, nowhere.headers)
    chosen = await api.get(f"{ask}&category=lakes&limit=9")
    assert f"{BASE}/rss?" in chosen.headers["link"]
    assert "category=lakes" in chosen.headers["link"]
    assert TOKEN not in chosen.headers["link"]


@pytest.mark.parametrize("path", PATHS)
async def test_an_unchanged_feed_is_not_sent_twice(
    api: Api, readers: Readers, virtual_clock: VirtualClock, path: str
) -> None:
    await readers.opened("Ada", "rivers", token=TOKEN)
    await readers.item("rivers", "first")
    await virtual_clock.advance(300)
    ask = f"{path}?token={TOKEN}"
    first = await api.get(ask)
    assert first.headers["last-modified"] == "Mon, 05 Jan 2026 12:00:00 GMT"
    tag, since = first.headers["etag"], first.headers["last-modified"]
    for conditions in (
        {"if_none_match": tag},
        {"if_none_match": f'"other", {tag}'},
        {"if_none_match": "*"},
        {"if_modified_since": since},
        {"if_none_match": tag, "if_modified_since": "Mon, 05 Jan 2015 12:00:00 GMT"},
    ):
        again = await api.get(ask, **conditions)
        assert (again.status, again.body) == (304, b""), conditions
        for name in ("etag", "cache-control", "vary", "last-modified"):
            assert again.headers[name] == first.headers[name]
        assert "content-length" not in again.headers
        assert "content-type" not in again.headers
    for conditions in (
        {"if_none_match": '"other"'},
        {"if_none_match": '"other"', "if_modified_since": since},
        {"if_modified_since": "Mon, 05 Jan 2026 11:59:59 GMT"},
        {"if_modified_since": "never"},
    ):
        assert (await api.get(ask, **conditions)).body == first.body, conditions
    await virtual_clock.advance(1)
    await readers.item("rivers", "second")
    await virtual_clock.advance(1)
    assert titles(await api.get(ask, if_none_match=tag)) == ["second", "first"]
    assert titles(await api.get(ask, if_modified_since=since)) == ["second", "first"]


@sqlite_only
async def test_an_item_of_the_same_second_is_not_missed_by_those_who_ask_by_time(
    api: Api, readers: Readers, virtual_clock: VirtualClock
) -> None:
    await readers.opened("Ada", "rivers", token=TOKEN)
    await readers.item("rivers", "first")
    await virtual_clock.advance(0.1)
    first = await api.get(f"/rss?token={TOKEN}")
    await readers.item("rivers", "second")
    await virtual_clock.advance(0.6)
    since = first.headers["last-modified"]
    again = await api.get(f"/rss?token={TOKEN}", if_modified_since=since)
    assert titles(again) == ["second", "first"]


@sqlite_only
async def test_gzip_for_those_who_take_it(api: Api, readers: Readers) -> None:
    await readers.opened("Ada", "rivers", token=TOKEN)
    await readers.item("rivers", "first")
    plain = await api.get(f"/rss?token={TOKEN}")
    zipped = await api.get(f"/rss?token={TOKEN}", accept_encoding="deflate, gzip")
    assert zipped.headers["content-encoding"] == "gzip"
    assert zipped.headers["content-length"] == str(len(zipped.body))
    assert gzip.decompress(zipped.body) == plain.body
    assert "content-encoding" not in plain.headers
    refused = await api.get(f"/rss?token={TOKEN}", accept_encoding="gzip;q=0")
    assert refused.body == plain.body
    # The tag is weak: it stands for both.
    assert zipped.headers["etag"] == plain.headers["etag"]
    assert plain.headers["etag"].startswith('W/"')


@sqlite_only
async def test_head_says_what_get_says(api: Api, readers: Readers) -> None:
    await readers.opened("Ada", "rivers", token=TOKEN)
    await readers.item("rivers", "first")
    for path in (*PATHS, "/opml"):
        whole = await api.get(f"{path}?token={TOKEN}")
        head = await api.ask("HEAD", f"{path}?token={TOKEN}")
        assert (head.status, head.body) == (200, b"")
        assert head.headers == whole.headers
    tag = (await api.get(f"/rss?token={TOKEN}")).headers["etag"]
    asked = await api.ask("HEAD", f"/rss?token={TOKEN}", headers={"if-none-match": tag})
    assert asked.status == 304


@sqlite_only
async def test_other_methods_do_nothing_here(app: Callable[..., Api]) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert (await app().ask(method, f"/rss?token={TOKEN}")).status == 401
        known = await app(ADMIN).ask(method, f"/rss?token={TOKEN}")
        assert (known.status, known.headers["allow"]) == (405, "GET, HEAD")


@sqlite_only
async def test_links_begin_where_the_operator_says_and_name_the_hub(
    app: Callable[..., Api], readers: Readers, engine: EngineParts
) -> None:
    await readers.opened("Ada", "rivers", token=TOKEN)
    api = app(public_base_url="https://feeds.example/here/", hub_url="https://hub.example/")
    answer = await api.get(f"/atom?token={TOKEN}")
    assert answer.headers["link"] == (
        '<https://feeds.example/here/atom>; rel="self", <https://hub.example/>; rel="hub"'
    )
    root = etree.fromstring(answer.body, etree.XMLParser())
    links = {each.get("rel"): each.get("href") for each in root if each.tag.endswith("}link")}
    assert links["self"] == "https://feeds.example/here/atom"


@sqlite_only
async def test_how_long_it_may_be_kept_is_a_setting(
    app: Callable[..., Api], readers: Readers
) -> None:
    await readers.opened("Ada", "rivers", token=TOKEN)
    answer = await app(personal_max_age_sec=7).get(f"/rss?token={TOKEN}")
    assert answer.headers["cache-control"] == "private, max-age=7"


# Errors -----------------------------------------------------------------------------------------


@sqlite_only
@pytest.mark.parametrize("path", [*PATHS, "/opml"])
async def test_every_refusal_in_its_own_words(
    api: Api, readers: Readers, virtual_clock: VirtualClock, path: str
) -> None:
    reader = await readers.reader("Ada", "rivers")
    now = to_micros(virtual_clock.now())
    revoked = await readers.token(reader, "revoked")
    await readers.token(reader, "ended", until=now + 1_000_000)
    await readers.engine.personal.end_token(revoked, until=now, revoked=True, now=now)
    await virtual_clock.advance(2)
    missing = await api.get(path)
    assert (missing.status, missing.error) == (422, "validation_error")
    assert missing.json["detail"] == [
        {"type": "missing", "loc": ["query", "token"], "msg": "Field required"}
    ]
    for text in ("", "%20", "a%00b", "%D0%B0"):
        refused = await api.get(f"{path}?token={text}")
        assert (refused.status, refused.error) == (401, "unauthorized")
        assert refused.json["detail"] == "Invalid RSS token"
    answers = [await api.get(f"{path}?token={text}") for text in ("unknown", "ended", "revoked")]
    for refused in answers:
        assert (refused.status, refused.error) == (404, "not_found")
        assert refused.json["detail"] == "RSS token not found"
        assert refused.headers["cache-control"] == "no-store"
        assert (refused.body, refused.headers) == (answers[0].body, answers[0].headers)


@asynccontextmanager
async def store_away(engine: EngineParts, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    async def away(*_: object) -> None:
        raise ConnectionLost("no route to postgresql://user:secret@db.internal/headwater")

    with monkeypatch.context() as patch:
        for name in ("holder", "changes", "newest"):
            patch.setattr(type(engine.personal), name, away)
        yield


@sqlite_only
async def test_a_store_that_is_away_is_told_and_nothing_old_is_shown(
    api: Api, readers: Readers, engine: EngineParts, virtual_clock: VirtualClock, monkeypatch: Any
) -> None:
    await readers.opened("Ada", "rivers", token=TOKEN)
    for path in ("/rss", "/atom"):  # the second one is not remembered yet when the store goes
        async with store_away(engine, monkeypatch):
            await virtual_clock.advance(2)
            refused = await api.get(f"{path}?token={TOKEN}")
            assert (refused.status, refused.error) == (500, "connection_error")
            assert refused.json["detail"] == "RSS service temporarily unavailable"
            assert refused.headers["retry-after"] == "5"
            assert b"secret" not in refused.body
        await virtual_clock.advance(2)
        assert (await api.get(f"{path}?token={TOKEN}")).status == 200


# How often --------------------------------------------------------------------------------------


@sqlite_only
async def test_each_token_has_its_own_rate(
    app: Callable[..., Api], readers: Readers, virtual_clock: VirtualClock
) -> None:
    reader = await readers.opened("Ada", "rivers", token=TOKEN)
    await readers.token(reader, "another")
    api = app(personal_rate_per_minute=3)
    for path in PATHS:
        assert (await api.get(f"{path}?token={TOKEN}")).status == 200
    answer = await api.get(f"/opml?token={TOKEN}")
    assert answer.status == 429
    assert answer.error == "rate_limited"
    assert answer.headers["retry-after"] == "20"
    assert (await api.get("/rss?token=another")).status == 200
    await virtual_clock.advance(20)
    assert (await api.get(f"/rss?token={TOKEN}")).status == 200
    assert (await api.get(f"/rss?token={TOKEN}")).status == 429


@sqlite_only
async def test_guesses_are_counted_by_address_and_lock_nobody_out(
    app: Callable[..., Api], readers: Readers, virtual_clock: VirtualClock
) -> None:
    await readers.opened("Ada", "rivers", token=TOKEN)
    await readers.opened("Ben", "rivers", token="asked-for-the-first-time")
    api = app(personal_guesses_per_minute=4)
    assert (await api.get(f"/rss?token={TOKEN}")).status == 200
    guesses = ["a", "b", "%00", "c", "d", "%00"]
    statuses = [(await api.get(f"/rss?token={text}")).status for text in guesses]
    assert statuses == [404, 404, 401, 404, 429, 429]
    assert (await api.get(f"/rss?token={TOKEN}")).status == 200
    assert (await api.get("/atom?token=asked-for-the-first-time")).status == 200
    api.peer = "203.0.113.9"
    assert (await api.get("/rss?token=d")).status == 404
    api.peer = "127.0.0.1"
    await virtual_clock.advance(15)
    assert (await api.get("/rss?token=d")).status == 404


@sqlite_only
async def test_one_network_of_ipv6_is_one_guesser(app: Callable[..., Api]) -> None:
    api = app(personal_guesses_per_minute=2)
    statuses = []
    for peer in ("2001:db8::1", "2001:db8::ffff:2", "2001:db8::3", "2001:db8:0:1::1"):
        api.peer = peer
        statuses.append((await api.get("/rss?token=x")).status)
    assert statuses == [404, 404, 429, 404]


@sqlite_only
async def test_nothing_is_counted_without_an_admin_token(
    engine: EngineParts, readers: Readers, tmp_path: Path
) -> None:
    few = Settings(data_dir=tmp_path, personal_rate_per_minute=1, personal_guesses_per_minute=1)
    api = Api(create_app(engine.services, few))
    await readers.opened("Ada", "rivers", token=TOKEN)
    for _ in range(3):
        assert (await api.get(f"/rss?token={TOKEN}")).status == 200
        assert (await api.get("/rss?token=x")).status == 404


# The list of feeds ------------------------------------------------------------------------------


@sqlite_only
async def test_a_reader_gets_a_list_of_their_feeds(api: Api, readers: Readers) -> None:
    await readers.opened("Ada", "rivers", 'a&b "c"/<d>, e', token="t+/=&<")
    answer = await api.get("/opml?token=t%2B%2F%3D%26%3C")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/x-opml"
    assert answer.headers["cache-control"] == "no-store"
    assert "etag" not in answer.headers
    rows = {row.title: row.url for row in parse_opml(answer.body)}
    token = "t%2B%2F%3D%26%3C"
    assert rows == {
        "Everything I follow": f"{BASE}/rss?token={token}",
        "rivers": f"{BASE}/rss?token={token}&category=rivers",
        'a&b "c"/<d>, e': f"{BASE}/rss?token={token}&category=a%26b+%22c%22%2F%3Cd%3E%2C+e",
    }
    await readers.item("rivers", "first")
    await readers.item('a&b "c"/<d>, e', "second")
    assert titles(await api.get(rows["Everything I follow"].removeprefix(BASE))) == [
        "second",
        "first",
    ]
    assert titles(await api.get(rows['a&b "c"/<d>, e'].removeprefix(BASE))) == ["second"]
    assert b"Ada" not in answer.body


@sqlite_only
async def test_a_feed_of_nothing_that_is_followed_does_not_pass_for_the_whole_one(
    api: Api, readers: Readers
) -> None:
    await readers.opened("Ada", "rivers", token=TOKEN)
    whole = await api.get(f"/feed.json?token={TOKEN}")
    other = await api.get(f"/feed.json?token={TOKEN}&category=lakes")
    assert whole.json["feed_url"] == f"{BASE}/feed.json"
    assert other.json["feed_url"] == f"{BASE}/feed.json?category="
    assert other.json["_headwater"]["id"] != whole.json["_headwater"]["id"]
    assert (await api.get(f"/feed.json?category=&token={TOKEN}")).body == other.body


@sqlite_only
async def test_no_name_in_the_list_shows_the_token(api: Api, readers: Readers) -> None:
    await readers.opened("Ada", " ", "\n\t", "rivers", token=TOKEN)
    names = [row.title for row in parse_opml((await api.get(f"/opml?token={TOKEN}")).body)]
    assert names == ["Everything I follow", "(blank)", "(blank)", "rivers"]


@sqlite_only
async def test_the_list_is_of_the_format_and_size_that_was_asked_for(
    app: Callable[..., Api], readers: Readers
) -> None:
    await readers.opened("Ada", "rivers", "lakes", token=TOKEN)
    api = app(public_base_url="https://feeds.example/here")
    ask = f"/opml?token={TOKEN}"
    chosen = await api.get(f"{ask}&format=json&limit=5&category=lakes&category=seas")
    base = "https://feeds.example/here"
    assert [row.url for row in parse_opml(chosen.body)] == [
        f"{base}/feed.json?token={TOKEN}&category=lakes&limit=5"
    ]
    atom = parse_opml((await api.get(f"{ask}&format=atom")).body)
    assert [row.url.partition("?")[0] for row in atom] == [f"{base}/atom"] * 3
    refused = await api.get(f"{ask}&format=opml")
    assert refused.status == 422
    assert refused.json["detail"][0]["loc"] == ["query", "format"]


# The description --------------------------------------------------------------------------------


@sqlite_only
async def test_the_api_describes_what_the_ring_answers(app: Callable[..., Api]) -> None:
    schema = orjson.loads((await app(ADMIN).get("/openapi.json")).body)
    for path in (*PATHS, "/opml"):
        operation = schema["paths"][path]["get"]
        assert operation["security"] == []
        required = [each["name"] for each in operation["parameters"] if each["required"]]
        assert required == ["token"]
    assert schema["paths"]["/feeds"]["get"].get("security") is None


@sqlite_only
@pytest.mark.parametrize("path", [*PATHS, "/opml"])
async def test_the_routes_say_what_the_ring_says(api: Api, readers: Readers, path: str) -> None:
    """The ring comes first; behind it stand routes that do the same."""
    await readers.opened("Ada", "rivers", token=TOKEN)
    answer = await api.get(f"{path}?token={TOKEN}")
    ringless = FastAPI(routes=[*personal_feeds.router.routes])
    ringless.state.feed_server = api.app.state.feed_server
    routed = await Api(ringless).get(f"{path}?token={TOKEN}")
    assert (routed.status, routed.body) == (answer.status, answer.body) == (200, answer.body)
    assert routed.headers.items() <= answer.headers.items()


@sqlite_only
async def test_answers_are_counted_under_their_route(
    api: Api, app: Callable[..., Api], readers: Readers
) -> None:
    await readers.opened("Ada", "rivers", token=TOKEN)
    await api.get(f"/rss?token={TOKEN}")
    await api.get("/atom?token=unknown")
    shown = (await app(ADMIN).get("/metrics")).body.decode()
    counted = [line for line in shown.splitlines() if line.startswith("headwater_api_requests")]
    assert any('route="/rss"' in line and 'status="2xx"' in line for line in counted)
    assert any('route="/atom"' in line and 'status="4xx"' in line for line in counted)
    assert TOKEN not in shown
