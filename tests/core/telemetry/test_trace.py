"""Trails: what they keep, what they cost when nobody keeps them, and what log lines say of them."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from io import StringIO
from itertools import count
from time import process_time_ns

import pytest
import structlog

from headwater.core.concurrency import Batcher
from headwater.core.errors import TooSoon
from headwater.core.telemetry import trace
from headwater.core.telemetry.log import configure, get_logger
from headwater.core.telemetry.trace import NO_TRACE, NO_TRACER, Span, Tracer, VisitTrace, span


@pytest.fixture
def taken() -> list[VisitTrace]:
    return []


@pytest.fixture
def tracer(taken: list[VisitTrace]) -> Tracer:
    """Each look at the clock is a second later."""
    return Tracer(taken.append, now=ticking())


@pytest.fixture
def _log_is_put_back() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def ticking() -> Callable[[], int]:
    seconds = count(1)
    return lambda: next(seconds) * 1_000_000_000


def seconds_of(one: Span) -> tuple[int, int]:
    return one.began // 1_000_000_000, one.ended // 1_000_000_000


def test_spans_stand_under_the_root_in_their_order_and_times(
    tracer: Tracer, taken: list[VisitTrace]
) -> None:
    with tracer.trail("visit"):
        with span("request"), span("hop"):
            pass
        with span("parse"):
            pass
    (trail,) = taken
    visit, request, hop, parse = trail.spans
    assert [each.name for each in trail.spans] == ["visit", "request", "hop", "parse"]
    assert visit.parent_id is None
    assert request.parent_id == parse.parent_id == visit.span_id
    assert hop.parent_id == request.span_id
    assert [seconds_of(each) for each in trail.spans] == [(1, 8), (2, 5), (3, 4), (6, 7)]
    assert len(trail.trace_id) == 16
    assert len({each.span_id for each in trail.spans}) == 4


def test_an_exception_is_the_error_of_every_span_it_leaves(
    tracer: Tracer, taken: list[VisitTrace]
) -> None:
    with pytest.raises(TooSoon), tracer.trail("visit"), span("request"):
        raise TooSoon("The host rests.", retry_after_sec=5)
    assert [each.error for each in taken[0].spans] == [("too_soon", "The host rests.")] * 2


def test_the_first_failure_of_a_span_counts(tracer: Tracer, taken: list[VisitTrace]) -> None:
    with tracer.trail("visit") as trail:
        trail.fail("timeout", "no answer")
        trail.fail("internal_error", "because of that")
    assert taken[0].root.error == ("timeout", "no answer")


def test_a_clock_that_was_set_back_makes_no_span_end_before_it_began(
    taken: list[VisitTrace],
) -> None:
    moments = iter([50, 40, 30, 20])
    with Tracer(taken.append, now=lambda: next(moments)).trail("visit"), span("request"):
        pass
    assert [(each.began, each.ended) for each in taken[0].spans] == [(50, 50), (40, 40)]


def test_without_a_taker_nothing_is_kept_and_descriptions_are_not_even_made() -> None:
    def describe(_: Span) -> None:
        raise AssertionError("nobody wanted to know")

    with NO_TRACER.trail("visit") as trail, span("request") as asked:
        trail.tell(describe)
        asked.tell(describe)
        asked.note(a=1)
        asked.fail("timeout")
        assert trace.current_trace_ids() is None
    assert trail is asked is NO_TRACE
    assert not NO_TRACER


@pytest.mark.parametrize(
    ("ratio", "least", "most"), [(0.0, 0, 0), (1.0, 400, 400), (0.5, 120, 280)]
)
def test_a_share_of_the_visits_leaves_a_trail(
    taken: list[VisitTrace], ratio: float, least: int, most: int
) -> None:
    tracer = Tracer(taken.append, ratio=ratio)
    for _ in range(400):
        with tracer.trail("visit"):
            pass
    assert least <= len(taken) <= most


def test_a_mistake_in_a_description_is_told_and_fails_nothing(
    tracer: Tracer, taken: list[VisitTrace]
) -> None:
    def describe(_: Span) -> None:
        raise ValueError("no such thing")

    with tracer.trail("visit") as trail:
        trail.tell(describe)
    assert taken[0].root.facts == {"headwater.not_described": "ValueError: no such thing"}
    assert taken[0].root.error is None


async def test_shared_work_tells_each_trail_its_times_and_its_size(
    tracer: Tracer, taken: list[VisitTrace]
) -> None:
    seen: list[VisitTrace | None] = []

    async def work(items: list[int]) -> list[int]:
        seen.append(trace.find_current_trace())
        trace.mark_moment("events")
        return items

    together = Batcher(work)

    async def visit(number: int) -> None:
        with tracer.trail("visit"):
            await together.join(number)

    await asyncio.gather(visit(1), visit(2), visit(3))
    first, second, third = [trail.group for trail in taken]
    assert first is second is third
    assert first is not None
    assert first.size == 3
    assert first.began < first.laps["events"] < first.ended
    assert seen == [None]  # what is done for all is not done in the name of one


async def test_a_lap_outside_of_shared_work_is_nothing() -> None:
    trace.mark_moment("events")


@pytest.mark.usefixtures("_log_is_put_back")
def test_lines_said_in_a_visit_name_its_trail_and_span(
    tracer: Tracer, taken: list[VisitTrace]
) -> None:
    out = StringIO()
    configure("info", "json", out)
    log = get_logger("tests")
    log.info("before")
    with tracer.trail("visit"):
        log.info("in the visit")
        with span("request"):
            log.info("in the request")
    log.info("after")
    before, visit, request, after = [json.loads(line) for line in out.getvalue().splitlines()]
    (trail,) = taken
    assert "trace_id" not in before
    assert "trace_id" not in after
    assert visit["trace_id"] == request["trace_id"] == trail.trace_id.hex()
    assert visit["span_id"] == trail.root.span_id.hex()
    assert request["span_id"] == trail.spans[1].span_id.hex()


def test_hooks_that_nobody_listens_to_cost_microseconds_per_visit() -> None:
    """About one on the machine this was written on; ten times that would still be nothing."""

    def hooks() -> None:
        with NO_TRACER.trail("visit"):
            for name in ("schedule", "request", "archive", "parse", "merge"):
                with span(name) as one:
                    one.tell(_never)
            trace.find_current_trace()
            trace.mark_moment("events")

    best = min(_nanoseconds(hooks) for _ in range(20))
    assert best < 50_000


def _never(_: Span) -> None:
    raise AssertionError


def _nanoseconds(hooks: Callable[[], None]) -> int:
    began = process_time_ns()
    for _ in range(100):
        hooks()
    return (process_time_ns() - began) // 100
