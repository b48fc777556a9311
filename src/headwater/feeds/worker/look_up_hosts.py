"""Feeds of hosts never met: where such a host lives is looked up before it is given a turn."""

import asyncio
from collections.abc import Callable, Sequence

from headwater.feeds.fetch.polite_fetcher import PoliteFetcher
from headwater.feeds.schedule.due import DueFeed


class HostLookups:
    """Of a list of blogs many share one machine: that must not show by asking them all at once."""

    def __init__(self, fetcher: PoliteFetcher, arrive: Callable[[Sequence[DueFeed]], None]) -> None:
        self._fetcher, self._arrive = fetcher, arrive
        self._waiting: dict[str, list[DueFeed]] = {}
        self._lookups: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return sum(len(feeds) for feeds in self._waiting.values())

    def at(self, host: str) -> int:
        """How many feeds of this host wait."""
        return len(self._waiting.get(host, ()))

    def add(self, due: DueFeed) -> None:
        if due.host in self._waiting:
            self._waiting[due.host].append(due)
            return
        self._waiting[due.host] = [due]
        lookup = asyncio.create_task(self._look_up(due.host))
        self._lookups.add(lookup)
        lookup.add_done_callback(self._lookups.discard)

    def waiting(self) -> list[DueFeed]:
        return [due for feeds in self._waiting.values() for due in feeds]

    def empty(self) -> list[DueFeed]:
        """Everybody out: the worker stops, or slept for too long."""
        left = self.waiting()
        self._waiting.clear()
        for lookup in self._lookups:
            lookup.cancel()
        return left

    async def _look_up(self, host: str) -> None:
        """What is found nowhere has its turn too, and fails there."""
        try:
            address = await self._fetcher.web.address_of(host)
            self._fetcher.turns.lives_at(host, address)
        finally:
            self._arrive(self._waiting.pop(host, []))
