"""Attacks by and through registered fetchers: what they say, where they live, what they learn."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import BadInput, BadSignature, BadUrl, NoCapableFetcher
from headwater.core.values.signature import sign, verify
from headwater.subscriptions.fetchers.address import check_base_url
from headwater.subscriptions.fetchers.ask_fetchers import broadcast_can_handle, choose_fetcher
from headwater.subscriptions.fetchers.builtin import FEED, MIKANANI
from headwater.subscriptions.fetchers.fetcher_client import HttpFetcherClient
from headwater.subscriptions.fetchers.ports import FetcherAnswer, HttpReply
from headwater.subscriptions.fetchers.rank_candidates import BroadcastPolicy
from headwater.web.address_gate import build_address_policy, check_url
from headwater.web.limits import WebLimits
from tests.support.clock import START, VirtualClock
from tests.support.fetcher_registry import Registry, a_registry
from tests.support.site import Answer, Site, Talk, redirect, response

SOURCE = "https://example.org/feed.xml"
YES = response(body=b'{"can_handle": true}')
KEY = bytes(range(32))


@pytest.fixture
def dialect() -> str:
    return "sqlite"


@pytest.fixture
async def registry(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[Registry]:
    async with a_registry(database, virtual_clock, tmp_path) as registry:
        yield registry


# Where a fetcher says it lives


@pytest.mark.parametrize(
    "base_url",
    [
        "http://169.254.169.254",
        "http://[fd00:ec2::254]",
        "http://127.0.0.1",
        "http://127.1:8080",
        "http://2130706433",
        "http://[::ffff:127.0.0.1]",
        "http://localhost:8080",
        "http://10.0.0.7",
        "http://192.168.1.1:8080",
        "http://example.org:22",
        "http://example.org:6379",
    ],
)
def test_a_private_address_or_an_odd_port_is_refused_unless_the_operator_named_it(
    base_url: str,
) -> None:
    checked = check_base_url(base_url)
    with pytest.raises(BadInput):
        check_url(checked, build_address_policy())


@pytest.mark.parametrize(
    "base_url",
    [
        "http://fetch.example.org/..;/admin",
        "http://fetch.example.org/%2e%2e/admin",
        "http://fetch.example.org/?path=/admin",
        "http://fetch.example.org/#",
        "http://user:word@fetch.example.org",
        "http://fetch.example.org\\@10.0.0.1",
        "gopher://fetch.example.org",
        "inproc:feed",
    ],
)
def test_a_base_url_cannot_choose_the_path_or_hide_the_host(base_url: str) -> None:
    with pytest.raises(BadUrl):
        check_base_url(base_url)


async def test_a_private_fetcher_nobody_allowed_is_never_dialled(registry: Registry) -> None:
    """Whatever stands in the table: the gate is where the socket is made."""
    async with Site(YES) as site:
        await registry.register(site.url(""))
        gated = HttpFetcherClient(
            WebLimits(), build_address_policy(), clock=registry.clock, user_agent="Headwater/test"
        )
        registry.engine.fetchers, opened = gated, registry.engine.fetchers
        with pytest.raises(NoCapableFetcher) as caught:
            await choose_fetcher(registry.engine.registry, SOURCE, "rss")
        await opened.close()
        await gated.close()
    assert [each["code"] for each in caught.value.facts["asked"]] == ["blocked_address"]
    assert site.connections == 0


async def test_a_fetcher_cannot_send_us_elsewhere(registry: Registry) -> None:
    async with Site(YES) as inside, Site(redirect(inside.url("/admin"))) as site:
        await registry.register(site.url(""))
        with pytest.raises(NoCapableFetcher):
            await choose_fetcher(registry.engine.registry, SOURCE, "rss")
    assert (site.paths, inside.connections) == (["/can-handle-subscription"], 0)


# What a fetcher answers


async def endless(talk: Talk) -> None:
    await talk.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    await talk.say_for_ever(b"1000\r\n" + b" " * 0x1000 + b"\r\n")


async def dripping(talk: Talk) -> None:
    await talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n")
    await talk.say_for_ever(b" ", every=0.01)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Talk.stay_silent, id="never"),
        pytest.param(dripping, id="a byte at a time"),
        pytest.param(endless, id="without end"),
        pytest.param(response(body=b"{}", length=10 * 2**30), id="10 GB announced"),
        pytest.param(
            response("200 OK", "Content-Encoding: gzip", body=gzip.compress(bytes(2**24))),
            id="a bomb",
        ),
        pytest.param(response(body=b"[" * 60_000), id="deep"),
        pytest.param(response(body=b"yes"), id="no JSON"),
        pytest.param(response("204 No Content", body=b'{"can_handle": true}'), id="204 with body"),
        pytest.param(response(body=b'{"can_handle": "true"}'), id="a text"),
        pytest.param(response(body=b'{"can_handle": 1}'), id="a number"),
        pytest.param(response(body=b'{"can_handle": [true]}'), id="a list"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", id="long header"),
    ],
)
async def test_no_answer_but_a_plain_yes_wins_or_keeps_others_waiting(
    registry: Registry, answer: Answer
) -> None:
    registry.engine.broadcast = BroadcastPolicy(answer_timeout=0.2)
    async with Site(answer) as bad, Site(YES) as good:
        await registry.register(bad.url(""), priority=1_000)
        able = await registry.register(good.url(""), priority=1)
        choice = await choose_fetcher(registry.engine.registry, SOURCE, "rss")
    assert (choice.winner, choice.tied) == (able, ())


async def test_a_priority_in_an_answer_is_worth_nothing(registry: Registry) -> None:
    loud = response(body=b'{"can_handle": true, "priority": 9223372036854775808}')
    async with Site(loud) as boaster, Site(YES) as modest:
        boasting = await registry.register(boaster.url(""), priority=1)
        chosen = await registry.register(modest.url(""), priority=2)
        able = await broadcast_can_handle(registry.engine.registry, SOURCE, "rss")
    assert able[0] == (chosen, 2)
    assert (boasting, 9223372036854775808) not in able


# Many fetchers, and a fetcher that wants everything


@dataclass(slots=True)
class Crowd:
    """Everybody is asked in here; how many were, and how many at the same moment."""

    asked: int = 0
    at_once: int = 0
    most: int = 0
    seen: list[str] = field(default_factory=list)

    async def can_handle(
        self,
        base_url: str,
        signing_key: bytes | None,
        source_url: str,
        source_type: str,
        deadline: float,
    ) -> FetcherAnswer:
        self.asked += 1
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        self.seen.append(source_url)
        await asyncio.sleep(0)
        self.at_once -= 1
        return FetcherAnswer("no", "no")

    async def post(
        self,
        url: str,
        signing_key: bytes | None,
        body: bytes,
        deadline: float,
        message_id: str | None = None,
    ) -> HttpReply:
        raise AssertionError("nobody posts here")

    async def close(self) -> None:
        return None


async def test_a_thousand_registered_fetchers_make_no_flood(registry: Registry) -> None:
    crowd = Crowd()
    registry.engine.fetchers, opened = crowd, registry.engine.fetchers
    await opened.close()
    registry.engine.broadcast = BroadcastPolicy()
    now = 1_000_000
    async with registry.engine.database.write() as tx:
        await tx.run_many(
            "INSERT INTO fetcher_modules (name, version, base_url, priority, is_enabled,"
            " created_at, updated_at) VALUES (?, '1', ?, 50, true, ?, ?)",
            [(f"crowd-{n}", f"http://fetch-{n}.example.org", now, now) for n in range(1_000)],
        )
    with pytest.raises(NoCapableFetcher):
        await choose_fetcher(registry.engine.registry, SOURCE, "rss")
    assert (crowd.asked, crowd.most) == (100, 32)
    feed = await registry.enable("feed")
    assert (await choose_fetcher(registry.engine.registry, SOURCE, "rss")).winner == feed


async def test_a_fetcher_that_claims_everything_gets_only_what_our_priorities_leave_it(
    registry: Registry,
) -> None:
    builtins = {name: await registry.enable(name) for name in ("feed", "mikanani")}
    mikan = "https://mikanani.me/RSS/Bangumi?bangumiId=3215"
    async with Site(YES) as site:
        greedy = await registry.register(site.url(""), priority=5)
        assert (await choose_fetcher(registry.engine.registry, mikan, "rss")).winner == builtins[
            "mikanani"
        ]
        assert (await choose_fetcher(registry.engine.registry, SOURCE, "rss")).winner == builtins[
            "feed"
        ]
        assert (await choose_fetcher(registry.engine.registry, SOURCE, "torrents")).winner == greedy


@pytest.mark.parametrize(
    "source_url",
    [
        "https://evil.example/?mikanani.me",
        "https://evil.example/mikanani.me/RSS",
        "https://evil.example/#mikanani.me",
        "https://evilmikanani.me/RSS",
        "https://mikanani.me.evil.example/RSS",
        "https://mikanani.me@evil.example/RSS",
        "https://evil.example\\mikanani.me/RSS",
    ],
)
def test_a_host_is_matched_by_its_parsed_suffix(source_url: str) -> None:
    assert not MIKANANI.handles(source_url, "rss")
    assert FEED.handles(source_url, "rss")
    assert MIKANANI.handles("https://www.mikanani.me/RSS", "rss")


# What fetchers learn, and who may speak to them


async def test_credentials_in_a_source_url_reach_nobody_before_the_assignment(
    registry: Registry,
) -> None:
    crowd = Crowd()
    registry.engine.fetchers, opened = crowd, registry.engine.fetchers
    await opened.close()
    await registry.register("http://fetch.example.org")
    for url in (
        "https://user:hunter2@tracker.example/rss",
        "https://tracker.example/rss?passkey=hunter2",
        "https://tracker.example/rss?a=b;token=hunter2",
        "https://tracker.example/rss?API_KEY=hunter2&x=1",
        "https://tracker.example/rss?%74oken=hunter2",
    ):
        with pytest.raises(NoCapableFetcher):
            await choose_fetcher(registry.engine.registry, url, "rss")
    assert len(crowd.seen) == 5
    assert "hunter2" not in "".join(crowd.seen)


def test_a_question_that_we_did_not_sign_or_that_is_played_again_is_refused() -> None:
    body = b'{"source_url": "https://example.org/feed.xml", "source_type": "rss"}'
    fields = dict(sign(KEY, "msg_1", START, body))
    assert verify(KEY, fields, body, START + timedelta(minutes=5)) == "msg_1"
    for forged, said, at in (
        (dict(sign(bytes(32), "msg_1", START, body)), body, START),
        (fields, body.replace(b"example.org", b"evil.example"), START),
        (fields | {"webhook-id": "msg_2"}, body, START),
        (fields, body, START + timedelta(minutes=5, seconds=1)),
        ({}, body, START),
    ):
        with pytest.raises(BadSignature):
            verify(KEY, forged, said, at)
