"""The base of both kinds of transaction: when it began, and whom it wakes."""

from datetime import datetime

from headwater.core.ports import Sleeper


class OpenTransaction:
    """An open transaction. `now` is set when it has begun."""

    now: datetime

    def __init__(self) -> None:
        self.sleepers: set[Sleeper] = set()

    def wake(self, sleeper: Sleeper) -> None:
        """Wake them after the commit."""
        self.sleepers.add(sleeper)
