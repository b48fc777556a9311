"""What every open transaction has beside its statements: when it began, and whom it wakes."""

from datetime import datetime

from headwater.core.ports import Sleeper


class OpenTransaction:
    """The base of both kinds. `now` is set when the transaction has begun."""

    now: datetime

    def __init__(self) -> None:
        self.sleepers: set[Sleeper] = set()

    def wake(self, who: Sleeper) -> None:
        """After the commit."""
        self.sleepers.add(who)
