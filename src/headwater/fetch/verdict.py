"""From the last answer on the wire to an Outcome."""

from dataclasses import dataclass, replace
from datetime import datetime

from headwater.fetch.codes import MEANINGS, status_code_name
from headwater.fetch.conditions import validators_of
from headwater.fetch.freshness import fresh_for
from headwater.fetch.outcome import Failed, Fetched, Gone, Outcome, Throttled, Unchanged
from headwater.fetch.redirects import PERMANENT
from headwater.fetch.retry_after import DAY, retry_after
from headwater.values.response import Answer, Exchange, header

_CUT_SHORT = frozenset({"incomplete_body", "body_too_large", "timeout", "connection_lost"})


@dataclass(frozen=True, slots=True)
class Terms:
    """What the verdict depends on besides the answer."""

    conditional: bool
    now: datetime
    retry_after_cap: float = DAY
    accepted_types: tuple[str, ...] | None = None


def verdict(exchange: Exchange, terms: Terms) -> Outcome:
    """Trouble of the transport first; but a status that says it all needs no whole body."""
    answer = exchange.answer
    if answer.error is not None and not _status_says_it_all(answer):
        return _transport_failure(exchange, answer)
    match answer.status:
        case 200 | 203 | 226:
            return _document(exchange, terms)
        case 304:
            return _not_modified(exchange, terms)
        case 410:
            return Gone(exchange)
        case 429 | 503:
            return Throttled(exchange, _rest(answer, terms))
        case int(status):
            return replace(_refused(exchange, status), retry_after=_rest(answer, terms))
        case None:
            return failed(exchange, "bad_http", "the answer has no status")


def failed(exchange: Exchange, code: str, detail: str = "", *, truncated: bool = False) -> Failed:
    return Failed(exchange, code, detail or MEANINGS[code], truncated)


def moved_to(exchange: Exchange) -> str | None:
    """The new address, only when the whole way there was permanent."""
    if exchange.hops and all(hop.status in PERMANENT for hop in exchange.hops):
        return exchange.final_url
    return None


def _status_says_it_all(answer: Answer) -> bool:
    return (
        answer.error in _CUT_SHORT
        and answer.status is not None
        and answer.status >= 400
        and bool(answer.response_headers)
    )


def _transport_failure(exchange: Exchange, answer: Answer) -> Failed:
    code = answer.error or "network_error"
    return failed(exchange, code, answer.error_detail, truncated=_has_part_of_body(answer))


def _has_part_of_body(answer: Answer) -> bool:
    return answer.status is not None and answer.error in _CUT_SHORT


def _document(exchange: Exchange, terms: Terms) -> Outcome:
    answer = exchange.answer
    if not answer.body:
        return failed(exchange, "empty_body")
    kind = _media_type(answer)
    if terms.accepted_types is not None and kind not in terms.accepted_types:
        return failed(exchange, "unaccepted_type", f"content type {kind[:100]!r} is not accepted")
    return Fetched(
        exchange,
        validators_of(answer.response_headers),
        fresh_for(answer.response_headers),
        moved_to(exchange),
    )


def _media_type(answer: Answer) -> str:
    """What HTTP says an unlabelled body is, when there is no label."""
    label = header(answer.response_headers, "content-type") or ""
    return label.partition(";")[0].strip().lower() or "application/octet-stream"


def _not_modified(exchange: Exchange, terms: Terms) -> Outcome:
    if not terms.conditional:
        return failed(exchange, "unexpected_304")
    return Unchanged(exchange, fresh_for(exchange.answer.response_headers), moved_to(exchange))


def _rest(answer: Answer, terms: Terms) -> float | None:
    said = header(answer.response_headers, "retry-after")
    return retry_after(said, terms.now, terms.retry_after_cap)


def _refused(exchange: Exchange, status: int) -> Failed:
    code = "empty_body" if status in (204, 205) else status_code_name(status)
    cut = exchange.answer.error is not None
    return failed(exchange, code, f"{MEANINGS[code]} HTTP status {status}.", truncated=cut)
