"""A registered fetcher for tests: joined, with subscriptions of its own, without a process."""

from dataclasses import dataclass
from typing import Any

from uuid_utils import uuid7

from headwater import remote_work
from headwater.engine import Engine
from headwater.fetch.reported import DocumentText, Reported
from headwater.remote_work import Claim, Claimed, Work
from headwater.schedule.queries import Visit
from headwater.subscribe import store as feeds
from headwater.subscribe.fetcher import Fetcher, Registration
from headwater.subscribe.fetchers import store as fetchers
from headwater.subscribe.signing import signing_key_of
from headwater.subscribe.subscription import NewSubscription, Subscription
from headwater.subscribe.subscriptions import store as subscriptions
from headwater.values.ids import FeedId
from headwater.values.instant import to_micros
from headwater.visit import Visits
from tests.clock import VirtualClock

KEY = bytes(range(32))
LEASE = 120.0


@dataclass
class Remote:
    """What tests of remote work keep doing, each in one word."""

    engine: Engine
    clock: VirtualClock

    async def fetcher(
        self,
        name: str = "weather",
        base_url: str = "http://127.0.0.1:1",
        *,
        wants_news: bool = False,
        is_enabled: bool = True,
    ) -> Fetcher:
        said = Registration(name, "1.0.0", None, base_url, 50, None, wants_news)
        async with self.engine.database.write() as tx:
            made, _ = await fetchers.register(
                tx,
                said,
                registered_by="tests",
                token_id=None,
                signing_key=self.engine.vault.seal(KEY, about=signing_key_of(name)),
                now=self.engine.clock.now(),
                is_enabled=is_enabled,
            )
        return made

    async def subscribe(
        self, fetcher: Fetcher, url: str, *, priority: int = 50, config: str | None = None
    ) -> Subscription:
        """Assigned to that fetcher, and due now."""
        new = NewSubscription(url, config=config, priority=priority)
        now = self.engine.clock.now()
        async with self.engine.database.write() as tx:
            followed = await feeds.follow(
                tx,
                url,
                new.wish,
                feed_id=FeedId(str(uuid7())),
                interval_sec=900,
                now=now,
                visit_at=now,
            )
            return await subscriptions.add(
                tx, new, followed, fetcher.id, auto_selected=False, now=now
            )

    async def claim(
        self, fetcher: Fetcher, limit: int = 10, lease_seconds: float = LEASE
    ) -> Claimed:
        return await remote_work.claim(
            self.engine, fetcher, limit=limit, lease_seconds=lease_seconds
        )

    async def one(self, fetcher: Fetcher) -> Work:
        (work,) = (await self.claim(fetcher)).works
        return work

    async def report(self, fetcher: Fetcher, claim: Claim, said: Reported) -> Visit:
        return await remote_work.report(
            self.engine, Visits(self.engine), fetcher, claim, said, elapsed=0.25
        )

    async def visit(self, fetcher: Fetcher, said: Reported) -> Visit:
        return await self.report(fetcher, (await self.one(fetcher)).claim, said)

    async def rows(self, sql: str) -> list[Any]:
        async with self.engine.database.read() as view:
            return list(await view.rows(sql))

    async def due_again(self) -> None:
        """A second later every feed that nobody has is due, as a visit of its own."""
        await self.clock.advance(1)
        now = to_micros(self.clock.now())
        async with self.engine.database.write() as tx:
            await tx.run(
                "UPDATE feeds SET next_visit_at = ?, scheduled_at = ?"
                " WHERE state = 'active' AND claimed_by IS NULL",
                now,
                now,
            )


def document(text: str | bytes, content_type: str = "application/rss+xml") -> DocumentText:
    plain = text.decode() if isinstance(text, bytes) else text
    return DocumentText(plain, content_type)
