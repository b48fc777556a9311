"""The polite fetcher: requests wait for their host's turn, and hosts get the rest they ask for."""

import math
from dataclasses import dataclass

from headwater.core.errors import TooSoon
from headwater.core.ports import Clock
from headwater.core.telemetry.trace import span
from headwater.core.values.url import host_of
from headwater.feeds.fetch.host_turns import HostPacing
from headwater.feeds.fetch.outcome import Outcome, Throttled
from headwater.feeds.fetch.request_feed import FetchPolicy, FetchRequest, fetch_url
from headwater.feeds.fetch.request_trace import describe_request
from headwater.web.ports import Web

TOO_MANY_REQUESTS = 429

_BUSY_HOST_SECONDS = 0.25
"""How often we check again a host whose places are all taken."""

_PATIENCE_SECONDS = 60.0
"""How long a request waits for a host's turn before it gives up with TooSoon."""


@dataclass(frozen=True, slots=True)
class PoliteFetcher:
    """Visits, first fetches and .torrent fetches of a process share its `turns`.

    A host that answers 429 without Retry-After rests for `usual_rest` seconds.
    """

    web: Web
    turns: HostPacing
    clock: Clock
    policy: FetchPolicy
    usual_rest: float

    async def fetch(self, request: FetchRequest) -> Outcome:
        """Fetch for a caller that has the host's turn.

        A redirect waits for the next host's turn.
        """
        with span("request") as requested:
            outcome = await fetch_url(request, self.policy, self.web, self.clock, self.pass_by)
            requested.tell(describe_request, request, outcome)
        if isinstance(outcome, Throttled):
            self._let_rest(outcome)
        return outcome

    async def fetch_in_turn(self, request: FetchRequest) -> Outcome:
        """Wait for the host's turn, fetch and end the turn.

        TooSoon when waiting would take long.
        """
        host = host_of(request.url)
        await self.take_turn(host)
        outcome: Outcome | None = None
        try:
            outcome = await self.fetch(request)
            return outcome
        finally:
            address = outcome.exchange.own_address if outcome else None
            self.turns.finish(host, self.clock.monotonic(), address)

    async def take_turn(self, host: str, *, passing: bool = False) -> None:
        """Wait until the host may be requested, and take that turn; the caller must end it.

        No caller is kept waiting for long: TooSoon says when to try again.
        """
        turns, clock = self.turns, self.clock
        if not turns.knows(host):  # names that share an address share its turns from the first on
            turns.lives_at(host, await self.web.address_of(host))
        patience = clock.monotonic() + _PATIENCE_SECONDS
        while (wait := turns.wait_for(host, clock.monotonic(), passing=passing)) > 0:
            pause = _BUSY_HOST_SECONDS if math.isinf(wait) else wait
            if clock.monotonic() + pause > patience:
                raise TooSoon(
                    "This host was asked a moment ago, or asked for a rest.",
                    host=host,
                    retry_after_sec=_PATIENCE_SECONDS if math.isinf(wait) else wait,
                )
            await clock.sleep(pause)
        turns.start(host, clock.monotonic())

    async def pass_by(self, host: str) -> None:
        """The pace of a host that a redirect leads to counts too, though not its concurrency.

        A visit that is led back to its own host would wait for the place that it holds itself.
        """
        await self.take_turn(host, passing=True)
        self.turns.finish(host, self.clock.monotonic(), None)

    def _let_rest(self, throttled: Throttled) -> None:
        """A host that answered 429, or said how long, rests as a whole.

        A 503 without Retry-After is trouble of one feed.
        """
        answer, seconds = throttled.exchange.answer, throttled.retry_after
        if seconds is None and answer.status == TOO_MANY_REQUESTS:
            seconds = self.usual_rest
        if seconds:
            self.turns.rest(host_of(answer.url), self.clock.monotonic() + seconds)
