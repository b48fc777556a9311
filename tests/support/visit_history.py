"""A history by hand: fetchers, their subscriptions, and visits that went as the test says."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from uuid_utils import uuid7

from headwater.core.values.ids import FeedId
from headwater.core.values.instant import to_micros
from headwater.feeds import feed_rows
from headwater.feeds.visit_rows import VisitRow, insert_visits
from headwater.subscriptions import subscription_rows
from headwater.subscriptions.conflicts import conflict_rows
from headwater.subscriptions.conflicts.conflict import Conflict
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.fetcher import Fetcher, Registration
from headwater.subscriptions.subscription import NewSubscription, Subscription
from headwater.wiring.housekeeping import count_visits
from tests.support.engine_parts import EngineParts
from tests.support.scripted_engine import SECOND, a_visit

OK, SAME = "ok", "same"
"""Visits that succeeded: with a document, and without a new one. Anything else is an error code."""


@dataclass
class Ledger:
    """Visits are a minute apart, and the last one ended a minute ago."""

    engine: EngineParts
    written: dict[int, int] = field(default_factory=dict)

    @property
    def now(self) -> datetime:
        return self.engine.clock.now()

    async def fetcher(self, name: str, *, is_enabled: bool = True) -> Fetcher:
        said = Registration(name, "1.0.0", None, f"https://{name}.example", 50, None, False)
        async with self.engine.database.write() as tx:
            made, _ = await fetcher_rows.upsert_fetcher(
                tx,
                said,
                registered_by="tests",
                token_id=None,
                signing_key=None,
                now=self.now,
                is_enabled=is_enabled,
            )
        return made

    async def subscribe(self, fetcher: Fetcher, url: str, name: str | None = None) -> Subscription:
        new = NewSubscription(url, name=name)
        async with self.engine.database.write() as tx:
            followed = await feed_rows.insert_or_restore_feed(
                tx,
                url,
                new.feed_options,
                feed_id=FeedId(str(uuid7())),
                interval_sec=900,
                now=self.now,
                visit_at=self.now,
            )
            return await subscription_rows.insert_subscription(
                tx, new, followed, fetcher, auto_selected=True, now=self.now
            )

    async def visits(
        self,
        subscription: Subscription,
        ends: Sequence[str],
        *,
        fetcher: Fetcher | None = None,
        ago: timedelta = timedelta(),
        **more: Any,
    ) -> None:
        """By the subscription's own fetcher, unless another is named; nothing is counted yet."""
        by = fetcher.id if fetcher else subscription.fetcher_id
        last = to_micros(self.now - ago)
        before = self.written.get(subscription.feed_pk, 0)
        self.written[subscription.feed_pk] = before + len(ends)
        records = []
        for place, end in enumerate(ends):
            finished = last - (len(ends) - place) * 60 * SECOND
            visit = a_visit(subscription.feed_pk, finished - 10 * SECOND - before)
            records.append(visit._replace(finished_at=finished, **_end(end), **more))
        await self.record(records, by)

    async def record(self, records: Sequence[VisitRow], by: int) -> None:
        async with self.engine.database.write() as tx:
            await insert_visits(tx, records)
            await tx.run_many(
                "UPDATE visits SET fetcher_id = ? WHERE feed_id = ? AND scheduled_at = ?",
                [(by, each.feed_id, each.scheduled_at) for each in records],
            )

    async def count(self) -> int:
        return await count_visits(self.engine.database)

    async def conflict(self, subscription: Subscription, *candidates: Fetcher) -> Conflict:
        async with self.engine.database.write() as tx:
            made, _ = await conflict_rows.insert_conflict(
                tx,
                subscription.id,
                "multi_fetcher_match",
                [each.id for each in candidates],
                "two can",
                self.now,
            )
        return made

    async def rows(self, sql: str) -> list[Any]:
        async with self.engine.database.read() as view:
            return list(await view.rows(sql))


def _end(end: str) -> dict[str, Any]:
    if end == OK:
        return {"outcome": "fetched", "error": None}
    if end == SAME:
        return {"outcome": "unchanged", "error": None}
    return {"outcome": "failed", "error": end, "error_detail": "it went wrong"}
