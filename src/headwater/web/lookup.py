"""Look up host names on threads of our own.

libcurl has twenty such threads, and twenty dead name servers block them all. The system's resolver
cannot be interrupted. A lookup that hangs costs one thread until it ends, and delays no other.
"""

import asyncio
import socket
from contextlib import suppress
from threading import Thread

MOST = 1_024
"""Lookups at once. More are refused until some have ended."""

MOST_ADDRESSES = 64
"""Addresses of one name. To try thousands that a hostile name server lists would hold up all other
requests."""


class Lookups:
    """Lookups under way. Each name is looked up once at a time, however many ask for it."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._under_way: dict[str, asyncio.Future[list[str]]] = {}

    async def addresses(self, host: str) -> list[str]:
        """The addresses in the order in which to try them; OSError when there are none."""
        lookup = self._under_way.get(host)
        if lookup is None:
            if len(self._under_way) >= self._most:
                raise OSError("too many lookups hang")
            lookup = self._begin(host)
        return await asyncio.shield(lookup)

    def end(self) -> None:
        """Fail all lookups under way, so that nobody waits. Threads end when their lookup does."""
        for lookup in self._under_way.values():
            _fail(lookup, OSError("closed"))
        self._under_way.clear()

    def _begin(self, host: str) -> asyncio.Future[list[str]]:
        loop = asyncio.get_running_loop()
        lookup: asyncio.Future[list[str]] = loop.create_future()
        self._under_way[host] = lookup

        def end(addresses: list[str], trouble: OSError | None) -> None:
            if lookup.done():
                return  # all lookups were ended meanwhile
            del self._under_way[host]
            if trouble is None:
                lookup.set_result(addresses)
            else:
                _fail(lookup, trouble)

        def look_up() -> None:
            addresses, trouble = list[str](), None
            try:
                rows = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
                addresses = list(dict.fromkeys(str(row[4][0]) for row in rows))[:MOST_ADDRESSES]
            except OSError as refused:
                trouble = refused
            except UnicodeError:
                trouble = OSError("this is no name that can be looked up")
            with suppress(RuntimeError):  # the loop is gone
                loop.call_soon_threadsafe(end, addresses, trouble)

        try:
            Thread(target=look_up, name="headwater-lookup", daemon=True).start()
        except RuntimeError as trouble:  # the system has no more threads
            end([], OSError(str(trouble)))
        return lookup


def _fail(lookup: asyncio.Future[list[str]], trouble: OSError) -> None:
    lookup.set_exception(trouble)
    lookup.exception()  # marks it as retrieved: perhaps nobody waits any more
