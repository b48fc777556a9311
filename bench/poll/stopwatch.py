"""What a contender says while it runs: one line at the start of its work, one at its end."""

import json
import sys
import time


def started() -> None:
    """The clock is the machine's own, the same for every process."""
    _say("started")


def done() -> None:
    """Waits to be let go afterwards, so that somebody may look at its memory first."""
    _say("done")
    sys.stdin.read()


def _say(what: str) -> None:
    print(json.dumps({what: time.monotonic()}), flush=True)
