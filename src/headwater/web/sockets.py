"""Watch libcurl's sockets on any asyncio loop, and report those that are ready in batches."""

import asyncio
import select
from collections.abc import Callable
from typing import Protocol

import pycurl

Ready = Callable[[list[tuple[int, int]]], None]
"""A callback that takes pairs of file descriptor and `pycurl.CSELECT_*` bits."""

BATCH = 64
"""Sockets served before the loop may do other work: TLS handshakes take a millisecond each."""


class Sockets(Protocol):
    def watch(self, what: int, fd: int, multi: object, data: object) -> None:
        """libcurl's socket callback. Ignored once closed: libcurl may then be on another thread."""

    def close(self) -> None: ...


def sockets_for(loop: asyncio.AbstractEventLoop, ready: Ready) -> Sockets:
    return EpollSockets(loop, ready) if hasattr(select, "epoll") else LoopSockets(loop, ready)


class EpollSockets:
    """All sockets in one epoll object, which the loop sees as a single reader.

    To register a socket with the loop costs several µs, three or four times a request.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, ready: Ready) -> None:
        self._loop, self._ready = loop, ready
        self._epoll = select.epoll()
        self._watched: set[int] = set()
        loop.add_reader(self._epoll.fileno(), self._serve)

    def watch(self, what: int, fd: int, multi: object, data: object) -> None:
        if self._epoll.closed:
            return
        if what == pycurl.POLL_REMOVE:
            if fd in self._watched:
                self._watched.discard(fd)
                self._epoll.unregister(fd)
            return
        if fd in self._watched:
            self._epoll.modify(fd, _EPOLL_BITS[what])
        else:
            self._epoll.register(fd, _EPOLL_BITS[what])
            self._watched.add(fd)

    def close(self) -> None:
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def _serve(self) -> None:
        events = self._epoll.poll(0, BATCH)
        self._ready([(fd, _CURL_BITS.get(bits) or _BOTH) for fd, bits in events])


class LoopSockets:
    """Sockets on systems without epoll: each one is registered with the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ready: Ready) -> None:
        self._loop, self._ready = loop, ready
        self._watched: set[int] = set()
        self._closed = False

    def watch(self, what: int, fd: int, multi: object, data: object) -> None:
        if self._closed:
            return
        self._forget(fd)
        if what in (pycurl.POLL_IN, pycurl.POLL_INOUT):
            self._loop.add_reader(fd, self._ready, [(fd, _READ)])
        if what in (pycurl.POLL_OUT, pycurl.POLL_INOUT):
            self._loop.add_writer(fd, self._ready, [(fd, _WRITE)])
        if what != pycurl.POLL_REMOVE:
            self._watched.add(fd)

    def close(self) -> None:
        self._closed = True
        for fd in tuple(self._watched):
            self._forget(fd)

    def _forget(self, fd: int) -> None:
        if fd in self._watched:
            self._watched.discard(fd)
            self._loop.remove_reader(fd)
            self._loop.remove_writer(fd)


_READ: int = pycurl.CSELECT_IN
_WRITE: int = pycurl.CSELECT_OUT
_BOTH = _READ | _WRITE
"""For a broken connection too, so that libcurl finds out which way it is broken."""
_EPOLL_BITS = {pycurl.POLL_NONE: 0}
_CURL_BITS: dict[int, int] = {}
if hasattr(select, "epoll"):
    _EPOLL_BITS |= {
        pycurl.POLL_IN: select.EPOLLIN,
        pycurl.POLL_OUT: select.EPOLLOUT,
        pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
    }
    _CURL_BITS |= {select.EPOLLIN: _READ, select.EPOLLOUT: _WRITE}
