"""A feed of releases, a show that is collected from it, and deliveries when a test wants them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headwater.anime.decide import decision_rows
from headwater.anime.decide.decision import ReleaseDecision
from headwater.anime.decide.release_sink import RELEASES, ensure_release_sink
from headwater.anime.downloads import download_rows
from headwater.anime.downloads.download import Download
from headwater.anime.shows import show_rows, tracking_rows
from headwater.anime.shows.preferences import Preferences
from headwater.anime.shows.show import Show
from headwater.anime.shows.tracking import Tracking
from headwater.core.values.instant import to_micros
from headwater.events.event_rows import read_events
from headwater.feeds.visit import visit_feed
from headwater.feeds.worker import claim_rows, worker_rows
from headwater.sinks import sink_rows
from headwater.sinks.dispatch import SinkDeliveries, SinkPolicy
from headwater.sinks.sink import Sink
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.scripted_engine import ScriptedWeb

URL = "https://releases.example/feed"
SECOND, FAR = 1_000_000, 2**62
GROUPS = Preferences(groups=("LoliHouse", "ANi"))


@dataclass(slots=True)
class Harbour:
    """An engine that follows one feed of releases."""

    engine: EngineParts
    clock: VirtualClock
    web: ScriptedWeb
    api: Api
    feed_id: str = ""

    def publish(self, *items: str) -> None:
        """The newest first, as sites do it."""
        body = f"<rss version='2.0'><channel><title>Tides</title>{''.join(items)}</channel></rss>"
        self.web.serve(URL, body.encode())

    async def follow(self, *items: str) -> None:
        """The feed with these releases; what comes later is `arrive`."""
        self.publish(*items)
        answer = await self.api.post("/feeds", {"url": URL})
        assert answer.status == 201, answer.body
        self.feed_id = str(answer.json["id"])

    async def track(
        self, *, show: Show | None = None, since: datetime | None = None, **wishes: Any
    ) -> Tracking:
        wishes.setdefault("preferences", GROUPS)
        now = self.clock.now()
        async with self.engine.database.write() as tx:
            kept = await show_rows.insert_show(tx, show or Show("Tides"), None, now)
            new = Tracking(0, kept.id, self.feed_id, since=since, **wishes)
            made = await tracking_rows.insert_tracking(tx, new, now)
            await ensure_release_sink(tx, self.engine.releases)
        return made

    async def arrive(self, *items: str) -> None:
        """These are in the feed an hour later, and it is visited."""
        self.publish(*items)
        await self.clock.advance(3_600)
        now = to_micros(self.clock.now())
        async with self.engine.database.write() as tx:
            await worker_rows.claim_shards(tx, self.engine.worker, 0, FAR, 1024)
            await tx.run("UPDATE feeds SET next_visit_at = ?, scheduled_at = ?", now, now)
            (due,) = await claim_rows.claim_feeds(
                tx, self.engine.worker, now, now + 120 * SECOND, 10
            )
        await visit_feed(due, self.engine.feeds)

    async def deliver(self) -> None:
        """A process starts, looks once, delivers what it began, and ends."""
        deliveries = SinkDeliveries(self.engine.sinks, SinkPolicy())
        await deliveries.look()
        await deliveries.all_done()
        await deliveries.end(5)

    async def changed(self, tracking: Tracking) -> Tracking:
        """A second later, as people change things."""
        await self.clock.advance(1)
        async with self.engine.database.write() as tx:
            return await tracking_rows.update_tracking(tx, tracking, self.clock.now())

    async def tracking(self, tracking_id: int) -> Tracking:
        async with self.engine.database.read() as view:
            return await tracking_rows.get_tracking(view, tracking_id)

    async def decided(self, **asked: Any) -> list[ReleaseDecision]:
        """By their titles."""
        async with self.engine.database.read() as view:
            found = await decision_rows.list_decisions(view, **asked)
        return sorted(found, key=lambda row: row.candidate.title)

    async def verdicts(self) -> dict[str, str]:
        """`action:rule` by uid."""
        return {row.candidate.uid: f"{row.action}:{row.rule}" for row in await self.decided()}

    async def row(self, uid: str) -> ReleaseDecision:
        (found,) = [row for row in await self.decided() if row.candidate.uid == uid]
        return found

    async def downloads(self) -> list[Download]:
        """In the order they were intended."""
        async with self.engine.database.read() as view:
            return (await download_rows.list_downloads(view))[::-1]

    async def end(self, download: Download, state: str) -> None:
        """As the downloading part would leave it."""
        await self.run("UPDATE downloads SET state = ? WHERE id = ?", state, download.id)

    async def told(self, *types: str) -> list[dict[str, Any]]:
        """Events about releases, as everybody gets them."""
        async with self.engine.database.read() as view:
            found = await read_events(view, 0, limit=1_000)
        return [
            {"type": event.type, "feed": event.feed_id, **event.payload}
            for event in found.events
            if event.type in types
        ]

    async def sinks(self) -> Sequence[Sink]:
        async with self.engine.database.read() as view:
            return [each for each in await sink_rows.list_sinks(view) if each.kind == RELEASES]

    async def run(self, sql: str, *values: Any) -> None:
        async with self.engine.database.write() as tx:
            await tx.run(sql, *values)


def item(
    uid: str,
    title: str,
    *,
    day: int | None = None,
    torrent: bool = True,
    infohash: str | None = None,
) -> str:
    """`day` of December 2025, in the morning."""
    date = "" if day is None else f"<pubDate>{day:02d} Dec 2025 10:00:00 GMT</pubDate>"
    file = f"https://releases.example/{uid}.torrent"
    enclosure = f"<enclosure url='{file}' type='application/x-bittorrent' length='314572800'/>"
    stated = (
        ""
        if infohash is None
        else f"<x:infoHash xmlns:x='https://nyaa.si/xmlns/nyaa'>{infohash}</x:infoHash>"
    )
    return (
        f"<item><guid isPermaLink='false'>{uid}</guid><title>{title}</title>"
        f"<link>https://releases.example/{uid}</link>{enclosure if torrent else ''}"
        f"{stated}{date}</item>"
    )


def ani(number: str, uid: str | None = None, **more: Any) -> str:
    return item(uid or f"ani-{number}", f"[ANi] Tides - {number} [1080P][CHT]", **more)


def loli(number: str, uid: str | None = None, **more: Any) -> str:
    return item(uid or f"loli-{number}", f"[LoliHouse] Tides - {number} [1080p][CHS]", **more)
