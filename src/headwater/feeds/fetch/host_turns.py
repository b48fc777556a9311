"""Host turns: how soon a host may be requested again, so that no host is ever hammered."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PacingPolicy:
    """Limits for each host name, and for each address, because many names may share a machine."""

    max_concurrency: int = 2
    requests_per_second: float = 1.0
    address_requests_per_second: float = 5.0
    remember_idle: float = 3600.0
    most_hosts: int = 100_000

    def __post_init__(self) -> None:
        if self.max_concurrency < 1:
            raise ValueError("max_concurrency must be at least 1")
        if min(self.requests_per_second, self.address_requests_per_second) <= 0:
            raise ValueError("requests per second must be more than 0")


@dataclass(slots=True)
class _Host:
    active: int = 0
    next_at: float = -math.inf
    rests_until: float = -math.inf
    address: str | None = None

    @property
    def is_new(self) -> bool:
        """Never requested, and never at rest."""
        return max(self.next_at, self.rests_until) == -math.inf


class HostPacing:
    """The turns of all hosts.

    Moments are monotonic seconds from the caller: this reads no clock.
    """

    def __init__(self, policy: PacingPolicy) -> None:
        self._policy = policy
        self._hosts: dict[str, _Host] = {}
        self._addresses: dict[str, float] = {}
        self._sweep_at = 1024

    def wait_for(self, host: str, now: float, *, passing: bool = False) -> float:
        """Seconds until this host may be requested; infinite when only a `finish` can free it.

        A request that is `passing`, led there by another host, needs no place of its own.
        """
        state = self._hosts.get(host)
        if state is None:
            return 0.0
        if state.active >= self._policy.max_concurrency and not passing:
            return math.inf
        ready = max(state.next_at, state.rests_until)
        if state.address is not None:
            ready = max(ready, self._addresses.get(state.address, -math.inf))
        return max(0.0, ready - now)

    def start(self, host: str, now: float) -> None:
        state = self._host_state(host, now)
        state.active += 1
        state.next_at = max(state.next_at, now + 1 / self._policy.requests_per_second)
        if state.address is not None:
            self._space_address(state.address, now)

    def finish(self, host: str, now: float, address: str | None) -> None:
        """End a turn and note the address of the host, which has just been requested."""
        state = self._hosts.get(host)
        if state is None or state.active == 0:
            raise ValueError(f"{host!r} finished a turn it never started")
        state.active -= 1
        if address is not None and state.address != address:
            state.address = address
            self._space_address(address, now)

    def lives_at(self, host: str, address: str | None) -> None:
        """Note an address known from before, so that it is spaced from the first request on."""
        if address is not None:
            state = self._hosts.setdefault(host, _Host())
            state.address = state.address or address

    def knows(self, host: str) -> bool:
        """Whether the address of the host is known."""
        state = self._hosts.get(host)
        return state is not None and state.address is not None

    def rest(self, host: str, until: float) -> None:
        """Let the whole host rest (Retry-After); a shorter rest never cuts a longer one."""
        state = self._hosts.setdefault(host, _Host())
        state.rests_until = max(state.rests_until, until)

    def seen(self, host: str, at: float) -> None:
        """Note a request that another process made at that moment."""
        state = self._hosts.setdefault(host, _Host())
        state.next_at = max(state.next_at, at + 1 / self._policy.requests_per_second)

    def __len__(self) -> int:
        return len(self._hosts)

    def _host_state(self, host: str, now: float) -> _Host:
        if len(self._hosts) >= self._sweep_at:
            self._forget_idle(now)
        return self._hosts.setdefault(host, _Host())

    def _space_address(self, address: str, now: float) -> None:
        gap = 1 / self._policy.address_requests_per_second
        self._addresses[address] = max(self._addresses.get(address, -math.inf), now + gap)

    def _forget_idle(self, now: float) -> None:
        """Amortised: each sweep doubles the distance to the next one.

        A host that was only looked up so far is about to have its first turn: it keeps its address.
        """
        crowded = len(self._hosts) >= self._policy.most_hosts
        patience = 0.0 if crowded else self._policy.remember_idle
        self._hosts = {
            host: state
            for host, state in self._hosts.items()
            if state.active
            or max(state.next_at, state.rests_until) + patience > now
            or (state.is_new and not crowded)
        }
        self._addresses = {
            address: ready for address, ready in self._addresses.items() if ready > now
        }
        doubled = max(1024, 2 * len(self._hosts))
        self._sweep_at = doubled if crowded else min(doubled, self._policy.most_hosts)
