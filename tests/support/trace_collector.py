"""A collector of traces on loopback: it takes what OTLP over HTTP brings, or behaves badly."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

SECONDS = 30.0


@dataclass(slots=True)
class SeenSpan:
    """One span as it arrived. Times are nanoseconds."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    began: int
    ended: int
    facts: dict[str, Any]
    status: tuple[int, str]
    resource: dict[str, Any]


@dataclass(slots=True)
class Collector:
    """`status` is what it answers; `may_answer`, when it is not set, keeps askers waiting."""

    url: str = ""
    status: int = 200
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    spans: list[SeenSpan] = field(default_factory=list)
    may_answer: threading.Event = field(default_factory=threading.Event)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def take(self, path: str, headers: dict[str, str], body: bytes) -> None:
        with self.changed:
            self.requests.append((path, headers))
            if self.status == 200:
                self.spans += spans_in(body)
            self.changed.notify_all()

    def wait_for(self, count: int, name: str = "visit") -> list[SeenSpan]:
        """All spans, once that many of this name have arrived."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.count(name) >= count, SECONDS), self.spans
            return list(self.spans)

    def wait_for_requests(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.requests) >= count, SECONDS)

    def count(self, name: str) -> int:
        return sum(span.name == name for span in self.spans)


def spans_in(body: bytes) -> list[SeenSpan]:
    told = ExportTraceServiceRequest.FromString(body)
    return [
        SeenSpan(
            name=span.name,
            trace_id=span.trace_id.hex(),
            span_id=span.span_id.hex(),
            parent_id=span.parent_span_id.hex(),
            kind=span.kind,
            began=span.start_time_unix_nano,
            ended=span.end_time_unix_nano,
            facts={each.key: _value(each.value) for each in span.attributes},
            status=(span.status.code, span.status.message),
            resource={each.key: _value(each.value) for each in some.resource.attributes},
        )
        for some in told.resource_spans
        for scope in some.scope_spans
        for span in scope.spans
    ]


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind)


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()
    collector.may_answer.set()

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            named = {name.lower(): value for name, value in self.headers.items()}
            collector.take(self.path, named, body)
            collector.may_answer.wait(SECONDS)
            answer = ExportTraceServiceResponse().SerializeToString()
            with suppress(ConnectionError):  # whoever asked may have given up
                self.send_response(collector.status)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.daemon_threads = True
        collector.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield collector
        finally:
            collector.may_answer.set()
            server.shutdown()
            thread.join()
