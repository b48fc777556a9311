"""Trace a request: its span has facts under OpenTelemetry's names, and URLs without secrets."""

from headwater.core.telemetry.trace import Span, SpanFacts
from headwater.core.values.url import host_of, redacted
from headwater.feeds.fetch.outcome import Failed, Outcome, Throttled
from headwater.feeds.fetch.request_feed import FetchRequest


def describe_request(span: Span, request: FetchRequest, outcome: Outcome) -> None:
    exchange, answer = outcome.exchange, outcome.exchange.answer
    span.note(
        **url_facts(request.url),
        **{
            "http.request.method": "GET",
            "http.request.resend_count": len(exchange.hops) or None,
            "http.response.status_code": answer.status,
            "http.response.body.size": len(answer.body),
            "network.peer.address": answer.address,
            "headwater.conditional": request.is_conditional,
            "headwater.final_url": redacted(answer.url) if exchange.hops else None,
            "headwater.hops": [f"{hop.status} {redacted(hop.location)}" for hop in exchange.hops],
            "headwater.elapsed_seconds": round(answer.elapsed, 6),
            "headwater.outcome": type(outcome).__name__.lower(),
        },
    )
    if isinstance(outcome, Failed):
        span.fail(outcome.code, outcome.detail)
    elif isinstance(outcome, Throttled):
        span.note(**{"headwater.retry_after_seconds": outcome.retry_after})
        span.fail(f"http_{answer.status}", "the server asked us to wait")
    elif answer.status is not None and answer.status >= 400:
        span.fail(f"http_{answer.status}")


def url_facts(url: str) -> SpanFacts:
    return {"url.full": redacted(url), "server.address": host_of(url)}
