"""How a running service is asked to stop, and how it ends though something does not answer."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer

LAST_SECONDS = 8.0
"""Beyond their own time: then whatever still waits, for a database that says nothing, is left."""

FORCED = 130
"""How a process ends that had to be stopped by force."""


@dataclass(slots=True)
class StopSignal:
    """Asked once: finish what is in hand. Asked twice: now."""

    asked: asyncio.Event
    at_once: asyncio.Event
    count: Callable[[], None]

    def press(self) -> None:
        if not self.asked.is_set():
            self.count()
        (self.at_once if self.asked.is_set() else self.asked).set()


def stop_by_signal(count: Callable[[], None]) -> StopSignal:
    """`count` is called when the first signal comes."""
    stop = StopSignal(asyncio.Event(), asyncio.Event(), count)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.press)
    return stop


@contextmanager
def forced_exit_after(seconds: float, say: Callable[[str], None]) -> Iterator[Callable[[], None]]:
    """Once it was counted from, the process ends after so many seconds, whatever it waits for.

    A cancelled query waits until the server has heard of that, and one behind a broken line, or
    that stands still, never does. What is left undone a kill would leave undone too.
    """

    def leave() -> None:
        say("stopped at once, as something did not answer; work in hand will be taken up again")
        os._exit(FORCED)

    timer = Timer(seconds, leave)
    timer.daemon = True
    try:
        yield timer.start
    finally:
        timer.cancel()
