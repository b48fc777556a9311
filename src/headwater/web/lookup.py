"""Name lookups on threads of our own: libcurl has twenty, and twenty dead name servers block them.

The system's resolver cannot be interrupted. A lookup that hangs costs a thread until it ends, and
nobody else anything.
"""

import asyncio
import socket
from contextlib import suppress
from threading import Thread

MOST = 1_024
"""Lookups at once; further ones are refused until some have ended."""

MOST_ADDRESSES = 64
"""Of one name: trying thousands that a hostile name server lists would hold up everybody else."""


class Lookups:
    """Each name is looked up once at a time, however many ask for it meanwhile."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._under_way: dict[str, asyncio.Future[list[str]]] = {}

    async def addresses(self, host: str) -> list[str]:
        """In the order in which they are to be tried; OSError when there are none."""
        found = self._under_way.get(host)
        if found is None:
            if len(self._under_way) >= self._most:
                raise OSError("too many lookups hang")
            found = self._begin(host)
        return await asyncio.shield(found)

    def end(self) -> None:
        """Nobody is kept waiting any more; threads end when their lookup does."""
        for found in self._under_way.values():
            _fail(found, OSError("closed"))
        self._under_way.clear()

    def _begin(self, host: str) -> asyncio.Future[list[str]]:
        loop = asyncio.get_running_loop()
        found: asyncio.Future[list[str]] = loop.create_future()
        self._under_way[host] = found

        def end(addresses: list[str], trouble: OSError | None) -> None:
            if found.done():
                return  # it took too long: all were ended meanwhile
            del self._under_way[host]
            if trouble is None:
                found.set_result(addresses)
            else:
                _fail(found, trouble)

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
        return found


def _fail(found: asyncio.Future[list[str]], trouble: OSError) -> None:
    found.set_exception(trouble)
    found.exception()  # perhaps nobody waits any more
