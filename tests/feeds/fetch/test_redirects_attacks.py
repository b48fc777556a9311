"""A redirect is a URL from a stranger: every hop passes the same gate, and bodies stay unread."""

import brotli
import pytest

from headwater.core.values.response import Validators
from headwater.feeds.fetch.outcome import Failed, Fetched, Outcome
from headwater.feeds.fetch.request_feed import FetchPolicy, FetchRequest, fetch_url
from headwater.web.address_gate import AddressPolicy, build_address_policy
from tests.support.clock import VirtualClock
from tests.support.site import Site, Talk, a_web, redirect, response
from tests.web.test_address_gate_attacks import DISGUISES

HELLO = response(body=b"hello")


def only(*sites: Site) -> AddressPolicy:
    """These sites are open, and their ports everywhere: the rest of loopback is not."""
    ports = {80, *(site.port for site in sites)}
    return build_address_policy([f"{site.address}:{site.port}" for site in sites], ports=ports)


async def asked(site: Site, policy: AddressPolicy | None = None, path: str = "/") -> Outcome:
    gate = policy or only(site)
    async with a_web(policy=gate) as web:
        question = FetchRequest(site.url(path), Validators('"v"', None))
        return await fetch_url(question, FetchPolicy("t", address=gate), web, VirtualClock())


@pytest.mark.parametrize("host", DISGUISES)
async def test_a_hop_to_a_private_address_is_blocked(host: str) -> None:  # 25
    async with Site(HELLO, address="127.0.0.1") as sentinel:
        target = sentinel.url(host=host).encode().decode("latin-1")
        async with Site(redirect(target), address="127.0.0.77") as site:
            gate = build_address_policy(
                [f"127.0.0.77:{site.port}"], ports=[80, site.port, sentinel.port]
            )
            outcome = await asked(site, gate)
    assert isinstance(outcome, Failed)
    assert (outcome.code, sentinel.connections) == ("blocked_address", 0)
    assert outcome.exchange.answer.status == 302
    assert len(outcome.exchange.hops) == 1


@pytest.mark.parametrize(
    "target",
    [
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://example.com/",
        "data:text/xml,<rss/>",
        "javascript:alert(1)",
        "magnet:?xt=urn:btih:0",
        "http://user:password@example.com/",
        "http://exa\tmple.com/",
        "http://[",
        "http://example.com:99999/",
        "http://" + "a" * 5000 + "/",
    ],
)
async def test_a_hop_to_something_else_than_the_web_is_refused(target: str) -> None:  # 26
    async with Site(redirect(target)) as site:
        outcome = await asked(site)
    assert isinstance(outcome, Failed)
    assert (outcome.code, len(site.requests)) == ("bad_redirect", 1)


async def test_a_redirect_to_nowhere_is_refused() -> None:
    async with Site(response("302 Found")) as site:
        outcome = await asked(site)
    assert isinstance(outcome, Failed)
    assert outcome.code == "bad_redirect"


@pytest.mark.parametrize(("ways", "requests"), [(["/"], 1), (["/b", "/"], 2)])
async def test_a_loop_ends_where_it_began(ways: list[str], requests: int) -> None:  # 27
    async with Site(*(redirect(way) for way in ways)) as site:
        outcome = await asked(site)
    assert isinstance(outcome, Failed)
    assert (outcome.code, len(site.requests)) == ("too_many_redirects", requests)


async def test_an_endless_chain_ends_after_five_redirects() -> None:  # 27
    async def onward(talk: Talk) -> None:
        await talk.say(redirect(f"/{len(site.requests)}"))

    async with Site(onward) as site:
        outcome = await asked(site)
    assert isinstance(outcome, Failed)
    assert (outcome.code, len(site.requests)) == ("too_many_redirects", 6)


async def test_five_redirects_are_followed() -> None:
    hops = [redirect(f"/{number}") for number in range(5)]
    async with Site(*hops, HELLO) as site:
        assert isinstance(await asked(site), Fetched)


async def test_nothing_secret_travels_to_another_origin() -> None:  # 29, 65
    cookie = response("302 Found", "Set-Cookie: id=1; Path=/", "Location: {}")
    async with Site(HELLO, address="127.0.0.2") as there:
        first = cookie.replace(b"{}", there.url("/x").encode())
        async with Site(first) as here:
            outcome = await asked(here, only(here, there))
    assert isinstance(outcome, Fetched)
    names = [line.split(":")[0] for line in there.requests[0].decode().split("\r\n")[1:] if line]
    assert names == ["Host", "User-Agent", "Accept", "Accept-Encoding", "If-None-Match"]


async def test_the_body_of_a_redirect_is_never_read_or_decoded() -> None:  # 30
    bomb = brotli.compress(b"\0" * 100_000_000, quality=1)
    first = response("302 Found", "Location: /b", "Content-Encoding: br", body=bomb)
    async with Site(first, HELLO) as site:
        outcome = await asked(site)
    assert isinstance(outcome, Fetched)
    assert outcome.exchange.answer.body == b"hello"


async def test_a_refresh_header_is_not_followed() -> None:  # 34
    async with Site(response("200 OK", "Refresh: 0; url=/b", body=b"<html>")) as site:
        outcome = await asked(site)
    assert isinstance(outcome, Fetched)
    assert (len(site.requests), outcome.exchange.hops) == (1, ())


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/ünï", "/%C3%BCn%C3%AF"),  # raw UTF-8, as many servers send it
        ("?a=1", "/x/y?a=1"),
        ("../z", "/z"),
        ("//{}/w", "/w"),
        ("/with space", "/with%20space"),
        ("/frag#ment", "/frag"),
    ],
)
async def test_relative_and_untidy_locations_are_understood(location: str, path: str) -> None:
    async with Site(HELLO) as site:
        where = location.format(f"127.0.0.1:{site.port}").encode().decode("latin-1")
        site.answers.insert(0, redirect(where))
        assert isinstance(await asked(site, path="/x/y"), Fetched)
    assert site.paths == ["/x/y", path]
