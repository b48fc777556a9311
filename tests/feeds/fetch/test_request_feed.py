"""Asking a feed, over real HTTP: every way it can end."""

from datetime import UTC, datetime

import pytest

from headwater.core.errors import BadSettings
from headwater.core.values.response import Hop, Validators
from headwater.feeds.fetch.outcome import Failed, Fetched, Gone, Outcome, Throttled, Unchanged
from headwater.feeds.fetch.request_feed import ACCEPT, FetchPolicy, FetchRequest, HopTurn, fetch_url
from tests.support.clock import START, VirtualClock
from tests.support.site import LOOPBACK, Site, Talk, a_web, redirect, response

POLICY = FetchPolicy(user_agent="Headwater/1 (+https://example.org)", address=LOOPBACK)
KNOWN = Validators('"v1"', "Sun, 15 Nov 2026 10:00:00 GMT")
RSS = b"<rss/>"


async def asked(
    site: Site,
    validators: Validators | None = None,
    policy: FetchPolicy = POLICY,
    hop_turn: HopTurn | None = None,
    path: str = "/feed",
) -> Outcome:
    question = FetchRequest(site.url(path), validators or Validators())
    async with a_web() as web:
        return await fetch_url(question, policy, web, VirtualClock(), hop_turn)


async def test_a_document_brings_its_validators_and_freshness() -> None:
    served = response(
        "200 OK",
        'ETag: W/"v2"',
        "Last-Modified: Mon, 16 Nov 2026 10:00:00 GMT",
        "Cache-Control: max-age=900",
        body=RSS,
    )
    async with Site(served) as site:
        outcome = await asked(site, KNOWN)
    assert isinstance(outcome, Fetched)
    assert outcome.validators == Validators('W/"v2"', "Mon, 16 Nov 2026 10:00:00 GMT")
    assert (outcome.fresh_for, outcome.moved_to) == (900.0, None)
    assert outcome.exchange.answer.body == RSS
    assert (outcome.exchange.asked_url, outcome.exchange.final_url) == (site.url("/feed"),) * 2
    assert outcome.exchange.started_at == START


async def test_one_get_says_who_we_are_and_what_we_have() -> None:
    async with Site(response(body=RSS)) as site:
        await asked(site, KNOWN, path="/feed?b=2&a=1")
    assert site.requests[0].decode().split("\r\n") == [
        "GET /feed?b=2&a=1 HTTP/1.1",
        f"Host: 127.0.0.1:{site.port}",
        "User-Agent: Headwater/1 (+https://example.org)",
        f"Accept: {ACCEPT}",
        "Accept-Encoding: gzip, deflate, br, zstd",
        'If-None-Match: "v1"',
        "If-Modified-Since: Sun, 15 Nov 2026 10:00:00 GMT",
        "",
        "",
    ]


async def test_a_first_visit_is_unconditional() -> None:
    async with Site(response(body=RSS)) as site:
        await asked(site)
    assert (site.header("If-None-Match"), site.header("If-Modified-Since")) == (None, None)


async def test_a_304_is_unchanged_and_may_say_how_long() -> None:
    async with Site(
        response("304 Not Modified", 'ETag: "v9"', "Cache-Control: max-age=60")
    ) as site:
        outcome = await asked(site, KNOWN)
    assert isinstance(outcome, Unchanged)
    assert outcome.fresh_for == 60.0


@pytest.mark.parametrize("status", ["200 OK", "203 Non-Authoritative", "226 IM Used"])
async def test_these_statuses_bring_documents(status: str) -> None:
    async with Site(response(status, body=RSS)) as site:
        assert isinstance(await asked(site), Fetched)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("400 Bad Request", "http_400"),
        ("401 Unauthorized", "http_401"),
        ("403 Forbidden", "http_403"),
        ("404 Not Found", "http_404"),
        ("451 Unavailable For Legal Reasons", "http_4xx"),
        ("500 Internal Server Error", "http_500"),
        ("502 Bad Gateway", "http_502"),
        ("504 Gateway Timeout", "http_504"),
        ("520 Web Server Returned an Unknown Error", "http_5xx"),
        ("300 Multiple Choices", "unexpected_status"),
        ("305 Use Proxy", "unexpected_status"),
        ("201 Created", "unexpected_status"),
    ],
)
async def test_other_statuses_fail_with_a_code(status: str, code: str) -> None:
    async with Site(response(status, body=b"why")) as site:
        outcome = await asked(site, KNOWN)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.truncated) == (code, False)
    assert outcome.exchange.answer.body == (b"" if status.startswith("3") else b"why")
    assert status[:3] in outcome.detail


async def test_a_410_is_gone() -> None:
    async with Site(response("410 Gone", body=b"bye")) as site:
        assert isinstance(await asked(site), Gone)


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
@pytest.mark.parametrize(
    ("field", "seconds"),
    [
        ("Retry-After: 120", 120.0),
        ("Retry-After: Mon, 05 Jan 2026 12:10:00 GMT", 600.0),
        ("Retry-After: soon", None),
        ("X: y", None),
    ],
)
async def test_a_throttling_host_says_how_long(
    status: str, field: str, seconds: float | None
) -> None:
    async with Site(response(status, field)) as site:
        outcome = await asked(site, KNOWN)
    assert isinstance(outcome, Throttled)
    assert outcome.retry_after == seconds


async def test_a_throttling_host_is_heard_even_when_its_page_breaks_off() -> None:
    async with Site(response("429 Slow Down", "Retry-After: 7", body=b"x", length=9)) as site:
        outcome = await asked(site)
    assert isinstance(outcome, Throttled)
    assert outcome.retry_after == 7.0


@pytest.mark.parametrize(
    ("accepted", "label", "passes"),
    [
        (("application/rss+xml",), "Content-Type: Application/RSS+XML; charset=utf-8", True),
        (("application/rss+xml",), "Content-Type: text/html", False),
        (("application/rss+xml",), "X: no label", False),
        (("application/octet-stream",), "X: no label", True),
        (None, "Content-Type: image/png", True),
    ],
)
async def test_only_accepted_types_pass(
    accepted: tuple[str, ...] | None, label: str, passes: bool
) -> None:
    policy = FetchPolicy(user_agent="t", address=LOOPBACK, accepted_types=accepted)
    async with Site(response("200 OK", label, body=RSS)) as site:
        outcome = await asked(site, policy=policy)
    assert isinstance(outcome, Fetched) is passes
    assert passes or (isinstance(outcome, Failed) and outcome.code == "unaccepted_type")


@pytest.mark.parametrize(
    ("statuses", "is_move"),
    [
        (["301 Moved Permanently"], True),
        (["308 Permanent Redirect"], True),
        (["301 Moved Permanently", "308 Permanent Redirect"], True),
        (["302 Found"], False),
        (["303 See Other"], False),
        (["307 Temporary Redirect"], False),
        (["301 Moved Permanently", "302 Found"], False),
        (["302 Found", "301 Moved Permanently"], False),
    ],
)
async def test_a_move_is_told_only_when_the_whole_way_is_permanent(
    statuses: list[str], is_move: bool
) -> None:
    hops = [redirect(f"/{number}", status) for number, status in enumerate(statuses)]
    async with Site(*hops, response("304 Not Modified")) as site:
        outcome = await asked(site, KNOWN)
    last = site.url(f"/{len(hops) - 1}")
    assert isinstance(outcome, Unchanged)
    assert outcome.moved_to == (last if is_move else None)
    assert outcome.exchange.final_url == last
    assert [hop.status for hop in outcome.exchange.hops] == [int(s[:3]) for s in statuses]
    assert outcome.exchange.hops[0] == Hop(site.url("/feed"), int(statuses[0][:3]), site.url("/0"))


async def test_validators_travel_to_the_end_of_the_way() -> None:
    async with Site(redirect("/b"), response("304 Not Modified")) as site:
        assert isinstance(await asked(site, KNOWN), Unchanged)
    assert [site.header("If-None-Match", n) for n in (0, 1)] == ['"v1"', '"v1"']


async def test_another_host_on_the_way_waits_its_turn() -> None:
    waited: list[str] = []

    async def turn(host: str) -> None:
        waited.append(host)

    async with (
        Site(response(body=RSS), address="127.0.0.2") as there,
        Site(redirect("/same"), redirect(there.url("/x"))) as here,
    ):
        assert isinstance(await asked(here, hop_turn=turn), Fetched)
    assert waited == ["127.0.0.2"]


async def test_a_refused_hop_waits_for_no_turn() -> None:
    waited: list[str] = []

    async def turn(host: str) -> None:
        waited.append(host)

    async with Site(redirect("http://10.0.0.1/")) as site:
        outcome = await asked(site, hop_turn=turn)
    assert isinstance(outcome, Failed)
    assert (outcome.code, waited) == ("blocked_address", [])


async def test_one_deadline_covers_all_hops() -> None:
    clock = VirtualClock()

    async def slow(talk: Talk) -> None:
        await clock.advance(20)
        await talk.say(redirect(f"/{len(site.requests)}"))

    async with Site(slow) as site, a_web() as web:
        outcome = await fetch_url(FetchRequest(site.url()), POLICY, web, clock)
    assert isinstance(outcome, Failed)
    assert outcome.code == "timeout"
    assert len(site.requests) == 2


async def test_the_moment_of_asking_is_kept_apart_from_the_answers() -> None:
    clock = VirtualClock(start=datetime(2026, 3, 1, tzinfo=UTC))

    async def later(talk: Talk) -> None:
        await clock.advance(3)
        await talk.say(response(body=RSS))

    async with Site(later) as site, a_web() as web:
        outcome = await fetch_url(FetchRequest(site.url()), POLICY, web, clock)
    assert outcome.exchange.started_at == datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://127.0.0.1:1/", "connect_error"),
        ("http://10.0.0.1/", "blocked_address"),
        ("http://me@127.0.0.1/", "bad_url"),
        ("ftp://127.0.0.1/", "bad_url"),
    ],
)
async def test_what_cannot_be_asked_is_an_outcome_too(url: str, code: str) -> None:
    async with a_web() as web:
        outcome = await fetch_url(FetchRequest(url), POLICY, web, VirtualClock())
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.exchange.answer.status) == (code, None)
    assert outcome.exchange.asked_url == url


@pytest.mark.parametrize("name", ["", "two\r\nlines", "ünïcode", "x" * 2000])
def test_a_user_agent_that_http_cannot_carry_is_refused(name: str) -> None:
    with pytest.raises(BadSettings):
        FetchPolicy(user_agent=name)
