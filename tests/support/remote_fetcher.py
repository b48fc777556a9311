"""A registered fetcher for tests: joined, with subscriptions of its own, without a process."""

from dataclasses import dataclass
from typing import Any

from uuid_utils import uuid7

from headwater.core.values.ids import FeedId
from headwater.core.values.instant import to_micros
from headwater.feeds import feed_rows
from headwater.feeds.visit_rows import Visit
from headwater.subscriptions import subscription_rows
from headwater.subscriptions.fetchers import fetcher_rows, remote_work
from headwater.subscriptions.fetchers.address import about_fetcher
from headwater.subscriptions.fetchers.fetcher import Fetcher, Registration
from headwater.subscriptions.fetchers.fetcher_reports import FetcherReport, ReportedDocument
from headwater.subscriptions.fetchers.remote_work import Claim, ClaimedWork, RemoteVisit
from headwater.subscriptions.subscription import NewSubscription, Subscription
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts

KEY = bytes(range(32))
LEASE = 120.0


@dataclass
class Remote:
    """What tests of remote work keep doing, each in one word."""

    engine: EngineParts
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
            made, _ = await fetcher_rows.upsert_fetcher(
                tx,
                said,
                registered_by="tests",
                token_id=None,
                signing_key=self.engine.vault.seal(KEY, about=about_fetcher(name)),
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
            followed = await feed_rows.insert_or_restore_feed(
                tx,
                url,
                new.feed_options,
                feed_id=FeedId(str(uuid7())),
                interval_sec=900,
                now=now,
                visit_at=now,
            )
            return await subscription_rows.insert_subscription(
                tx, new, followed, fetcher, auto_selected=False, now=now
            )

    async def claim(
        self, fetcher: Fetcher, limit: int = 10, lease_seconds: float = LEASE
    ) -> ClaimedWork:
        return await remote_work.claim_work(
            self.engine.registry, fetcher, limit=limit, lease_seconds=lease_seconds
        )

    async def one(self, fetcher: Fetcher) -> RemoteVisit:
        (work,) = (await self.claim(fetcher)).works
        return work

    async def report(self, fetcher: Fetcher, claim: Claim, said: FetcherReport) -> Visit:
        return await remote_work.accept_report(
            self.engine.registry, fetcher, claim, said, elapsed=0.25
        )

    async def visit(self, fetcher: Fetcher, said: FetcherReport) -> Visit:
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


def document(text: str | bytes, content_type: str = "application/rss+xml") -> ReportedDocument:
    plain = text.decode() if isinstance(text, bytes) else text
    return ReportedDocument(plain, content_type)
