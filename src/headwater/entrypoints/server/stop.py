"""Stop a running service by signals, and end it even if something does not answer."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer

LAST_SECONDS = 8.0
"""Time beyond that of the parts. Then we leave work that waits for a silent database."""

FORCED = 130
"""The exit code of a process that had to be stopped by force."""


@dataclass(slots=True)
class StopSignal:
    """The first signal asks to finish the work in hand, the second to stop at once."""

    asked: asyncio.Event
    at_once: asyncio.Event
    count: Callable[[], None]

    def press(self) -> None:
        if not self.asked.is_set():
            self.count()
        (self.at_once if self.asked.is_set() else self.asked).set()


def stop_by_signal(count: Callable[[], None]) -> StopSignal:
    """Make a StopSignal that SIGINT and SIGTERM press. `count` is called with the first signal."""
    stop = StopSignal(asyncio.Event(), asyncio.Event(), count)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.press)
    return stop


@contextmanager
def forced_exit_after(seconds: float, say: Callable[[str], None]) -> Iterator[Callable[[], None]]:
    """Yield a function that starts a timer: `seconds` later the process ends, whatever it does.

    A cancelled query waits until its server knows, and a server that stands still, or is behind a
    broken line, never does. A kill would leave the same work undone.
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
