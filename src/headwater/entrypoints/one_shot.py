"""One document outside the service: fetched and read as the service would do it, kept nowhere."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from headwater.entrypoints.loop import new_event_loop
from headwater.errors import BlockedAddress, FetchFailed, NotAFeed
from headwater.fetch.decode import decoded
from headwater.fetch.outcome import Failed, Fetched, Outcome
from headwater.fetch.steps import Ask, ask
from headwater.parse import parse
from headwater.parse.document import Document
from headwater.policies import fetch_policy, reading_policy
from headwater.settings import Settings
from headwater.values.response import header
from headwater.values.url import checked_source
from headwater.wiring import SystemClock, open_web

SHOWN_BYTES = 300


@dataclass(frozen=True, slots=True)
class Given:
    """What is to be parsed: the bytes without their content coding, and where they came from."""

    body: bytes
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def document_at(url: str, settings: Settings) -> Document:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return _read(runner.run(_fetched(url, settings)), settings)


def document_in(body: bytes, settings: Settings) -> Document:
    return _read(Given(body), settings)


def _read(given: Given, settings: Settings) -> Document:
    limits = reading_policy(settings).limits
    document = parse(given.body, url=given.url, headers=given.headers, limits=limits)
    if document.format != "unknown":
        return document
    told = [detail for code, detail in document.problems if code == "not_a_feed"]
    raise NotAFeed(
        f"This is not a feed ({told[0]})." if told else "This is not a feed.",
        received={"begins": given.body[:SHOWN_BYTES].decode("utf-8", "replace")},
    )


async def _fetched(url: str, settings: Settings) -> Given:
    web = open_web(settings)
    try:
        outcome = await ask(Ask(checked_source(url)), fetch_policy(settings), web, SystemClock())
    finally:
        await web.close()
    if not isinstance(outcome, Fetched):
        raise _failure(outcome)
    answer = outcome.exchange.answer
    coding = header(answer.response_headers, "content-encoding")
    plain_body = decoded(answer.body, coding, max_bytes=settings.max_body_bytes)
    if plain_body.error is not None:
        raise FetchFailed(
            f"The answer cannot be unpacked: {plain_body.detail}.", outcome=plain_body.error
        )
    kind = header(answer.response_headers, "content-type")
    return Given(plain_body.body, answer.url, {"content-type": kind} if kind else {})


def _failure(outcome: Outcome) -> Exception:
    status = outcome.exchange.answer.status
    if not isinstance(outcome, Failed):
        return FetchFailed(f"The server answered {status}.", status=status)
    if outcome.code == "blocked_address":
        return BlockedAddress(f"This URL may not be fetched: {outcome.detail}")
    detail = outcome.detail.rstrip(".")
    return FetchFailed(f"The feed could not be fetched: {detail}.", outcome=outcome.code)
