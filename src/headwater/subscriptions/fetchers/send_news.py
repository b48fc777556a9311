"""Send news of subscriptions to the fetchers that want it."""

import asyncio
from dataclasses import dataclass, replace

from headwater.core.errors import BadUrl, HeadwaterError
from headwater.core.ports import Database
from headwater.core.telemetry.log import get_logger
from headwater.core.values.instant import to_micros
from headwater.events import event_rows
from headwater.events.event_json import encode_event
from headwater.events.event_rows import LoggedEvent, LoggedEvents
from headwater.subscriptions.fetchers import receiver_rows
from headwater.subscriptions.fetchers.address import about_fetcher, news_url
from headwater.subscriptions.fetchers.ports import HttpReply
from headwater.subscriptions.fetchers.receiver_rows import Receiver
from headwater.subscriptions.registry_events import NEWS_TYPES
from headwater.subscriptions.services import RegistryServices

logger = get_logger("news")
_PAGE = 100

_FAR_BEHIND = 10_000
"""A cursor is written again when it is so many events behind with no news in between."""
_GONE = 410
_FIRST_PAUSE = 5.0
_JITTER = 0.2


@dataclass(frozen=True, slots=True)
class NewsPolicy:
    """Seconds: `deadline` for one post; `lease` after which a dead deliverer is replaced."""

    deadline: float = 10.0
    lease: float = 40.0
    pause_cap: float = 3_600.0
    at_once: int = 16
    look_every: float = 1.0


def encode_news(event: LoggedEvent) -> bytes:
    """One event as it is sent, byte for byte the same each time."""
    return encode_event(
        event.seq, event.event_id, event.type, event.at, event.feed_id, event.payload
    )


async def read_news(database: Database, after: int) -> LoggedEvents:
    async with database.read() as view:
        return await event_rows.read_events(view, after, limit=_PAGE, types=NEWS_TYPES)


class NewsDeliveries:
    """Deliveries of news, in order for each fetcher; a slow fetcher delays no other.

    A fetcher may get an event twice (after a crash before its cursor was written), but misses none.
    """

    def __init__(self, services: RegistryServices, policy: NewsPolicy) -> None:
        self._services = services
        self._policy = policy
        self._reached: dict[int, int] = {}
        self._running: dict[int, asyncio.Task[None]] = {}
        self.stopping = asyncio.Event()

    async def look(self) -> None:
        """Begin a delivery for each fetcher that does not have all events."""
        services = self._services
        async with services.database.read() as view:
            last = await event_rows.get_last_seq(view)
            now = self._now()
            receivers = await receiver_rows.list_due_receivers(view, now, self._too_far(now))
        for receiver in receivers:
            room = len(self._running) < self._policy.at_once
            if (
                room
                and receiver.fetcher_id not in self._running
                and self._cursor_of(receiver) < last
            ):
                self._running[receiver.fetcher_id] = asyncio.create_task(self._deliver(receiver))

    async def all_done(self) -> None:
        """Wait until every delivery that was begun has ended."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def end(self, seconds: float) -> None:
        """Begin no more posts; those under way may finish within `seconds`."""
        self.stopping.set()
        if self._running:
            await asyncio.wait(set(self._running.values()), timeout=seconds)
        for task in list(self._running.values()):
            task.cancel()
        await self.all_done()

    def _cursor_of(self, receiver: Receiver) -> int:
        return max(receiver.news_seq, self._reached.get(receiver.fetcher_id, 0))

    async def _deliver(self, receiver: Receiver) -> None:
        """Deliver one page.

        One delivery per fetcher runs here; the lease makes it one everywhere.
        """
        try:
            page = await read_news(self._services.database, self._cursor_of(receiver))
            if not page.events:
                await self._note_no_news(receiver, page.next)
            elif (lease_end := await self._claim(receiver)) is not None:
                await self._post_all(receiver, page.events, lease_end)
        except HeadwaterError as trouble:
            logger.error(
                "news_failed",
                fetcher=receiver.fetcher_id,
                error=trouble.code,
                detail=trouble.message,
            )
        except Exception as trouble:  # a bug must not end the news of all others
            logger.error("news_crashed", fetcher=receiver.fetcher_id, exc_info=trouble)
        finally:
            del self._running[receiver.fetcher_id]

    async def _note_no_news(self, receiver: Receiver, reached: int) -> None:
        self._reached[receiver.fetcher_id] = reached
        if reached - receiver.news_seq >= _FAR_BEHIND:
            async with self._services.database.write() as tx:
                await receiver_rows.set_news_seq(tx, receiver, reached)

    async def _claim(self, receiver: Receiver) -> int | None:
        now, lease_end = self._now(), self._lease_end()
        async with self._services.database.write() as tx:
            ours = await receiver_rows.claim_receiver(
                tx, receiver, now, self._too_far(now), lease_end
            )
        return lease_end if ours else None

    async def _post_all(
        self, receiver: Receiver, events: tuple[LoggedEvent, ...], lease_end: int
    ) -> None:
        for event in events:
            reply = await self._post(receiver, event)
            last = event is events[-1] or self.stopping.is_set()
            held = await self._note_reply(receiver, event, reply, lease_end, last=last)
            if held is None:
                return
            lease_end, receiver = held, replace(receiver, failures=0)

    async def _post(self, receiver: Receiver, event: LoggedEvent) -> HttpReply:
        try:
            url = news_url(receiver.base_url)
        except BadUrl as trouble:
            return HttpReply(None, trouble=trouble.code, detail=trouble.message)
        key = self._open_key(receiver)
        return await self._services.fetchers.post(
            url, key, encode_news(event), self._policy.deadline, message_id=event.event_id
        )

    async def _note_reply(
        self,
        receiver: Receiver,
        event: LoggedEvent,
        reply: HttpReply,
        lease_end: int,
        *,
        last: bool,
    ) -> int | None:
        """The new end of the lease while there is more to send; None at the end."""
        fetcher_id, until = receiver.fetcher_id, None if last else self._lease_end()
        delivered = reply.trouble is None and reply.status is not None and reply.status // 100 == 2
        async with self._services.database.write() as tx:
            if delivered:
                ours = await receiver_rows.mark_delivered(
                    tx, fetcher_id, lease_end, event.seq, until
                )
            elif reply.status == _GONE:
                ours, until = await receiver_rows.stop_news(tx, fetcher_id, lease_end), None
            else:
                next_try = self._now() + round(self._pause(receiver.failures) * 1_000_000)
                failures = receiver.failures + 1
                ours, until = (
                    await receiver_rows.mark_failed(tx, fetcher_id, lease_end, failures, next_try),
                    None,
                )
        if not delivered:
            _warn(receiver, event, reply)
        return until if ours else None

    def _pause(self, failures: int) -> float:
        """Twice as long each time, up to the cap, with jitter so that not all come back at once."""
        pause = min(_FIRST_PAUSE * 2.0 ** min(failures, 30), self._policy.pause_cap)
        return pause * (1 + _JITTER * self._services.clock.luck())

    def _open_key(self, receiver: Receiver) -> bytes | None:
        if receiver.signing_key is None:
            return None
        return self._services.vault.open(receiver.signing_key, about=about_fetcher(receiver.name))

    def _now(self) -> int:
        return to_micros(self._services.clock.now())

    def _too_far(self, now: int) -> int:
        """No lease or pause ends later than this, unless the clock was set back meanwhile."""
        longest = max(self._policy.lease, self._policy.pause_cap * (1 + _JITTER))
        return now + round(longest * 1_000_000)

    def _lease_end(self) -> int:
        return self._now() + round(self._policy.lease * 1_000_000)


def _warn(receiver: Receiver, event: LoggedEvent, reply: HttpReply) -> None:
    logger.warning(
        "news_not_taken",
        fetcher=receiver.fetcher_id,
        name=receiver.name,
        seq=event.seq,
        status=reply.status,
        error=reply.trouble,
        failures=receiver.failures + 1,
    )
