"""The first fetch of a feed, and the errors that explain what was found instead of a feed."""

from typing import Any

from headwater.core.errors import BlockedAddress, FetchFailed, NotAFeed
from headwater.core.values.instant import to_micros
from headwater.core.values.response import HttpAnswer, header
from headwater.core.values.url import host_of
from headwater.feeds.discovery import find_feed_links
from headwater.feeds.fetch.content_coding import decode_body
from headwater.feeds.fetch.outcome import Failed, Fetched, Outcome
from headwater.feeds.fetch.request_feed import FetchRequest
from headwater.feeds.read_document import UnreadableDocument
from headwater.feeds.services import FeedServices
from headwater.feeds.worker import host_rows

_SHOWN_BYTES = 300


async def request_first_document(request: FetchRequest, services: FeedServices) -> Outcome:
    """Wait for the host's turn, also when another process made the last request, and fetch."""
    await _learn_last_request(host_of(request.url), services)
    return await services.fetcher.fetch_in_turn(request)


async def _learn_last_request(host: str, services: FeedServices) -> None:
    """Learn the host's last request, and the rest that it may have asked another process for."""
    turns, monotonic = services.fetcher.turns, services.clock.monotonic()
    async with services.database.read() as view:
        now = to_micros(view.now)
        asked_at = await host_rows.find_last_request_at(view, host)
        rests_until = await host_rows.find_end_of_rest_of_host(
            view, host, services.schedule.initial_interval
        )
    if asked_at is not None:
        turns.seen(host, monotonic - max(0.0, (now - asked_at) / 1_000_000))
    if rests_until is not None and rests_until > now:
        turns.rest(host, monotonic + (rests_until - now) / 1_000_000)


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
    """Facts about the answer, so that a person sees what we saw."""
    return {
        "url": answer.url,
        "status": answer.status,
        "content_type": header(answer.response_headers, "content-type"),
        "bytes": len(answer.body),
        "begins": plain[:_SHOWN_BYTES].decode("utf-8", "replace"),
    }
