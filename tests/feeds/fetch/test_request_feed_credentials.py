"""What a private feed is shown, over real HTTP: at home, nowhere else, and never on record."""

from headwater.core.values.response import Validators, header
from headwater.core.values.url import REDACTED, origin_of
from headwater.feeds.fetch.outcome import Failed, Fetched, Outcome
from headwater.feeds.fetch.request_feed import ACCEPT, FetchPolicy, FetchRequest, fetch_url
from headwater.feeds.keyring import Basic, Credentials, Keyring
from tests.support.clock import VirtualClock
from tests.support.site import LOOPBACK, Site, a_web, redirect, response

POLICY = FetchPolicy(user_agent="Headwater/1", address=LOOPBACK)
RSS = b"<rss/>"


def keys_for(*sites: Site) -> Keyring:
    origins = tuple(origin_of(site.url()) for site in sites)
    secrets = Credentials(
        origins,
        headers=(("X-Odd-Name", "geheim-1"), ("Accept", "text/x-special")),
        cookies=(("sid", "geheim-2"),),
        basic=Basic("me", "geheim-3"),
    )
    return Keyring(origins[0], (secrets,))


async def asked(site: Site, keys: Keyring) -> Outcome:
    question = FetchRequest(site.url("/feed"), Validators(), keys=keys)
    assert "geheim" not in repr(question)
    async with a_web() as web:
        return await fetch_url(question, POLICY, web, VirtualClock())


def lines(request: bytes) -> list[str]:
    return request.decode().split("\r\n")


def shows_nothing(request: bytes) -> bool:
    names = {line.partition(":")[0].lower() for line in lines(request)}
    return not names & {"x-odd-name", "cookie", "authorization"}


async def test_the_own_origin_sees_them_and_the_record_does_not() -> None:
    async with Site(response(body=RSS)) as site:
        outcome = await asked(site, keys_for(site))
    assert isinstance(outcome, Fetched)
    seen = lines(site.requests[0])
    assert "X-Odd-Name: geheim-1" in seen
    assert "Cookie: sid=geheim-2" in seen
    assert "Authorization: Basic bWU6Z2VoZWltLTM=" in seen
    recorded = outcome.exchange.answer.request_headers
    assert [header(recorded, name) for name in ("X-Odd-Name", "cookie", "authorization")] == [
        REDACTED
    ] * 3
    assert "geheim" not in repr(outcome)


async def test_an_own_accept_stands_in_for_ours() -> None:
    async with Site(response(body=RSS)) as site:
        await asked(site, keys_for(site))
    accepts = [line for line in lines(site.requests[0]) if line.startswith("Accept:")]
    assert accepts == ["Accept: text/x-special"]


async def test_another_port_is_another_origin() -> None:
    async with Site(response(body=RSS)) as other, Site(redirect(other.url())) as site:
        outcome = await asked(site, keys_for(site))
    assert isinstance(outcome, Fetched)
    assert not shows_nothing(site.requests[0])
    assert shows_nothing(other.requests[0])
    assert f"Accept: {ACCEPT}" in lines(other.requests[0])


async def test_another_origin_gets_nothing_even_if_the_same_secrets_were_given_for_it() -> None:
    """A redirect is the publisher's wish, not the person's."""
    async with Site(response(body=RSS)) as other, Site(redirect(other.url())) as site:
        await asked(site, keys_for(site, other))
    assert shows_nothing(other.requests[0])


async def test_a_redirect_within_the_origin_keeps_them() -> None:
    async with Site(redirect("/there"), response(body=RSS)) as site:
        outcome = await asked(site, keys_for(site))
    assert isinstance(outcome, Fetched)
    assert ["Authorization: Basic bWU6Z2VoZWltLTM=" in lines(r) for r in site.requests] == [
        True
    ] * 2


async def test_a_failure_does_not_hold_them_either() -> None:
    async with Site(response("401 Unauthorized", body=b"no")) as site:
        outcome = await asked(site, keys_for(site))
    assert isinstance(outcome, Failed)
    assert outcome.code == "http_401"
    assert "geheim" not in repr(outcome)
    assert "bWU6Z2VoZWltLTM=" not in repr(outcome)
