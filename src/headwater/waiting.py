"""The waiting room of a worker: claimed feeds until their host has a turn and a place is free."""

import heapq
import math
from collections import deque

from headwater.fetch.turns import Turns
from headwater.schedule.due import Due


class WaitingRoom:
    """Feeds in order of arrival per host. Time is a parameter, in monotonic seconds.

    A host waits in one of two ways: until a moment (it stands in the heap), or until one of its
    own visits finishes (it stands in `_blocked`). Work is done per host that may move, never by
    looking at everybody.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._queues: dict[str, deque[Due]] = {}
        self._moments: list[tuple[float, str]] = []
        self._blocked: set[str] = set()

    def __len__(self) -> int:
        return sum(len(queue) for queue in self._queues.values())

    def at(self, host: str) -> int:
        """How many feeds of this host wait."""
        return len(self._queues.get(host, ()))

    def add(self, due: Due, now: float) -> None:
        queue = self._queues.get(due.host)
        if queue is None:
            self._queues[due.host] = deque([due])
            heapq.heappush(self._moments, (now, due.host))
        else:
            queue.append(due)

    def ready(self, now: float, places: int) -> list[Due]:
        """Up to `places` feeds that may start now; their hosts' turns are taken."""
        starting: list[Due] = []
        while len(starting) < places and self._moments and self._moments[0][0] <= now:
            _, host = heapq.heappop(self._moments)
            wait = self._turns.wait_for(host, now)
            if wait > 0:
                self._hold(host, wait, now)
                continue
            self._turns.start(host, now)
            starting.append(self._pop(host, now))
        return starting

    def finished(self, host: str, now: float) -> None:
        """One of the host's visits is over: whoever waited for that may look again."""
        if host in self._blocked:
            self._blocked.discard(host)
            heapq.heappush(self._moments, (now, host))

    def next_moment(self) -> float | None:
        return self._moments[0][0] if self._moments else None

    def empty(self) -> list[Due]:
        """Everybody out: the worker stops."""
        left = [due for queue in self._queues.values() for due in queue]
        self._queues.clear()
        self._moments.clear()
        self._blocked.clear()
        return left

    def waiting(self) -> list[Due]:
        return [due for queue in self._queues.values() for due in queue]

    def _hold(self, host: str, wait: float, now: float) -> None:
        if math.isinf(wait):
            self._blocked.add(host)
        else:
            heapq.heappush(self._moments, (now + wait, host))

    def _pop(self, host: str, now: float) -> Due:
        queue = self._queues[host]
        due = queue.popleft()
        if queue:
            self._hold(host, max(self._turns.wait_for(host, now), 1e-9), now)
        else:
            del self._queues[host]
        return due
