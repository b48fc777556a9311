"""The HTTP client: libcurl's multi interface, driven by the running asyncio loop."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread
from time import monotonic

import pycurl

from headwater.core.errors import BadInput
from headwater.core.values.response import Headers, HttpAnswer
from headwater.core.values.url import UrlParts
from headwater.web.address_gate import AddressPolicy, check_url, is_numeric
from headwater.web.limits import WebLimits, trusted_store
from headwater.web.lookup import Lookups
from headwater.web.sockets import Sockets, sockets_for
from headwater.web.transfer import Transfer, header_lines

_TIMED_OUT_NUMBER = pycurl.E_OPERATION_TIMEDOUT


class CurlWeb:
    """The Web port. One of these serves hundreds of requests at once on one loop.

    `resolve` pins names to addresses (`host:port:address`), before any lookup and before the
    address gate, which still decides.
    """

    def __init__(
        self, limits: WebLimits, address: AddressPolicy, *, resolve: Sequence[str] = ()
    ) -> None:
        self._limits, self._policy, self._resolve = limits, address, tuple(resolve)
        self._pinned = dict(_pin(entry) for entry in resolve)
        self._lookups = Lookups()
        self._ca_file = trusted_store(limits.ca_file)
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, limits.kept_connections)
        self._multi.setopt(pycurl.M_MAX_HOST_CONNECTIONS, limits.host_connections)
        self._active: dict[pycurl.Curl, Transfer] = {}
        self._idle: list[Transfer] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sockets: Sockets | None = None
        self._timer: asyncio.Handle | None = None
        self._timer_at = 0.0
        self._sweep: asyncio.TimerHandle | None = None
        self._sweep_every = min(limits.connect, limits.tls, limits.first_byte, limits.idle) / 8
        self._closed = False

    async def get(
        self, url: str, headers: Headers, *, deadline: float, verify_tls: bool = True
    ) -> HttpAnswer:
        """Send a GET. Trouble on the way is in the answer; only a closed CurlWeb raises."""
        return await self._request(url, headers, None, deadline, verify_tls)

    async def post(self, url: str, headers: Headers, body: bytes, *, deadline: float) -> HttpAnswer:
        """Send a POST. It is never redirected, and its answer is bounded as that of a GET."""
        return await self._request(url, headers, body, deadline, verify_tls=True)

    async def address_of(self, host: str) -> str | None:
        """The first address of a name. Nothing is sent to that host."""
        if self._closed or is_numeric(host):
            return None
        if host in self._pinned:
            return self._pinned[host]
        try:
            async with asyncio.timeout(self._limits.connect):
                addresses = await self._lookups.addresses(host)
        except OSError:  # a timeout is one of these
            return None
        return addresses[0]

    async def _request(
        self, url: str, headers: Headers, body: bytes | None, deadline: float, verify_tls: bool
    ) -> HttpAnswer:
        if self._closed:
            raise RuntimeError("this CurlWeb is closed")
        try:
            parts = check_url(url, self._policy)
        except BadInput as refusal:
            return _failed_answer(url, refusal.code, refusal.message)
        if deadline <= 0:
            return _failed_answer(url, "timeout", "no time was left to ask")
        loop = self._bind()
        lines = header_lines(headers, has_body=body is not None)
        began = monotonic()
        addresses: list[str] = []
        if not parts.is_literal and parts.host not in self._pinned:
            looked_up = await self._look_up(url, parts, min(deadline, self._limits.connect))
            if isinstance(looked_up, HttpAnswer):
                return looked_up
            addresses, deadline = looked_up, deadline - (monotonic() - began)
        if self._idle:
            transfer = self._idle.pop()
        else:
            transfer = Transfer(self._limits, self._policy, self._ca_file, self._resolve)
        transfer.begin(url, parts, headers, lines, deadline, verify_tls)
        transfer.lead_to(parts, addresses)
        transfer.asked_at = began
        transfer.carry(body)
        future: asyncio.Future[HttpAnswer] = loop.create_future()
        transfer.future = future
        self._active[transfer.easy] = transfer
        self._multi.add_handle(transfer.easy)
        self._wake_in(0)
        if self._sweep is None:
            self._sweep = loop.call_later(self._sweep_every, self._sweep_overdue)
        try:
            return await future
        except asyncio.CancelledError:
            # The handle may already serve another request: only our own is given up.
            if transfer.future is future:
                self._release(transfer)
                self._wake_in(0)  # a request that waits for a connection may go on
            raise

    async def _look_up(self, url: str, parts: UrlParts, seconds: float) -> list[str] | HttpAnswer:
        """The addresses of a name, or a failed answer. The gate checks each one that is dialled."""
        result: list[str] | HttpAnswer
        try:
            async with asyncio.timeout(seconds):
                result = await self._lookups.addresses(parts.host)
        except TimeoutError:
            result = _failed_answer(
                url, "timeout", f"no address for the host name within {seconds:g} s"
            )
        except OSError as trouble:
            detail = f"{parts.host}: {trouble.strerror or trouble}"
            result = _failed_answer(url, "dns_error", detail)
        return _failed_answer(url, "network_error", "closed") if self._closed else result

    async def close(self) -> None:
        """End all requests under way. Afterwards no handle, timer or descriptor is left."""
        if self._closed:
            return
        self._closed = True
        self._lookups.end()
        for transfer in tuple(self._active.values()):
            self._finish(transfer, pycurl.E_ABORTED_BY_CALLBACK, "closed")
        for timer in (self._timer, self._sweep):
            if timer is not None:
                timer.cancel()
        self._timer = self._sweep = None
        for transfer in self._idle:
            transfer.close()
        self._idle.clear()
        if self._sockets is not None:
            self._sockets.close()
        await self._close_multi()

    async def _close_multi(self) -> None:
        """Close on a thread: libcurl waits for name lookups, which may hang for many seconds."""
        loop, closed = asyncio.get_running_loop(), asyncio.Event()

        def close() -> None:
            self._multi.close()
            with suppress(RuntimeError):  # nobody waits any more, and the loop is gone
                loop.call_soon_threadsafe(closed.set)

        Thread(target=close, name="headwater-web-close", daemon=True).start()
        with suppress(TimeoutError):
            await asyncio.wait_for(closed.wait(), self._limits.closing)

    def _bind(self) -> asyncio.AbstractEventLoop:
        """Bind to the loop of the first request: it owns libcurl's sockets and timers from then."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._sockets = sockets_for(self._loop, self._on_ready)
            self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._sockets.watch)
        return self._loop

    def _wake_in(self, milliseconds: int) -> None:
        """We ask libcurl for its next moment when a batch is done. Its own way, to call us with
        each new moment, is two calls a request. An early wake-up is harmless: we ask again."""
        loop = self._loop
        if milliseconds < 0 or loop is None:
            return
        at = monotonic() + milliseconds / 1000 if milliseconds else 0.0
        if self._timer is not None:
            if self._timer_at <= at:
                return
            self._timer.cancel()
        self._timer_at = at
        if milliseconds == 0:
            self._timer = loop.call_soon(self._on_timer)
        else:
            self._timer = loop.call_later(milliseconds / 1000, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._collect()
        self._wake_in(self._multi.timeout())

    def _on_ready(self, events: list[tuple[int, int]]) -> None:
        act = self._multi.socket_action
        for fd, bits in events:
            act(fd, bits)
        self._collect()
        self._wake_in(self._multi.timeout())

    def _collect(self) -> None:
        more = 1
        while more:
            more, done, failed = self._multi.info_read()
            for easy in done:
                self._finish(self._active[easy], pycurl.E_OK, "")
            for easy, number, message in failed:
                self._finish(self._active[easy], number, message)

    def _finish(self, transfer: Transfer, number: int, message: str) -> None:
        answer = transfer.answer(number, message)
        future = transfer.future
        self._release(transfer)
        if future is not None and not future.done():
            future.set_result(answer)

    def _release(self, transfer: Transfer) -> None:
        del self._active[transfer.easy]
        self._multi.remove_handle(transfer.easy)
        transfer.forget()
        if len(self._idle) < self._limits.kept_handles and not self._closed:
            self._idle.append(transfer)
        else:
            transfer.close()

    def _sweep_overdue(self) -> None:
        """Enforce the smaller time limits of all transfers, a few times a second."""
        self._sweep = None
        now = monotonic()
        for transfer in tuple(self._active.values()):
            if (why := transfer.overdue(now)) is not None:
                transfer.stop("timeout", why)
                self._finish(transfer, _TIMED_OUT_NUMBER, why)
                self._wake_in(0)  # a request that waits for a connection may go on
        if self._active and self._loop is not None:
            self._sweep = self._loop.call_later(self._sweep_every, self._sweep_overdue)


def _pin(entry: str) -> tuple[str, str]:
    """`host:port:address,…`, as libcurl spells it, gives the host and the first address."""
    host, _, rest = entry.lstrip("+").partition(":")
    return host, rest.partition(":")[2].partition(",")[0].strip("[]")


def _failed_answer(url: str, code: str, detail: str) -> HttpAnswer:
    return HttpAnswer(url, None, (), (), b"", 0.0, error=code, error_detail=detail)
