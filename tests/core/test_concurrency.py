"""Callers that arrive together are served together."""

import asyncio

import pytest

from headwater.core.concurrency import Batcher, BatcherClosed, KeyedLocks


class Doubler:
    """Doubles numbers; holds each group until it is let go, and remembers the groups."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.started = asyncio.Event()
        self.go_on = asyncio.Event()
        self.in_progress = 0

    async def __call__(self, numbers: list[int]) -> list[int]:
        self.in_progress += 1
        assert self.in_progress == 1
        self.groups.append(numbers)
        self.started.set()
        await self.go_on.wait()
        self.in_progress -= 1
        return [number * 2 for number in numbers]


async def test_simultaneous_callers_form_one_group() -> None:
    work = Doubler()
    work.go_on.set()
    group = Batcher(work)
    assert await asyncio.gather(*(group.join(n) for n in range(50))) == list(range(0, 100, 2))
    assert work.groups == [list(range(50))]


async def test_whoever_comes_while_a_group_is_in_progress_forms_the_next() -> None:
    work = Doubler()
    group = Batcher(work)
    async with asyncio.TaskGroup() as callers:
        first = callers.create_task(group.join(1))
        await work.started.wait()
        later = [callers.create_task(group.join(n)) for n in (2, 3, 4)]
        await asyncio.sleep(0)
        work.go_on.set()
    assert work.groups == [[1], [2, 3, 4]]
    assert [first.result(), *(task.result() for task in later)] == [2, 4, 6, 8]


async def test_the_next_group_begins_before_the_callers_of_the_last_one_go_on() -> None:
    """What they do with their answers takes a while, and the disk would stand still meanwhile."""
    work = Doubler()
    group = Batcher(work)
    began_by_then: list[int] = []

    async def caller(number: int) -> None:
        await group.join(number)
        began_by_then.append(len(work.groups))

    async with asyncio.TaskGroup() as callers:
        callers.create_task(caller(1))
        await work.started.wait()
        callers.create_task(caller(2))
        await asyncio.sleep(0)
        work.go_on.set()
    assert began_by_then == [2, 2]


async def test_a_group_has_a_largest_size() -> None:
    work = Doubler()
    work.go_on.set()
    group = Batcher(work, most=3)
    await asyncio.gather(*(group.join(n) for n in range(7)))
    assert work.groups == [[0, 1, 2], [3, 4, 5], [6]]


async def test_a_failure_reaches_every_caller_of_its_group_and_no_other() -> None:
    async def work(numbers: list[int]) -> list[int]:
        if 0 in numbers:
            raise OSError("disk full")
        return numbers

    group = Batcher(work, most=2)
    results = await asyncio.gather(*(group.join(n) for n in (0, 1, 2)), return_exceptions=True)
    assert [type(result) for result in results] == [OSError, OSError, int]


async def test_a_wrong_number_of_results_is_an_error_not_a_mix_up() -> None:
    async def work(numbers: list[int]) -> list[int]:
        return numbers[1:]

    group = Batcher(work)
    with pytest.raises(RuntimeError, match="0 results came for 1 items"):
        await group.join(1)


async def test_a_cancelled_caller_loses_its_answer_but_not_its_item() -> None:
    work = Doubler()
    group = Batcher(work)
    impatient = asyncio.create_task(group.join(1))
    patient = asyncio.create_task(group.join(2))
    await work.started.wait()
    impatient.cancel()
    work.go_on.set()
    assert await patient == 4
    assert work.groups == [[1, 2]]
    assert impatient.cancelled()


async def test_close_finishes_what_is_pending_and_takes_nothing_more() -> None:
    work = Doubler()
    group = Batcher(work, most=1)
    callers = [asyncio.create_task(group.join(n)) for n in (1, 2, 3)]
    await work.started.wait()
    closing = asyncio.create_task(group.close())
    await asyncio.sleep(0)
    with pytest.raises(BatcherClosed):
        await group.join(4)
    assert not closing.done()
    work.go_on.set()
    await closing
    assert [caller.result() for caller in callers] == [2, 4, 6]


async def test_no_task_is_left_behind() -> None:
    work = Doubler()
    work.go_on.set()
    group = Batcher(work)
    await group.join(1)
    await group.join(2)
    await group.close()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_when_the_flush_is_cancelled_nobody_waits_for_ever() -> None:
    work = Doubler()
    group = Batcher(work)
    caller = asyncio.create_task(group.join(1))
    await work.started.wait()
    own = asyncio.current_task()
    flush = next(task for task in asyncio.all_tasks() if task not in (own, caller))
    flush.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller


def test_a_group_of_none_makes_no_sense() -> None:
    async def work(numbers: list[int]) -> list[int]:
        return numbers

    with pytest.raises(ValueError, match="at least one"):
        Batcher(work, most=0)


async def test_one_thing_is_done_by_one_at_a_time_and_others_do_not_wait() -> None:
    turns, order, go_on = KeyedLocks(), list[str](), asyncio.Event()

    async def work(thing: str, name: str) -> None:
        async with turns.at(thing):
            order.append(f"{name} begins")
            if name == "first":
                await go_on.wait()
            order.append(f"{name} ends")

    async with asyncio.TaskGroup() as callers:
        callers.create_task(work("a", "first"))
        callers.create_task(work("a", "second"))
        await callers.create_task(work("b", "other"))
        go_on.set()
    assert order == [
        "first begins", "other begins", "other ends", "first ends", "second begins", "second ends",
    ]  # fmt: skip


async def test_who_fails_or_is_cancelled_lets_the_next_go_on() -> None:
    turns, begun = KeyedLocks(), asyncio.Event()

    async def stays() -> None:
        async with turns.at("a"):
            begun.set()
            await asyncio.Event().wait()

    holder, waiter = asyncio.create_task(stays()), asyncio.create_task(stays())
    await begun.wait()
    waiter.cancel()
    holder.cancel()
    await asyncio.wait([holder, waiter])
    with pytest.raises(ValueError, match="no"):
        async with turns.at("a"):
            raise ValueError("no")
    async with turns.at("a"):
        pass
