"""Rests between bursts of work."""

from dataclasses import dataclass, field

import pytest

from headwater.adapters.outlets.pace import Pace


@dataclass
class Watch:
    """Time that passes only in sleep and when a test says so."""

    time: float = 100.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    def pace(self, rest: float = 1.0) -> Pace:
        return Pace(rest, now=self.now, sleep=self.sleep)


async def work(pace: Pace, watch: Watch, seconds: float) -> None:
    await pace.begin()
    watch.time += seconds
    pace.end()


@pytest.mark.parametrize(("rest", "slept"), [(1.0, 0.25), (2.0, 0.5), (0.0, None)])
async def test_the_rest_is_as_long_as_the_work_was(rest: float, slept: float | None) -> None:
    watch = Watch()
    pace = watch.pace(rest)
    await work(pace, watch, 0.25)
    assert watch.slept == []  # nothing is waited for at first
    await work(pace, watch, 0.25)
    assert watch.slept == ([] if slept is None else [slept])


async def test_time_that_passed_anyway_counts_as_rest() -> None:
    watch = Watch()
    pace = watch.pace()
    await work(pace, watch, 0.5)
    watch.time += 0.375
    await work(pace, watch, 0.25)
    watch.time += 10
    await work(pace, watch, 0.25)
    assert watch.slept == [0.125]


async def test_a_slow_disk_is_not_made_slower_still() -> None:
    watch = Watch()
    pace = watch.pace()
    await work(pace, watch, 60.0)
    await work(pace, watch, 60.0)
    assert watch.slept == [1.0]
