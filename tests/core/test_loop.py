"""A loop of background work: when it acts, what it survives, how it ends."""

import asyncio

import pytest

from headwater.core.errors import ConnectionLost
from headwater.core.loop import Loop, LoopLog
from tests.support.clock import VirtualClock


class Lines:
    """A logger that keeps the names of its lines."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def error(self, name: str, **_: object) -> None:
        self.names.append(name)


@pytest.fixture
def lines() -> Lines:
    return Lines()


def log_to(lines: Lines) -> LoopLog:
    return LoopLog(lines, waits="it_waits", failed="it_failed")


async def test_trouble_is_logged_and_the_next_round_comes_later(
    virtual_clock: VirtualClock, lines: Lines
) -> None:
    troubles: list[Exception] = [ConnectionLost("away"), ValueError("torn")]
    moments: list[float] = []

    async def act() -> None:
        moments.append(virtual_clock.monotonic())
        if troubles:
            raise troubles.pop(0)

    loop = Loop(act, virtual_clock, 5, log_to(lines), after_trouble=60)
    running = asyncio.create_task(loop.run())
    await virtual_clock.advance(130)
    loop.stop()
    await running
    assert moments == [0, 60, 120, 125, 130]
    assert lines.names == ["it_waits", "it_failed"]


async def test_it_may_pause_first_and_ends_in_order(
    virtual_clock: VirtualClock, lines: Lines
) -> None:
    happened: list[str] = []

    async def act() -> None:
        happened.append("acted")

    async def end() -> None:
        happened.append("ended")

    loop = Loop(
        act,
        virtual_clock,
        10,
        log_to(lines),
        pause_first=True,
        on_stop=lambda: happened.append("told to stop"),
        at_the_end=end,
    )
    running = asyncio.create_task(loop.run())
    await virtual_clock.advance(9)
    assert happened == []
    await virtual_clock.advance(1)
    loop.stop()
    await running
    assert happened == ["acted", "told to stop", "ended"]
    assert lines.names == []
