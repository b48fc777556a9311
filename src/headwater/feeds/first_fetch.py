"""Request a feed for the first time and say what was found there."""

from typing import Any

from headwater.core.engine import Engine
from headwater.core.errors import BlockedAddress, FetchFailed, NotAFeed
from headwater.core.ports import View
from headwater.core.values.ids import FeedId
from headwater.core.values.instant import to_micros
from headwater.core.values.response import HttpAnswer, header
from headwater.core.values.url import host_of
from headwater.feeds.discovery import find_feed_links
from headwater.feeds.fetch.content_coding import decode_body
from headwater.feeds.fetch.outcome import Failed, Fetched, Outcome
from headwater.feeds.fetch.request_feed import FetchRequest
from headwater.feeds.merge.read_document import ParseJob, ReadResult, UnreadableDocument
from headwater.feeds.visit import Visitor
from headwater.feeds.worker import worker_rows

_SHOWN_BYTES = 300


async def request_in_turn(engine: Engine, visits: Visitor, question: FetchRequest) -> Outcome:
    """The host's turn is kept here too, also against workers in other processes."""
    host, clock = host_of(question.url), engine.clock
    async with engine.database.read() as view:
        await _remember_last_request(engine, view, host)
    await visits.take_turn(host)
    outcome: Outcome | None = None
    try:
        outcome = await visits.fetch(question)
        return outcome
    finally:
        address = outcome.exchange.own_address if outcome else None
        engine.turns.finish(host, clock.monotonic(), address)


async def _remember_last_request(engine: Engine, view: View, host: str) -> None:
    """And the rest that it may have asked of somebody else."""
    now, monotonic = to_micros(engine.clock.now()), engine.clock.monotonic()
    asked_at = await worker_rows.find_last_request_at(view, host)
    if asked_at is not None:
        engine.turns.seen(host, monotonic - max(0.0, (now - asked_at) / 1_000_000))
    rests_until = await worker_rows.find_end_of_rest_of_host(
        view, host, engine.schedule.initial_interval
    )
    if rests_until is not None and rests_until > now:
        engine.turns.rest(host, monotonic + (rests_until - now) / 1_000_000)


def check_fetched(outcome: Outcome) -> Fetched:
    if isinstance(outcome, Fetched):
        return outcome
    answer = outcome.exchange.answer
    code, detail = f"http_{answer.status}", f"the server answered {answer.status}"
    if isinstance(outcome, Failed):
        code, detail = outcome.code, outcome.detail
    if code == "blocked_address":
        raise BlockedAddress(f"This URL may not be fetched: {detail}", url=answer.url)
    raise FetchFailed(
        f"The feed could not be fetched: {detail.rstrip('.')}.",
        outcome=code,
        status=answer.status,
        received=_received(answer, answer.body),
    )


async def read_first_document(
    visits: Visitor, fetched: Fetched, feed_id: FeedId, identity: dict[str, Any] | None
) -> ReadResult:
    answer = fetched.exchange.answer
    job = ParseJob(
        url=answer.url,
        content_encoding=header(answer.response_headers, "content-encoding"),
        content_type=header(answer.response_headers, "content-type"),
        feed_id=feed_id,
        identity=identity,
        known_document=None,
    )
    return await visits.parse(job, answer.body)


def not_a_feed_error(
    fetched: Fetched, why: UnreadableDocument, max_bytes: int, *, offers_links: bool
) -> NotAFeed:
    answer = fetched.exchange.answer
    plain = decode_body(
        answer.body, header(answer.response_headers, "content-encoding"), max_bytes=max_bytes
    )
    page, kind = plain.body, header(answer.response_headers, "content-type")
    links = [
        {"url": link.url, "title": link.title, "type": link.type}
        for link in (find_feed_links(page, answer.url, kind) if offers_links else ())
    ]
    message = "This is a page that links to feeds." if links else "This is not a feed."
    return NotAFeed(
        f"{message} ({why.detail})",
        reason=why.code,
        received=_received(answer, page or answer.body),
        candidates=links,
    )


def _received(answer: HttpAnswer, plain: bytes) -> dict[str, Any]:
    """What came, so that a person sees what we saw."""
    return {
        "url": answer.url,
        "status": answer.status,
        "content_type": header(answer.response_headers, "content-type"),
        "bytes": len(answer.body),
        "begins": plain[:_SHOWN_BYTES].decode("utf-8", "replace"),
    }
