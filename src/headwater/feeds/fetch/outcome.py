"""The outcome of a request, as values that are matched to the end."""

from dataclasses import dataclass, replace
from datetime import datetime

from headwater.core.values.response import Exchange, HttpAnswer, Validators, header
from headwater.feeds.fetch.failures import FAILURE_TEXTS, status_code_name
from headwater.feeds.fetch.freshness import fresh_for
from headwater.feeds.fetch.redirects import PERMANENT
from headwater.feeds.fetch.validators import validators_of
from headwater.web.retry_after import DAY, parse_retry_after


@dataclass(frozen=True, slots=True)
class Fetched:
    """A complete 2xx body. `moved_to` is set when every hop on the way was permanent (301/308)."""

    exchange: Exchange
    validators: Validators
    fresh_for: float | None = None
    moved_to: str | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A 304 to a conditional request. Validators stay as they were."""

    exchange: Exchange
    fresh_for: float | None = None
    moved_to: str | None = None


@dataclass(frozen=True, slots=True)
class Throttled:
    """429 or 503: the host asks for a rest, of `retry_after` seconds if it said how long."""

    exchange: Exchange
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """410: the feed is gone for good."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Failed:
    """Any other outcome: `code` is stable and documented, `detail` is for people.

    A body that came with the failure (an error page, a cut-off document) is in the exchange and
    is archived; `truncated` says that it is not whole. `retry_after` is the rest in seconds that
    the answer asked for, whatever its status.
    """

    exchange: Exchange
    code: str
    detail: str
    truncated: bool = False
    retry_after: float | None = None


Outcome = Fetched | Unchanged | Throttled | Gone | Failed
_CUT_SHORT = frozenset({"incomplete_body", "body_too_large", "timeout", "connection_lost"})


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """The facts besides the answer that the outcome depends on."""

    conditional: bool
    now: datetime
    retry_after_cap: float = DAY
    accepted_types: tuple[str, ...] | None = None


def outcome_of_answer(exchange: Exchange, context: AnswerContext) -> Outcome:
    """Errors of the transport count first, unless the status alone decides the outcome."""
    answer = exchange.answer
    if answer.error is not None and not _status_decides(answer):
        return _transport_failure(exchange, answer)
    match answer.status:
        case 200 | 203 | 226:
            return _document(exchange, context)
        case 304:
            return _not_modified(exchange, context)
        case 410:
            return Gone(exchange)
        case 429 | 503:
            return Throttled(exchange, _retry_after_of(answer, context))
        case int(status):
            return replace(
                _status_failure(exchange, status), retry_after=_retry_after_of(answer, context)
            )
        case None:
            return failed(exchange, "bad_http", "the answer has no status")


def failed(exchange: Exchange, code: str, detail: str = "", *, truncated: bool = False) -> Failed:
    return Failed(exchange, code, detail or FAILURE_TEXTS[code], truncated)


def permanent_target(exchange: Exchange) -> str | None:
    """The new URL, only when every redirect on the way there was permanent."""
    if exchange.hops and all(hop.status in PERMANENT for hop in exchange.hops):
        return exchange.final_url
    return None


def _status_decides(answer: HttpAnswer) -> bool:
    return (
        answer.error in _CUT_SHORT
        and answer.status is not None
        and answer.status >= 400
        and bool(answer.response_headers)
    )


def _transport_failure(exchange: Exchange, answer: HttpAnswer) -> Failed:
    code = answer.error or "network_error"
    truncated = answer.status is not None and answer.error in _CUT_SHORT
    return failed(exchange, code, answer.error_detail, truncated=truncated)


def _document(exchange: Exchange, context: AnswerContext) -> Outcome:
    answer = exchange.answer
    if not answer.body:
        return failed(exchange, "empty_body")
    media_type = _media_type(answer)
    if context.accepted_types is not None and media_type not in context.accepted_types:
        return failed(
            exchange, "unaccepted_type", f"content type {media_type[:100]!r} is not accepted"
        )
    return Fetched(
        exchange,
        validators_of(answer.response_headers),
        fresh_for(answer.response_headers),
        permanent_target(exchange),
    )


def _media_type(answer: HttpAnswer) -> str:
    """The type of the body; without a Content-Type it is the one that HTTP assumes."""
    label = header(answer.response_headers, "content-type") or ""
    return label.partition(";")[0].strip().lower() or "application/octet-stream"


def _not_modified(exchange: Exchange, context: AnswerContext) -> Outcome:
    if not context.conditional:
        return failed(exchange, "unexpected_304")
    return Unchanged(
        exchange, fresh_for(exchange.answer.response_headers), permanent_target(exchange)
    )


def _retry_after_of(answer: HttpAnswer, context: AnswerContext) -> float | None:
    value = header(answer.response_headers, "retry-after")
    return parse_retry_after(value, context.now, context.retry_after_cap)


def _status_failure(exchange: Exchange, status: int) -> Failed:
    code = "empty_body" if status in (204, 205) else status_code_name(status)
    cut = exchange.answer.error is not None
    return failed(exchange, code, f"{FAILURE_TEXTS[code]} HTTP status {status}.", truncated=cut)
