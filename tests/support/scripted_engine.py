"""An engine for API tests: real database, real blobs, real parsing; only the web is a script."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import orjson

from headwater.adapters.blobs import FolderBlobs
from headwater.adapters.vault import open_vault
from headwater.anime.decide.policy import ReleasePolicy
from headwater.core.ports import Clock, Database
from headwater.core.values.ids import FeedId, FeedPk, FetchId, WorkerId, index_key
from headwater.core.values.instant import to_micros
from headwater.core.values.response import Headers, HttpAnswer
from headwater.feeds.entries.entry import NormalisedEntry
from headwater.feeds.entries.entry_changes import MergeChanges
from headwater.feeds.entries.entry_rows import EntriesToSave, save_entries
from headwater.feeds.feed import FeedOptions
from headwater.feeds.feed_rows import insert_or_restore_feed
from headwater.feeds.fetch.host_turns import HostPacing, PacingPolicy
from headwater.feeds.fetch.request_feed import FetchPolicy
from headwater.feeds.ports import ParserReply
from headwater.feeds.raw.raw_fetch import RawFetch, blob_key
from headwater.feeds.raw.raw_rows import insert_raw_fetches, lock_blobs
from headwater.feeds.read_document import ReadingPolicy, read_job
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.visit_rows import VisitRow, insert_visits
from headwater.feeds.visit_rules import VisitRules
from headwater.personal_feeds.database_store import PersonalDatabase
from headwater.personal_feeds.items_from_entries import EntryItemPolicy
from headwater.personal_feeds.served_feeds import PersonalFeeds, PersonalPolicy
from headwater.sinks.sink_kind import SinkResources
from headwater.subscriptions.fetchers.fetcher_client import HttpFetcherClient
from headwater.subscriptions.fetchers.fetcher_rows import list_fetchers
from headwater.subscriptions.subscription import NewSubscription
from headwater.subscriptions.subscription_rows import insert_subscription
from headwater.web.address_gate import AddressPolicy
from headwater.web.limits import WebLimits
from headwater.wiring.sink_kinds import build_sink_kinds
from tests.support.engine_parts import EngineParts

SECOND = 1_000_000


class InlineParsers:
    """`ports.Parsers` in this process: hostile documents are other tests' business."""

    async def read(self, job: bytes, body: bytes) -> ParserReply:
        return ParserReply(payload=read_job(job, body))

    async def close(self) -> None:
        return None


@dataclass(slots=True)
class ScriptedWeb:
    """`ports.Web` with an answer per URL; remembers the askings. A closed `gate` holds answers."""

    pages: dict[str, tuple[int, str, bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event | None = None

    async def get(
        self, url: str, headers: Headers, *, deadline: float, verify_tls: bool = True
    ) -> HttpAnswer:
        self.asked.append(url)
        self.reached.set()
        if self.gate is not None:
            await self.gate.wait()
        if url not in self.pages:
            return HttpAnswer(
                url, None, headers, (), b"", 0.01, error="dns_error", error_detail="none"
            )
        status, kind, body = self.pages[url]
        return HttpAnswer(
            url, status, headers, (("Content-Type", kind),), body, 0.01, "203.0.113.7"
        )

    async def address_of(self, host: str) -> str | None:
        return None

    async def close(self) -> None:
        return None

    def serve(self, url: str, body: bytes, *, status: int = 200, kind: str = "text/xml") -> str:
        self.pages[url] = (status, kind, body)
        return url


def an_engine(database: Database, clock: Clock, web: ScriptedWeb, folder: Path) -> EngineParts:
    database.clock = clock
    blobs = FolderBlobs(folder / "blobs")
    resources = SinkResources(
        web_limits=WebLimits(),
        address=AddressPolicy(),
        clock=clock,
        user_agent="test",
        database=database,
        blobs=blobs,
        out_dir=folder / "out",
    )
    personal = PersonalDatabase(database, clock)
    return EngineParts(
        clock=clock,
        web=web,
        fetchers=HttpFetcherClient(WebLimits(), AddressPolicy(), clock=clock, user_agent="test"),
        blobs=blobs,
        parsers=InlineParsers(),
        database=database,
        vault=open_vault(None, folder / "secret.key"),
        outlets=build_sink_kinds(
            resources, personal, entry_items=EntryItemPolicy(), releases=ReleasePolicy()
        ),
        personal=personal,
        personal_feeds=PersonalFeeds(personal, clock, PersonalPolicy()),
        fetch=FetchPolicy(user_agent="test", address=AddressPolicy()),
        schedule=SchedulePolicy(),
        reading=ReadingPolicy(),
        rules=VisitRules(),
        turns=HostPacing(PacingPolicy(requests_per_second=1000)),
        worker=WorkerId("tests"),
    )


@dataclass(slots=True)
class River:
    """Puts things into the database the way a visit does."""

    engine: EngineParts
    web: ScriptedWeb
    count: int = 0

    @property
    def now(self) -> int:
        return to_micros(self.engine.clock.now())

    async def feed(
        self, name: str = "a", wish: FeedOptions | None = None, *, due: bool = True
    ) -> FeedId:
        self.count += 1
        feed_id = FeedId(f"01900000-0000-7000-8000-{self.count:012d}")
        now = self.engine.clock.now()
        async with self.engine.database.write() as tx:
            followed = await insert_or_restore_feed(
                tx,
                f"https://{name}.example/feed",
                wish or FeedOptions(),
                feed_id=feed_id,
                interval_sec=900,
                now=now,
                visit_at=now if due else None,
            )
            (builtin, *_) = await list_fetchers(tx)
            new = NewSubscription(f"https://{name}.example/feed")
            await insert_subscription(tx, new, followed, builtin, auto_selected=True, now=now)
        return followed.id

    async def pk(self, feed_id: str) -> FeedPk:
        async with self.engine.database.read() as view:
            row = await view.row("SELECT id FROM feeds WHERE feed_id = ?", feed_id)
        assert row is not None
        return FeedPk(row.id)

    async def raw(self, feed_id: str, body: bytes, *, number: int = 1) -> FetchId:
        """An archived body."""
        fetch_id = FetchId(f"01900000-0000-7000-9000-{number:012d}")
        digest = sha256(body).hexdigest()
        record = RawFetch(
            fetch_id=fetch_id,
            feed=await self.pk(feed_id),
            fetched_at=self.now,
            url="https://a.example/feed",
            status=200,
            request_headers=(("User-Agent", "test"), ("Authorization", "REDACTED")),
            response_headers=(("Content-Type", "text/html"), ("Vary", "a"), ("Vary", "b")),
            body=body,
            body_sha256=digest,
            truncated=False,
            error=None,
        )
        await self.engine.blobs.put_many([(blob_key(digest, 0), body)])
        async with self.engine.database.write() as tx:
            keys = await lock_blobs(tx, [digest], generation=0)
            await insert_raw_fetches(tx, [record], keys, "localfs")
        return fetch_id

    async def document(
        self, feed_id: str, changes: MergeChanges, *, fetch_id: str = "none", before: int = 0
    ) -> None:
        """One document that was seen: `before` is how many there had been."""
        feed = await self.pk(feed_id)
        seen_before_at = None
        async with self.engine.database.write() as tx:
            row = await tx.row("SELECT document_seen_at FROM feeds WHERE id = ?", feed)
            assert row is not None
            seen_before_at = row.document_seen_at
            merged = EntriesToSave(feed, changes, fetch_id, self.now, before, seen_before_at)
            await save_entries(tx, [merged])
            await tx.run(
                "UPDATE feeds SET documents_seen = ?, document_seen_at = ? WHERE id = ?",
                before + 1,
                self.now,
                feed,
            )

    async def entries(self, feed_id: str, *entries: NormalisedEntry, before: int = 0) -> None:
        await self.document(feed_id, MergeChanges(new=entries), before=before)

    async def visits(self, feed_id: str, count: int) -> None:
        feed = await self.pk(feed_id)
        async with self.engine.database.write() as tx:
            await insert_visits(tx, [a_visit(feed, self.now + n * SECOND) for n in range(count)])

    async def column(self, feed_id: str, name: str) -> object:
        async with self.engine.database.read() as view:
            row = await view.row(f"SELECT {name} AS it FROM feeds WHERE feed_id = ?", feed_id)
        assert row is not None
        return row.it

    async def set(self, feed_id: str, **columns: str | int | float | None) -> None:
        assignments = ", ".join(f"{name} = ?" for name in columns)
        async with self.engine.database.write() as tx:
            await tx.run(
                f"UPDATE feeds SET {assignments} WHERE feed_id = ?", *columns.values(), feed_id
            )


def an_entry(
    uid: str, title: str = "A title", *, categories: Iterable[str] = ()
) -> NormalisedEntry:
    return NormalisedEntry(
        uid=uid,
        uid_key=index_key(uid),
        link=f"https://posts.example/{title}",
        link_key=index_key(f"https://posts.example/{title}"),
        title=title,
        summary=None,
        content=None,
        authors='[{"name":"Ada","email":null,"uri":null}]',
        categories=orjson.dumps(list(categories)).decode(),
        enclosures='[{"url":"https://a.example/1.mp3","type":"audio/mpeg","length":5}]',
        details="{}",
        published=None,
        updated=None,
        content_hash=sha256(title.encode()).hexdigest(),
        offset=10,
        length=20,
    )


def a_visit(feed: FeedPk, scheduled_at: int) -> VisitRow:
    return VisitRow(
        feed_id=feed,
        scheduled_at=scheduled_at,
        started_at=scheduled_at,
        finished_at=scheduled_at + SECOND,
        worker=WorkerId("tests"),
        url="https://a.example/feed",
        outcome="unchanged",
        status=304,
        error=None,
        error_detail=None,
        fetch_id=None,
        conditional=True,
        hops='[["https://a.example/feed",301,"https://b.example/feed"]]',
        request_headers='[["User-Agent","test"]]',
        response_headers='[["ETag","\\"1\\""]]',
        address="203.0.113.7",
        bytes_in=0,
        latency_ms=12.5,
        entries_in_document=None,
        new_entries=0,
        updated_entries=0,
        limits=None,
        problems=None,
        interval_before=900.0,
        interval_after=1125.0,
        next_at=scheduled_at + 1125 * SECOND,
        reason_code="not-modified",
        reason="in 18 min 45 s: not modified (× 1.25)",
        inputs='{"luck":0.0}',
    )
