"""Traces on their way to a collector: whole when it is there, nobody's trouble when it is not."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
import structlog
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from structlog.testing import capture_logs

from headwater.adapters import otlp
from headwater.adapters.otlp import TraceExport, trace_export
from headwater.core.errors import BadSettings
from headwater.core.telemetry.trace import Tracer, VisitTrace, span
from tests.support.log_lines import Lines
from tests.support.trace_collector import Collector, collecting

INTERNAL, CLIENT = 1, 3
ERROR = 2


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as running:
        yield running


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    before = structlog.get_config()
    structlog.reset_defaults()
    monkeypatch.setattr(otlp, "logger", structlog.get_logger("traces"))
    with capture_logs() as heard:
        yield heard
    structlog.configure(**before)


@asynccontextmanager
async def export_to(
    url: str, headers: str | None = None, end_seconds: float = 5.0
) -> AsyncIterator[TraceExport]:
    export = trace_export(
        url, headers, service="headwater-tests", instance="here", end_seconds=end_seconds
    )
    try:
        yield export
    finally:
        await export.close()


def a_visit(tracer: Tracer, **facts: object) -> None:
    with tracer.trail("visit") as visit:
        visit.note(**facts)
        with span("request") as request:
            request.note(**{"http.response.status_code": 200})


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


async def test_a_trail_arrives_as_it_was(collector: Collector) -> None:
    async with export_to(collector.url, "authorization=Bearer abc, x-scope=team") as export:
        with Tracer(export.take).trail("visit", began=1_700_000_000_000_000_000) as visit:
            visit.note(feed="f1", nothing=None, types=["a", "b"], share=0.5, yes=True)
            with span("request") as request:
                request.fail("timeout", "no answer")
    root, asked = collector.wait_for(1)
    (path, headers) = collector.requests[0]
    assert path == "/v1/traces"
    assert (headers["authorization"], headers["x-scope"]) == ("Bearer abc", "team")
    assert (root.name, root.kind, root.parent_id) == ("visit", INTERNAL, "")
    assert root.began == 1_700_000_000_000_000_000
    assert root.facts == {"feed": "f1", "types": ["a", "b"], "share": 0.5, "yes": True}
    assert root.status == (0, "")
    assert (asked.name, asked.kind, asked.parent_id) == ("request", CLIENT, root.span_id)
    assert asked.trace_id == root.trace_id
    assert asked.began <= asked.ended <= root.ended
    assert asked.status == (ERROR, "timeout: no answer")
    assert asked.facts == {"error.type": "timeout"}
    assert root.resource["service.name"] == "headwater-tests"
    assert root.resource["service.instance.id"] == "here"


async def test_facts_are_bounded_and_cleaned_like_lines_of_the_log(collector: Collector) -> None:
    async with export_to(collector.url + "/v1/traces") as export:
        tracer = Tracer(export.take)
        many = {f"fact{number}": number for number in range(500)}
        a_visit(tracer, **many)
        a_visit(
            tracer,
            long="x" * 50_000,
            items=["y" * 50_000] * 500,
            detail="cannot reach https://user:planted@host/?token=planted",
            said="Bearer plantedplanted",
        )
    first, second = [each for each in collector.wait_for(2) if each.name == "visit"]
    assert len(first.facts) == 64
    assert len(second.facts["long"]) <= 1_001
    assert len(second.facts["items"]) == 32
    assert max(len(each) for each in second.facts["items"]) <= 1_001
    assert "planted" not in str(second)
    assert second.facts["detail"].startswith("cannot reach https://host/")


async def test_what_waits_at_the_end_is_still_sent(collector: Collector) -> None:
    """More than fits in one request, and no time was given to send it."""
    async with export_to(collector.url) as export:
        tracer = Tracer(export.take)
        for _ in range(300):
            a_visit(tracer)
    assert (export.sent, export.dropped) == (300, 0)
    assert collector.count("visit") == 300
    assert len(collector.requests) >= 3


async def test_without_a_collector_visits_go_on_and_the_log_says_it_once(lines: Lines) -> None:
    began = time.monotonic()
    async with export_to(f"http://127.0.0.1:{free_port()}", end_seconds=0.5) as export:
        tracer = Tracer(export.take)
        for _ in range(500):
            a_visit(tracer)
        taking = time.monotonic() - began
    assert taking < 2
    assert time.monotonic() - began < 10
    assert (export.sent, export.dropped) == (0, 500)
    said = [line["event"] for line in lines]
    assert said.count("traces_dropped") <= 1
    assert [line["dropped"] for line in lines if line["event"] == "traces_lost"] == [500]


@pytest.mark.parametrize("status", [400, 401, 500])
async def test_a_collector_that_refuses_costs_its_traces_and_nothing_else(
    collector: Collector, lines: Lines, status: int
) -> None:
    collector.status = status
    async with export_to(collector.url) as export:
        tracer = Tracer(export.take)
        a_visit(tracer)
        await asyncio.to_thread(collector.wait_for_requests, 1)
        collector.status = 200
        a_visit(tracer)
        await asyncio.to_thread(collector.wait_for, 1)
    assert (export.sent, export.dropped) == (1, 1)
    said = [line["event"] for line in lines if line["event"] != "traces_begin"]
    assert said == ["traces_dropped", "traces_go_on", "traces_lost"]


async def test_a_collector_that_hangs_holds_up_neither_visits_nor_the_end(
    collector: Collector, lines: Lines
) -> None:
    collector.may_answer.clear()
    export = trace_export(
        collector.url, None, service="headwater", instance="here", end_seconds=0.2
    )
    tracer = Tracer(export.take)
    a_visit(tracer)
    await asyncio.to_thread(collector.wait_for_requests, 1)
    began = time.monotonic()
    for _ in range(3_000):
        a_visit(tracer)
    await export.close()
    assert time.monotonic() - began < 8
    assert export.sent == 0
    assert export.dropped == 3_001
    assert [line["event"] for line in lines if line["event"] != "traces_begin"] == [
        "traces_dropped",
        "traces_lost",
    ]


class Clumsy(SpanExporter):
    """Raises once, as no exporter should."""

    def __init__(self) -> None:
        self.calls = 0

    def export(self, spans: object) -> SpanExportResult:
        self.calls += 1
        if self.calls == 1:
            raise RuntimeError("a mistake")
        return SpanExportResult.SUCCESS


async def test_a_mistake_in_sending_does_not_end_later_traces(lines: Lines) -> None:
    exporter = Clumsy()
    export = TraceExport(exporter, Resource({}), most_at_once=1, gather_seconds=0)
    tracer = Tracer(export.take)
    a_visit(tracer)
    a_visit(tracer)
    await export.close()
    assert exporter.calls == 2
    assert (export.sent, export.dropped) == (1, 1)
    assert "traces_crashed" in [line["event"] for line in lines]


async def test_what_comes_after_the_end_is_dropped(collector: Collector) -> None:
    async with export_to(collector.url) as export:
        pass
    a_visit(Tracer(export.take))
    assert (export.sent, export.dropped) == (0, 1)


@pytest.mark.parametrize("headers", ["no-equals", "a b=c", "x=one\ntwo", "=value"])
async def test_headers_that_are_none_are_refused(headers: str) -> None:
    with pytest.raises(BadSettings, match="otlp_headers"):
        trace_export(
            "http://127.0.0.1:1", headers, service="headwater", instance="x", end_seconds=0.1
        )


def test_a_secret_in_a_list_is_hidden_as_one_in_a_text_is() -> None:
    visit = Tracer(lambda trace: None).trail("visit")
    assert isinstance(visit, VisitTrace)
    with visit:
        visit.note(authorization=["Bearer abc"], kept=["one", "two"])
    attributes = otlp.attributes_of(visit.root)
    assert attributes["kept"] == ["one", "two"]
    assert "abc" not in str(attributes["authorization"])
