"""Parse one document outside the service: fetch and read it as a visit does, store nothing."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from headwater.core.errors import BlockedAddress, FetchFailed, NotAFeed
from headwater.core.values.response import header
from headwater.core.values.url import check_source_url
from headwater.entrypoints.server.event_loop import new_event_loop
from headwater.feeds.fetch.content_coding import decode_body
from headwater.feeds.fetch.outcome import Failed, Fetched, Outcome
from headwater.feeds.fetch.request_feed import FetchRequest, fetch_url
from headwater.parse import parse
from headwater.parse.document import Document
from headwater.settings import Settings
from headwater.wiring.app import SystemClock, open_web
from headwater.wiring.policies import fetch_policy, reading_policy

SHOWN_BYTES = 300


@dataclass(frozen=True, slots=True)
class DocumentBytes:
    """The bytes to parse, without their content coding, and where they came from."""

    body: bytes
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def fetch_document(url: str, settings: Settings) -> Document:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return _parse_bytes(runner.run(_fetch(url, settings)), settings)


def read_document(body: bytes, settings: Settings) -> Document:
    return _parse_bytes(DocumentBytes(body), settings)


def _parse_bytes(source: DocumentBytes, settings: Settings) -> Document:
    limits = reading_policy(settings).limits
    document = parse(source.body, url=source.url, headers=source.headers, limits=limits)
    if document.format != "unknown":
        return document
    details = [detail for code, detail in document.problems if code == "not_a_feed"]
    raise NotAFeed(
        f"This is not a feed ({details[0]})." if details else "This is not a feed.",
        received={"begins": source.body[:SHOWN_BYTES].decode("utf-8", "replace")},
    )


async def _fetch(url: str, settings: Settings) -> DocumentBytes:
    web = open_web(settings)
    try:
        outcome = await fetch_url(
            FetchRequest(check_source_url(url)), fetch_policy(settings), web, SystemClock()
        )
    finally:
        await web.close()
    if not isinstance(outcome, Fetched):
        raise _failure(outcome)
    answer = outcome.exchange.answer
    coding = header(answer.response_headers, "content-encoding")
    plain_body = decode_body(answer.body, coding, max_bytes=settings.max_body_bytes)
    if plain_body.error is not None:
        raise FetchFailed(
            f"The answer cannot be unpacked: {plain_body.detail}.", outcome=plain_body.error
        )
    kind = header(answer.response_headers, "content-type")
    return DocumentBytes(plain_body.body, answer.url, {"content-type": kind} if kind else {})


def _failure(outcome: Outcome) -> Exception:
    status = outcome.exchange.answer.status
    if not isinstance(outcome, Failed):
        return FetchFailed(f"The server answered {status}.", status=status)
    if outcome.code == "blocked_address":
        return BlockedAddress(f"This URL may not be fetched: {outcome.detail}")
    detail = outcome.detail.rstrip(".")
    return FetchFailed(f"The feed could not be fetched: {detail}.", outcome=outcome.code)
