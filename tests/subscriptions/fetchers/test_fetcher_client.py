"""Registered fetchers over real HTTP: what they are told, and what is made of what they answer."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import orjson
import pytest

from headwater.core.errors import BadSignature
from headwater.core.values.signature import verify
from headwater.subscriptions.fetchers.fetcher_client import HttpFetcherClient
from headwater.subscriptions.fetchers.ports import FetcherAnswer
from headwater.web.address_gate import AddressPolicy, build_address_policy
from headwater.web.limits import WebLimits
from tests.support.clock import START, VirtualClock
from tests.support.site import LOOPBACK, Answer, Site, Talk, redirect, response

KEY = bytes(range(32))
YES = b'{"can_handle": true}'
SOURCE = "https://example.org/feed.xml"
AGENT = "Headwater/test (+https://example.org/about)"


@asynccontextmanager
async def the_fetchers(
    policy: AddressPolicy = LOOPBACK,
    limits: WebLimits | None = None,
    resolve: tuple[str, ...] = (),
) -> AsyncIterator[HttpFetcherClient]:
    fetchers = HttpFetcherClient(
        limits or WebLimits(), policy, clock=VirtualClock(), user_agent=AGENT, resolve=resolve
    )
    try:
        yield fetchers
    finally:
        await fetchers.close()


class Listener(Site):
    """A site that also keeps what was posted."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__(*answers)
        self.bodies: list[bytes] = []

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests.append(head)
        self.bodies.append(await reader.readexactly(int(self.header("content-length") or 0)))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        talk = Talk(head, writer)
        await (talk.say(answer) if isinstance(answer, bytes) else answer(talk))

    def fields(self) -> dict[str, str]:
        lines = self.requests[-1].decode("latin-1").split("\r\n")[1:-2]
        return {name: value for name, _, value in (line.partition(": ") for line in lines)}


async def asked(answer: Answer, deadline: float = 5.0) -> FetcherAnswer:
    async with Listener(answer) as site, the_fetchers() as fetchers:
        return await fetchers.can_handle(site.url(""), KEY, SOURCE, "rss", deadline)


async def test_the_question_is_posted_under_the_base_url_as_small_signed_json() -> None:
    async with Listener(response(body=YES)) as site, the_fetchers() as fetchers:
        answer = await fetchers.can_handle(f"{site.url()}", KEY, SOURCE, "rss", 5.0)
    assert answer == FetcherAnswer("yes", "yes")
    assert site.requests[0].startswith(b"POST /can-handle-subscription HTTP/1.1\r\n")
    assert json.loads(site.bodies[0]) == {"source_url": SOURCE, "source_type": "rss"}
    fields = site.fields()
    message_id = verify(KEY, fields, site.bodies[0], START + timedelta(minutes=4))
    assert message_id.startswith("msg_")
    assert {name: fields[name] for name in ("User-Agent", "Content-Type", "Accept")} == {
        "User-Agent": AGENT,
        "Content-Type": "application/json",
        "Accept": "application/json",
    }
    assert "Expect" not in fields


async def test_every_question_has_an_id_of_its_own() -> None:
    async with Listener(response(body=YES)) as site, the_fetchers() as fetchers:
        await fetchers.can_handle(site.url(), KEY, SOURCE, "rss", 5.0)
        first = site.fields()["webhook-id"]
        await fetchers.can_handle(site.url(), KEY, SOURCE, "rss", 5.0)
    assert site.fields()["webhook-id"] != first


async def test_a_fetcher_may_be_slower_than_a_feed() -> None:
    async def slow(talk: Talk) -> None:
        await asyncio.sleep(0.2)
        await talk.say(response(body=YES))

    impatient = WebLimits(first_byte=0.05, idle=0.05)
    async with Listener(slow) as site, the_fetchers(limits=impatient) as fetchers:
        answer = await fetchers.can_handle(site.url(), KEY, SOURCE, "rss", 5.0)
        reply = await fetchers.post(site.url("/news"), KEY, b"{}", 5.0)
    assert answer == FetcherAnswer("yes", "yes")
    assert (reply.status, reply.trouble) == (200, None)


async def test_without_a_key_a_question_is_not_signed() -> None:
    async with Listener(response(body=YES)) as site, the_fetchers() as fetchers:
        await fetchers.can_handle(site.url(), None, SOURCE, "rss", 5.0)
    with pytest.raises(BadSignature):
        verify(KEY, site.fields(), site.bodies[0], START)


async def test_a_prefix_of_the_base_url_stays_in_front() -> None:
    async with Listener(response(body=YES)) as site, the_fetchers() as fetchers:
        await fetchers.can_handle(site.url("/fetchers/mikan/"), KEY, SOURCE, "rss", 5.0)
    assert site.paths == ["/fetchers/mikan/can-handle-subscription"]


@pytest.mark.parametrize(
    ("answer", "verdict", "code"),
    [
        (response(body=b'{"can_handle": false}'), "no", "no"),
        (response(body=b'{"can_handle": true, "priority": 9223372036854775808}'), "yes", "yes"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "no", "no_content"),
        (response("204 No Content", body=YES), "no", "no_content"),
        (response(body=b'{"can_handle": "true"}'), "silent", "bad_answer"),
        (response(body=b"<html>hello</html>"), "silent", "bad_json"),
        (response(body=b"[" * 20_000), "silent", "too_deep"),
        (response("400 Bad Request", body=YES), "silent", "http_400"),
        (response("503 Service Unavailable", body=YES), "silent", "http_503"),
        (response("200 OK", body=YES, length=1000), "silent", "incomplete_body"),
        (response("200 OK", body=b" " * 65_537), "silent", "body_too_large"),
        (response("200 OK", body=YES, length=10 * 2**30), "silent", "body_too_large"),
        (b"hello\r\n\r\n", "silent", "bad_http"),
        (b"", "silent", "connection_lost"),
        (
            response("200 OK", "Content-Encoding: gzip", body=gzip.compress(b" " * 2**24)),
            "silent",
            "bad_json",
        ),
    ],
)
async def test_each_answer_on_the_wire_has_one_reading(
    answer: bytes, verdict: str, code: str
) -> None:
    said = await asked(answer)
    assert (said.verdict, said.code) == (verdict, code)


async def test_an_answer_without_end_is_left_at_the_limit() -> None:
    async def endless(talk: Talk) -> None:
        await talk.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await talk.say_for_ever(b"1000\r\n" + b" " * 0x1000 + b"\r\n")

    assert (await asked(endless)).code == "body_too_large"


async def test_silence_ends_with_the_deadline() -> None:
    said = await asked(Talk.stay_silent, deadline=0.1)
    assert (said.verdict, said.code) == ("silent", "timeout")
    assert (await asked(response(body=YES), deadline=0.0)).code == "timeout"


async def test_a_redirect_is_not_followed() -> None:
    async with Listener(response(body=YES)) as elsewhere:
        said = await asked(redirect(elsewhere.url("/can-handle-subscription"), "307 Temporary"))
    assert (said.code, elsewhere.connections) == ("http_307", 0)


async def test_nobody_there_is_silence() -> None:
    async with the_fetchers() as fetchers:
        said = await fetchers.can_handle("http://127.0.0.1:9", KEY, SOURCE, "rss", 5.0)
    assert (said.verdict, said.code) == ("silent", "connect_error")


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:80?x=", "ftp://example.org", ""])
async def test_a_base_url_that_is_none_is_silence(base_url: str) -> None:
    async with the_fetchers() as fetchers:
        said = await fetchers.can_handle(base_url, KEY, SOURCE, "rss", 5.0)
    assert (said.verdict, said.code) == ("silent", "bad_url")


async def test_a_private_fetcher_is_reached_only_when_the_operator_named_it() -> None:
    async with Listener(response(body=YES)) as site:
        for rules, verdict, code in (
            ((), "silent", "blocked_address"),
            ((f"127.0.0.1:{site.port + 1}",), "silent", "blocked_address"),
            ((f"127.0.0.1:{site.port}",), "yes", "yes"),
            (("127.0.0.0/8",), "yes", "yes"),
        ):
            async with the_fetchers(build_address_policy(rules)) as fetchers:
                said = await fetchers.can_handle(site.url(), KEY, SOURCE, "rss", 5.0)
            assert (said.verdict, said.code) == (verdict, code)
    assert site.connections == 2


async def test_a_public_name_that_leads_to_this_machine_is_stopped_at_the_socket() -> None:
    async with Listener(response(body=YES)) as site:
        policy = build_address_policy(ports=[site.port])
        pinned = (f"fetch.example.org:{site.port}:127.0.0.1",)
        async with the_fetchers(policy, resolve=pinned) as fetchers:
            url = site.url("", host="fetch.example.org")
            said = await fetchers.can_handle(url, KEY, SOURCE, "rss", 5.0)
    assert (said.verdict, said.code, site.connections) == ("silent", "blocked_address", 0)


async def test_cancelling_a_question_leaves_nothing_behind() -> None:
    async with Site(Talk.stay_silent) as site, the_fetchers() as fetchers:
        asking = asyncio.create_task(fetchers.can_handle(site.url(), KEY, SOURCE, "rss", 60.0))
        await site.asked()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    async with Listener(response(body=YES)) as again, the_fetchers() as fetchers:
        assert (await fetchers.can_handle(again.url(), KEY, SOURCE, "rss", 5.0)).verdict == "yes"


async def test_news_is_posted_with_the_id_it_was_given_and_its_reply_comes_back() -> None:
    body = orjson.dumps({"text": "x" * 2_000_000})
    async with Listener(response("202 Accepted", body=b"thanks")) as site, the_fetchers() as ours:
        reply = await ours.post(site.url("/subscriptions"), KEY, body, 5.0, message_id="evt_1")
    assert (reply.status, reply.body, reply.trouble) == (202, b"thanks", None)
    assert site.bodies == [body]
    assert verify(KEY, site.fields(), body, START) == "evt_1"


async def test_trouble_with_a_post_is_in_its_reply() -> None:
    async with the_fetchers() as fetchers:
        reply = await fetchers.post("http://127.0.0.1:9/subscriptions", KEY, b"{}", 5.0)
        refused = await fetchers.post("http://10.0.0.1/subscriptions", KEY, b"{}", 5.0)
    assert (reply.status, reply.trouble) == (None, "connect_error")
    assert (refused.status, refused.trouble) == (None, "blocked_address")


async def test_one_fetcher_is_never_asked_more_than_so_many_questions_at_once() -> None:
    """The rest waits for its turn; another fetcher is asked meanwhile."""
    async with (
        Site(Talk.stay_silent) as site,
        Site(response(body=YES)) as other,
        the_fetchers() as fetchers,
    ):
        asking = [
            asyncio.create_task(fetchers.can_handle(site.url(), KEY, SOURCE, "rss", 60.0))
            for _ in range(40)
        ]
        await site.asked(32)
        said = await fetchers.can_handle(other.url(), KEY, SOURCE, "rss", 60.0)
        assert (said.verdict, site.connections, len(site.requests)) == ("yes", 32, 32)
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)


async def test_who_waits_for_a_turn_runs_out_of_time_all_the_same() -> None:
    async with Site(Talk.stay_silent) as site, the_fetchers() as fetchers:
        said = await asyncio.gather(
            *(fetchers.can_handle(site.url(), KEY, SOURCE, "rss", 0.5) for _ in range(40))
        )
    assert {answer.code for answer in said} == {"timeout"}
