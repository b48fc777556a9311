"""Authenticate readers by their tokens, limit how often each may ask, and slow down guessing."""

import asyncio
import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager

from headwater.core.errors import DatabaseError, NotFound
from headwater.core.telemetry.log import get_logger
from headwater.entrypoints.api.errors import RETRY_DATABASE_SECONDS, FeedsUnavailable
from headwater.entrypoints.api.rate_limit import RateLimiter
from headwater.personal_feeds.ports import TokenHolder
from headwater.settings import Settings
from headwater.wiring.services import Services

UNKNOWN = "RSS token not found"
UNAVAILABLE = "RSS service temporarily unavailable"

logger = get_logger("headwater.api")


class ReaderAuthenticator:
    """Requests with a known token are counted for each token, those with an unknown one for the
    address they come from.

    So a flood of guesses locks nobody out: a real token from the same address goes on working, and
    only waits for its turn where it has to be looked up. Nothing is counted where there is no
    admin token: there only this machine can ask.
    """

    def __init__(self, services: Services, settings: Settings) -> None:
        self._services = services
        self._is_limited = settings.admin_secret is not None
        self._requests = RateLimiter(settings.personal_rate_per_minute)
        self._guesses = RateLimiter(settings.personal_guesses_per_minute)
        self._suspect_lookup = asyncio.Lock()

    async def authenticate(self, token: str, peer: str) -> TokenHolder:
        """NotFound for a token that is unknown, ended or revoked: the same answer for all three."""
        holder = await self._holder(token, peer)
        if holder is None:
            self.note_guess(peer)
            raise NotFound(UNKNOWN, what="token")
        if self._is_limited:
            self._requests.spend(holder.token_id, self._services.clock.monotonic())
        self._services.personal.served.note_use(holder.token_id)
        return holder

    def note_guess(self, peer: str) -> None:
        """RateLimited when there were too many guesses from this address."""
        if self._is_limited:
            self._guesses.spend(_network(peer), self._services.clock.monotonic())

    async def _holder(self, token: str, peer: str) -> TokenHolder | None:
        """One lookup at a time for all addresses that guessed too often: so the store stays free
        for others."""
        feeds, now = self._services.personal.served, self._services.clock.monotonic()
        with feeds_unavailable_on_error():
            if self._is_limited and self._guesses.is_spent(_network(peer), now):
                async with self._suspect_lookup:
                    return await feeds.holder(token)
            return await feeds.holder(token)


@contextmanager
def feeds_unavailable_on_error() -> Iterator[None]:
    """FeedsUnavailable where the store fails: an old feed is never shown in its place, as its token
    may have been revoked."""
    try:
        yield
    except DatabaseError as trouble:
        logger.error("personal_feeds_failed", code=trouble.code, problem=trouble.message)
        raise FeedsUnavailable(UNAVAILABLE, retry_after_sec=RETRY_DATABASE_SECONDS) from trouble


def _network(peer: str) -> str:
    """The /64 of an IPv6 address: one customer has all of it."""
    if ":" not in peer:
        return peer
    try:
        address = ipaddress.IPv6Address(peer.partition("%")[0])
    except ValueError:
        return peer
    return str(address.ipv4_mapped or ipaddress.IPv6Network((int(address), 64), strict=False))
