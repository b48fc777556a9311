"""Rests between bursts of work, as long as others want the processor."""

from dataclasses import dataclass, field

import pytest

from headwater.sinks.kinds.ndjson_pacing import BurstPacing


@dataclass
class Watch:
    """Time that passes only in sleep and when a test says so; `used` is the processor's."""

    time: float = 100.0
    used: float = 5.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    def spent(self) -> float:
        return self.used

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    def pace(self) -> BurstPacing:
        return BurstPacing(now=self.now, spent=self.spent, sleep=self.sleep)


async def work(
    pace: BurstPacing, watch: Watch, seconds: float, *, used: float | None = None
) -> None:
    """`used`: how much of it the processor worked for us; None: it was not measured."""
    await pace.begin()
    if used is None:
        watch.time += seconds
    else:
        with pace.computing():
            watch.time += seconds
            watch.used += used
    pace.end()


async def test_at_first_it_is_taken_for_crowded() -> None:
    watch = Watch()
    pace = watch.pace()
    await work(pace, watch, 0.125)
    assert watch.slept == []  # nothing is waited for before the first
    await work(pace, watch, 0.125)
    assert watch.slept == [0.5]  # a fifth of the time is work


async def test_alone_it_soon_does_not_rest() -> None:
    watch = Watch()
    pace = watch.pace()
    for _ in range(20):
        await work(pace, watch, 0.125, used=0.125)
    assert watch.slept == sorted(watch.slept, reverse=True)
    assert watch.slept[0] == pytest.approx(0.35)
    assert watch.slept[-1] < 0.001


@pytest.mark.parametrize("used", [0.05, 0.0961])
async def test_whoever_waits_for_the_processor_leaves_it_to_others(used: float) -> None:
    watch = Watch()
    pace = watch.pace()
    for _ in range(20):
        await work(pace, watch, 0.125, used=0.125)
    watch.slept.clear()
    for _ in range(20):
        await work(pace, watch, 0.125, used=used)
    assert watch.slept[-1] == pytest.approx(0.5, rel=0.01)


async def test_time_that_passed_anyway_counts_as_rest() -> None:
    watch = Watch()
    pace = watch.pace()
    await work(pace, watch, 0.125)
    watch.time += 0.375
    await work(pace, watch, 0.125)
    watch.time += 10
    await work(pace, watch, 0.125)
    assert watch.slept == [0.125]


async def test_a_slow_disk_is_not_made_slower_still() -> None:
    watch = Watch()
    pace = watch.pace()
    await work(pace, watch, 60.0)
    await work(pace, watch, 60.0)
    assert watch.slept == [1.0]


async def test_what_took_no_time_says_nothing() -> None:
    watch = Watch()
    pace = watch.pace()
    await work(pace, watch, 0.0, used=0.0)
    await work(pace, watch, 0.125)
    await work(pace, watch, 0.125)
    assert watch.slept == [0.5]
