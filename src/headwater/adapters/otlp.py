"""Send traces of visits to an OTLP collector, from a thread that no visit waits for."""

import asyncio
import logging
import re
from collections import deque
from collections.abc import Iterator, Mapping
from threading import Event, Thread
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from headwater import __version__
from headwater.core.errors import BadSettings
from headwater.core.telemetry.log import clean_value, get_logger
from headwater.core.telemetry.trace import Span, VisitTrace
from headwater.core.values.url import redacted

PATH = "/v1/traces"
EXPORT_SECONDS = 10.0
LONGEST_TEXT = 1_000
MOST_FACTS = 64
MOST_ITEMS = 32

_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE = re.compile(r"[\t\x20-\x7e]*")

logger = get_logger("traces")


class TraceExport:
    """Takes finished traces without waiting, and sends them when it can.

    A trace that finds no room, or does not arrive within the exporter's own time, is dropped and
    counted. The log says when that begins and when it is over, not for each trace.
    """

    def __init__(
        self,
        exporter: SpanExporter,
        resource: Resource,
        *,
        most_waiting: int = 2_048,
        most_at_once: int = 128,
        gather_seconds: float = 0.5,
        end_seconds: float = 5.0,
    ) -> None:
        self._exporter = exporter
        self._resource = resource
        self._most_waiting, self._most_at_once = most_waiting, most_at_once
        self._gather_seconds, self._end_seconds = gather_seconds, end_seconds
        self._waiting: deque[VisitTrace] = deque()
        self._has_work, self._closing = Event(), Event()
        self._in_trouble = False
        self._being_sent = 0
        self.sent = self.dropped = 0
        self._thread = Thread(target=self._run, name="traces", daemon=True)
        self._thread.start()

    def take(self, trace: VisitTrace) -> None:
        """Take a finished trace. Visits call this: it neither waits nor raises."""
        if len(self._waiting) >= self._most_waiting or self._closing.is_set():
            self._drop(1, "no room: the collector is too slow")
            return
        self._waiting.append(trace)
        self._has_work.set()

    async def close(self) -> None:
        """Send the traces that wait, as long as `end_seconds` allow."""
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        self._closing.set()
        self._has_work.set()
        self._thread.join(self._end_seconds)
        self._exporter.shutdown()  # it also ends the pause between two tries
        self._thread.join(0.5)
        self.dropped += len(self._waiting) + self._being_sent
        if self.dropped:
            logger.warning("traces_lost", dropped=self.dropped, sent=self.sent)

    def _run(self) -> None:
        while True:
            self._has_work.wait()
            if not self._closing.is_set():
                # Wait a little longer, so that more traces go in one request.
                self._closing.wait(self._gather_seconds)
            self._has_work.clear()
            while traces := self._next_traces():
                self._send(traces)
            if self._closing.is_set():
                return

    def _next_traces(self) -> list[VisitTrace]:
        count = min(len(self._waiting), self._most_at_once)
        return [self._waiting.popleft() for _ in range(count)]

    def _send(self, traces: list[VisitTrace]) -> None:
        self._being_sent = len(traces)
        try:
            spans = [span for trace in traces for span in spans_of(trace, self._resource)]
            arrived = self._exporter.export(spans) is SpanExportResult.SUCCESS
        except Exception as trouble:  # a mistake here must not end all later traces
            logger.error("traces_crashed", exc_info=trouble)
            arrived = False
        self._being_sent = 0
        if not arrived:
            self._drop(len(traces), "the collector did not take them")
            return
        self.sent += len(traces)
        if self._in_trouble:
            self._in_trouble = False
            logger.info("traces_go_on", dropped=self.dropped)

    def _drop(self, count: int, why: str) -> None:
        self.dropped += count
        if not self._in_trouble:
            self._in_trouble = True
            logger.warning("traces_dropped", detail=why)


def trace_export(
    endpoint: str, headers: str | None, *, service: str, instance: str, end_seconds: float
) -> TraceExport:
    """Open the export to the collector at `endpoint`. BadSettings for bad headers."""
    # The library logs every try; our lines say the same once.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    exporter = OTLPSpanExporter(
        endpoint=_traces_url(endpoint),
        headers=_parse_header_fields(headers),
        timeout=EXPORT_SECONDS,
    )
    resource = Resource.create(
        {
            "service.name": service,
            "service.version": __version__,
            "service.instance.id": instance,
        }
    )
    logger.info("traces_begin", endpoint=redacted(endpoint))
    return TraceExport(exporter, resource, end_seconds=end_seconds)


def spans_of(trace: VisitTrace, resource: Resource) -> Iterator[ReadableSpan]:
    trace_id = int.from_bytes(trace.trace_id, "big")
    for span in trace.spans:
        yield ReadableSpan(
            name=span.name,
            context=_context(trace_id, span.span_id),
            parent=None if span.parent_id is None else _context(trace_id, span.parent_id),
            resource=resource,
            attributes=attributes_of(span),
            kind=SpanKind.CLIENT if span.name == "request" else SpanKind.INTERNAL,
            status=_status(span),
            start_time=span.began,
            end_time=max(span.began, span.ended),
            instrumentation_scope=_SCOPE,
        )


_SCOPE = InstrumentationScope("headwater", __version__)


def _context(trace_id: int, span_id: bytes) -> SpanContext:
    sampled = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(
        trace_id, int.from_bytes(span_id, "big"), is_remote=False, trace_flags=sampled
    )


def _status(span: Span) -> Status:
    if span.error is None:
        return Status(StatusCode.UNSET)
    code, detail = span.error
    return Status(StatusCode.ERROR, _short(f"{code}: {detail}" if detail else code))


def attributes_of(span: Span) -> Mapping[str, Any]:
    """Attributes are bounded, and cleaned like a log line."""
    facts = span.facts if span.error is None else span.facts | {"error.type": span.error[0]}
    values = {name: _value(name, value) for name, value in facts.items() if value not in (None, [])}
    return dict(list(values.items())[-MOST_FACTS:])


def _value(name: str, value: Any) -> Any:
    match value:
        case bool() | int() | float():
            return value
        case list() | tuple():
            return [_short(str(item), name) for item in value[:MOST_ITEMS]]
        case _:
            return _short(str(value), name)


def _short(text: str, name: str = "") -> str:
    cleaned = str(clean_value(name, text))
    return cleaned if len(cleaned) <= LONGEST_TEXT else f"{cleaned[:LONGEST_TEXT]}…"


def _traces_url(endpoint: str) -> str:
    base = endpoint.rstrip("/")
    return base if base.endswith(PATH) else base + PATH


def _parse_header_fields(text: str | None) -> dict[str, str]:
    """Parse `name=value, name=value` into header fields."""
    fields = {}
    for part in (text or "").split(","):
        name, equals, value = part.strip().partition("=")
        if not part.strip():
            continue
        if not equals or not _FIELD_NAME.fullmatch(name) or not _FIELD_VALUE.fullmatch(value):
            raise BadSettings("otlp_headers must be name=value, with commas between several.")
        fields[name] = value
    return fields
