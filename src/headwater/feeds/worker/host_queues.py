"""Host queues of a worker: claimed feeds wait until their host has a turn and a place is free."""

import heapq
import math
from collections import deque
from itertools import count

from headwater.feeds.fetch.host_turns import HostPacing
from headwater.feeds.schedule.due import DueFeed

_FULL_HOST_SECONDS = 0.25
"""How often we look again at a host whose places are all taken: a place may become free without
a word to this queue."""


class HostQueues:
    """Feeds in order of arrival per host. Time is a parameter, in monotonic seconds.

    Each host has one moment at which we look at it again; older entries of the heap are stale and
    skipped. The work grows with the hosts whose moment has come, not with all that wait.
    """

    def __init__(self, turns: HostPacing, patience: float = 60.0) -> None:
        self._turns = turns
        self._patience = patience
        self._queues: dict[str, deque[DueFeed]] = {}
        self._moments: list[tuple[float, int, str]] = []
        self._numbers = count()
        self._moment_of: dict[str, float] = {}
        self._turned_away: list[tuple[DueFeed, float]] = []
        self._waiting = 0

    def __len__(self) -> int:
        return self._waiting

    def at(self, host: str) -> int:
        """How many feeds of this host wait."""
        return len(self._queues.get(host, ()))

    def add(self, due: DueFeed, now: float) -> None:
        self._waiting += 1
        queue = self._queues.get(due.host)
        if queue is None:
            self._queues[due.host] = deque([due])
            self._look_again(due.host, now)
        else:
            queue.append(due)

    def ready(self, now: float, places: int) -> list[DueFeed]:
        """Up to `places` feeds that may start now; their hosts' turns are taken."""
        starting: list[DueFeed] = []
        while len(starting) < places and self._moments and self._moments[0][0] <= now:
            moment, _, host = heapq.heappop(self._moments)
            if self._moment_of.get(host) != moment:
                continue
            wait = self._turns.wait_for(host, now)
            if wait > 0:
                self._delay(host, wait, now)
                continue
            self._turns.start(host, now)
            starting.append(self._pop(host, now))
        return starting

    def turned_away(self) -> list[tuple[DueFeed, float]]:
        """Feeds whose host rests for longer than `patience`, and for how long each must wait."""
        away, self._turned_away = self._turned_away, []
        return away

    def finished(self, host: str, now: float) -> None:
        """One of the host's visits is over, so its next feed may be looked at again."""
        if self._moment_of.get(host, now) > now:
            self._look_again(host, now)

    def next_moment(self) -> float | None:
        while self._moments and self._moment_of.get(self._moments[0][2]) != self._moments[0][0]:
            heapq.heappop(self._moments)
        return self._moments[0][0] if self._moments else None

    def empty(self) -> list[DueFeed]:
        """Take out all feeds: the worker stops, or slept for too long."""
        feeds, self._waiting = self.waiting(), 0
        self._queues.clear()
        self._moments.clear()
        self._moment_of.clear()
        return feeds

    def waiting(self) -> list[DueFeed]:
        return [due for queue in self._queues.values() for due in queue]

    def _look_again(self, host: str, moment: float) -> None:
        self._moment_of[host] = moment
        heapq.heappush(self._moments, (moment, next(self._numbers), host))

    def _delay(self, host: str, wait: float, now: float) -> None:
        if math.isinf(wait):
            self._look_again(host, now + _FULL_HOST_SECONDS)
        elif wait <= self._patience:
            self._look_again(host, now + wait)
        else:
            away = self._queues.pop(host)
            del self._moment_of[host]
            self._turned_away += [(due, wait) for due in away]
            self._waiting -= len(away)

    def _pop(self, host: str, now: float) -> DueFeed:
        queue = self._queues[host]
        due = queue.popleft()
        self._waiting -= 1
        if queue:
            self._delay(host, max(self._turns.wait_for(host, now), 1e-9), now)
        else:
            del self._queues[host], self._moment_of[host]
        return due
