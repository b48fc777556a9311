"""Look up hosts that were never requested, so that their address is known before their turn."""

import asyncio
from collections.abc import Callable, Sequence

from headwater.feeds.fetch.polite_fetcher import PoliteFetcher
from headwater.feeds.schedule.due import DueFeed


class HostLookups:
    """Feeds that wait for the address of their host.

    Many blogs of one list may share a machine: it must not get a request for each at once.
    """

    def __init__(
        self, fetcher: PoliteFetcher, on_found: Callable[[Sequence[DueFeed]], None]
    ) -> None:
        self._fetcher, self._on_found = fetcher, on_found
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
        """Take out all feeds: the worker stops, or slept for too long."""
        feeds = self.waiting()
        self._waiting.clear()
        for lookup in self._lookups:
            lookup.cancel()
        return feeds

    async def _look_up(self, host: str) -> None:
        """A host without an address gets its turn too: the request fails there."""
        try:
            address = await self._fetcher.web.address_of(host)
            self._fetcher.turns.lives_at(host, address)
        finally:
            self._on_found(self._waiting.pop(host, []))
