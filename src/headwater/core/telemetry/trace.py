"""The trace of a visit: timed spans, gathered while it runs and exported when it is over."""

import os
import time
from collections.abc import Callable
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Concatenate, ParamSpec

from headwater.core.errors import HeadwaterError

SpanFacts = dict[str, Any]
"""Names → plain values. None is left out. The exporter bounds and cleans the values."""

P = ParamSpec("P")

_trace: ContextVar["VisitTrace | None"] = ContextVar("headwater_trace", default=None)
_group: ContextVar["SharedWork | None"] = ContextVar("headwater_group", default=None)

_ALL = 2**64


class Span:
    """One step of a visit. Times are nanoseconds since 1970; `error` is a code and a text."""

    __slots__ = ("began", "ended", "error", "facts", "name", "parent_id", "span_id", "trail")

    def __init__(self, trail: "VisitTrace", name: str, parent_id: bytes | None, began: int) -> None:
        self.trail = trail
        self.name = name
        self.parent_id = parent_id
        self.span_id = os.urandom(8)
        self.began = began
        self.ended = 0
        self.facts: SpanFacts = {}
        self.error: tuple[str, str] | None = None

    def __enter__(self) -> "Span":
        self.trail.open.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        trouble: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        if trouble is not None:
            self.fail(*_code_and_text(trouble))
        if not self.ended:
            self.ended = max(self.began, self.trail.now())
        self.trail.open.remove(self)

    def note(self, **facts: Any) -> None:
        self.facts.update(facts)

    def fail(self, code: str, detail: str = "") -> None:
        """Keep the first failure: later ones only follow from it."""
        self.error = self.error or (code, detail)

    def tell(
        self, describe: Callable[Concatenate["Span", P], None], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Let `describe` fill this span. Without a trace it is not even called."""
        try:
            describe(self, *args, **kwargs)
        except Exception as trouble:  # noqa: BLE001 -- no visit fails because of its trace
            self.note(**{"headwater.not_described": f"{type(trouble).__name__}: {trouble}"})


class SharedWork:
    """The times of a piece of work that several visits share, and how many share it."""

    __slots__ = ("_now", "began", "ended", "laps", "size")

    def __init__(self, size: int, now: Callable[[], int]) -> None:
        self.size = size
        self.laps: dict[str, int] = {}
        self._now = now
        self.began = self.ended = now()

    def lap(self, name: str) -> None:
        self.laps[name] = self._now()

    def end(self) -> None:
        self.ended = max(self.began, self._now())


class VisitTrace:
    """All spans of one visit, the root first. While it is entered, `span()` and logs find it."""

    __slots__ = ("_take", "_token", "group", "now", "open", "root", "spans", "trace_id")

    def __init__(
        self,
        name: str,
        take: Callable[["VisitTrace"], None],
        now: Callable[[], int],
        trace_id: bytes,
        began: int | None,
    ) -> None:
        self.trace_id = trace_id
        self.now = now
        self.root = Span(self, name, None, now() if began is None else began)
        self.spans = [self.root]
        self.open: list[Span] = []
        self.group: SharedWork | None = None
        self._take = take
        self._token: Token[VisitTrace | None] | None = None

    def __enter__(self) -> "VisitTrace":
        self._token = _trace.set(self)
        self.root.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        trouble: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.root.__exit__(kind, trouble, traceback)
        if self._token is not None:
            _trace.reset(self._token)
        self._take(self)

    def span(self, name: str, began: int | None = None) -> Span:
        """Make a span inside the one that is open now. Enter it, or set its end."""
        parent = self.open[-1] if self.open else self.root
        span = Span(self, name, parent.span_id, self.now() if began is None else began)
        self.spans.append(span)
        return span

    def note(self, **facts: Any) -> None:
        self.root.note(**facts)

    def fail(self, code: str, detail: str = "") -> None:
        self.root.fail(code, detail)

    def tell(
        self, describe: Callable[Concatenate[Span, P], None], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        self.root.tell(describe, *args, **kwargs)


class NoTrace:
    """A trace or span that is not recorded: it takes every call, and costs nothing."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __enter__(self) -> "NoTrace":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def note(self, **facts: Any) -> None:
        return None

    def fail(self, code: str, detail: str = "") -> None:
        return None

    def tell(
        self, describe: Callable[Concatenate[Span, P], None], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        return None


NO_TRACE = NoTrace()


class Tracer:
    """Begins traces and hands finished ones to `take`, which must neither wait nor raise.

    `ratio` is the share of visits that leave a trace; without `take` none does.
    """

    __slots__ = ("_below", "_now", "_take")

    def __init__(
        self,
        take: Callable[[VisitTrace], None] | None = None,
        *,
        ratio: float = 1.0,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        self._take = take
        self._below = round(min(max(ratio, 0.0), 1.0) * _ALL)
        self._now = now

    def __bool__(self) -> bool:
        return self._take is not None

    def trail(self, name: str, began: int | None = None) -> VisitTrace | NoTrace:
        """Begin a trace. `began` is its start in nanoseconds, when it lies before now."""
        if self._take is None:
            return NO_TRACE
        trace_id = os.urandom(16)
        if int.from_bytes(trace_id[8:], "big") >= self._below:
            return NO_TRACE
        return VisitTrace(name, self._take, self._now, trace_id, began)


NO_TRACER = Tracer()


def find_current_trace() -> VisitTrace | None:
    """Find the trace of the visit that runs in this context."""
    return _trace.get()


def span(name: str) -> Span | NoTrace:
    """Make a span of the visit that runs in this context; the caller enters it."""
    trace = _trace.get()
    return NO_TRACE if trace is None else trace.span(name)


def current_trace() -> VisitTrace | NoTrace:
    return _trace.get() or NO_TRACE


def current_trace_ids() -> tuple[str, str] | None:
    """Return the ids of the trace and of its innermost open span, as log lines show them."""
    trace = _trace.get()
    if trace is None:
        return None
    span = trace.open[-1] if trace.open else trace.root
    return trace.trace_id.hex(), span.span_id.hex()


def mark_moment(name: str) -> None:
    """Note a moment of shared work, such as the end of one step and the begin of the next."""
    group = _group.get()
    if group is not None:
        group.lap(name)


class SharedWorkScope:
    """Surrounds work that is done for several visits at once: each trace gets its times."""

    __slots__ = ("_group", "_token", "_traces")

    def __init__(self, traces: list[VisitTrace], size: int) -> None:
        self._traces = traces
        self._group = SharedWork(size, traces[0].now)
        self._token: Token[SharedWork | None] | None = None

    def __enter__(self) -> None:
        self._token = _group.set(self._group)

    def __exit__(self, *_: object) -> None:
        self._group.end()
        if self._token is not None:
            _group.reset(self._token)
        for trace in self._traces:
            trace.group = self._group


def share_work(traces: list[VisitTrace], size: int) -> SharedWorkScope | NoTrace:
    """`traces` are those of visits that leave one; `size` counts all visits that share the work."""
    return SharedWorkScope(traces, size) if traces else NO_TRACE


def _code_and_text(trouble: BaseException) -> tuple[str, str]:
    if isinstance(trouble, HeadwaterError):
        return trouble.code, trouble.message
    return type(trouble).__name__, str(trouble)
