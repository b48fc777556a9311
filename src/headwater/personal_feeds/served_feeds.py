"""Personal feeds as one process serves them, with a cache of frequent answers.

The cache is at most half a second behind the store. Before it is used, the store is asked for
changes, and only what they concern is forgotten. So an unchanged feed costs no query of its items,
and a token that was revoked opens nothing a second later, in any process.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Coroutine
from contextvars import Context
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeVar

from headwater.auth.tokens import token_hash
from headwater.core.errors import ConnectionLost, DatabaseError
from headwater.core.ports import Clock
from headwater.core.telemetry.log import get_logger
from headwater.core.values.instant import to_micros
from headwater.personal_feeds.cache import BuiltFeed as BuiltFeed
from headwater.personal_feeds.cache import CachedDocument, CleanItemCache, PersonalFeedCache
from headwater.personal_feeds.metrics import count_cache_lookup
from headwater.personal_feeds.personal_feed import (
    FEED_FORMATS,
    CleanFunction,
    build_personal_feed,
    changed_at,
    clean_item,
    self_url,
    shown_categories,
)
from headwater.personal_feeds.personal_feed import FeedFormat as FeedFormat
from headwater.personal_feeds.personal_feed import PersonalFeedRequest as PersonalFeedRequest
from headwater.personal_feeds.ports import (
    FeedReader,
    KeptItem,
    NewestItems,
    PersonalStore,
    TokenHolder,
)
from headwater.publish.document import PublishedItem

T = TypeVar("T")

_SECOND = 1_000_000
_NEVER = float("-inf")
_NOTHING_KNOWN = -1
_ZIP_LEVEL = 6

logger = get_logger("personal")


@dataclass(frozen=True, slots=True)
class PersonalPolicy:
    """The policy of serving. `fresh`: seconds for which the cache is used without asking for
    changes; `use_every`: the seconds between two notes that a token was used; `patience`: the
    seconds that the store may take for one answer. `cache_bytes` are for documents, `clean_bytes`
    for cleaned items. A document with more than `threaded_bytes` of text is made in a thread."""

    limit: int = 50
    limit_max: int = 200
    hub_url: str | None = None
    cache_bytes: int = 48 * 1024 * 1024
    clean_bytes: int = 16 * 1024 * 1024
    holders: int = 50_000
    fresh: float = 0.5
    use_every: float = 60.0
    patience: float = 10.0
    builds_at_once: int = 4
    threaded_bytes: int = 8 * 1024


class PersonalFeeds:
    """Serves personal feeds from a cache; one per process."""

    def __init__(self, store: PersonalStore, clock: Clock, policy: PersonalPolicy) -> None:
        self._store, self._clock, self.policy = store, clock, policy
        self._cache = PersonalFeedCache(policy.cache_bytes, policy.holders)
        self._clean = CleanItemCache(policy.clean_bytes)
        self._version = _NOTHING_KNOWN
        self._asked_at = _NEVER
        self._look: asyncio.Task[None] | None = None
        self._builds: dict[
            tuple[FeedReader, PersonalFeedRequest, int], asyncio.Task[BuiltFeed]
        ] = {}
        self._turns = asyncio.Semaphore(policy.builds_at_once)
        self._noted: dict[str, float] = {}
        self._used: dict[str, int] = {}

    async def holder(self, token: str) -> TokenHolder | None:
        """None for a token that is unknown, ended or revoked. ConnectionLost passes through."""
        await self._catch_up()
        hashed = token_hash(token)
        holder = self._cache.holders.get(hashed)
        if holder is None:
            return await self._read_holder(hashed, token)
        if holder.until is not None and holder.until <= self._now():
            self._cache.drop_holder(hashed)
            return None
        return holder

    async def built(self, holder: TokenHolder, request: PersonalFeedRequest) -> BuiltFeed:
        """The document, from the cache or built. Requests for the same one share one build."""
        await self._catch_up()
        entry = self._cache.document(holder.reader, request)
        hit = entry is not None and self._clock.monotonic() < entry.deadline
        count_cache_lookup(hit=hit)
        if entry is not None and hit:
            return entry.built
        # A build that began before the last change may have read the items before it.
        key = (holder.reader, request, self._cache.generation)
        build = self._builds.get(key)
        if build is None:
            build = self._builds[key] = _start_shared_task(self._build(holder.reader, request))
            build.add_done_callback(lambda _: self._builds.pop(key))
        # A client that goes away must not cancel the build for the others.
        return await asyncio.shield(build)

    def note_use(self, token_id: str) -> None:
        """Note a use for the next `flush`, at most once per `use_every`."""
        passed = self._clock.monotonic()
        if passed - self._noted.get(token_id, _NEVER) >= self.policy.use_every:
            self._noted[token_id] = passed
            self._used[token_id] = self._now()

    async def flush(self) -> None:
        """Write last uses at once. When that fails they are kept for the next time."""
        passed = self._clock.monotonic()
        self._noted = {
            token_id: at
            for token_id, at in self._noted.items()
            if passed - at < self.policy.use_every
        }
        if not self._used:
            return
        used, self._used = self._used, {}
        try:
            await self._store.note_used(used)
        except DatabaseError:
            self._used = used | self._used
            raise

    async def close(self) -> None:
        """Finish builds under way and write last uses; for when no more requests come."""
        under_way = [*self._builds.values(), *filter(None, [self._look])]
        if under_way:
            await asyncio.wait(under_way)
        try:
            await self.flush()
        except DatabaseError as trouble:
            logger.error("last_uses_lost", error=trouble.code, detail=trouble.message)

    # What changed

    async def _catch_up(self) -> None:
        """Know all changes up to `fresh` seconds ago: a query that began earlier does not count."""
        now, fresh = self._clock.monotonic(), self.policy.fresh
        while now - self._asked_at >= fresh:
            if self._look is None or self._look.done():
                self._look = _start_shared_task(self._apply_changes())
            await asyncio.shield(self._look)

    async def _apply_changes(self) -> None:
        began = self._clock.monotonic()
        changes = await self._in_time(self._store.changes(self._version))
        self._cache.forget(changes)
        self._version, self._asked_at = changes.version, began

    async def _read_holder(self, hashed: bytes, token: str) -> TokenHolder | None:
        since = self._cache.generation
        holder = await self._in_time(self._store.holder(hashed, token, self._now()))
        return None if holder is None else self._cache.keep_holder(hashed, holder, since)

    # Documents

    async def _build(self, reader: FeedReader, request: PersonalFeedRequest) -> BuiltFeed:
        categories = shown_categories(reader, request.categories)
        limit = min(request.limit or self.policy.limit, self.policy.limit_max)
        async with self._turns:
            since, passed, now = self._cache.generation, self._clock.monotonic(), self._now()
            newest = await self._in_time(self._store.newest(categories, limit, now))
            built = await self._render(reader, newest, request)
        expiry = built.valid_until
        deadline = float("inf") if expiry is None else passed + (expiry - now) / _SECOND
        # Requests with unknown names are not kept: such names can be made up without end.
        if len(categories) == len(request.categories or categories):
            self._cache.keep_document(
                CachedDocument(reader, request, categories, built, deadline, since, since)
            )
        return built

    async def _render(
        self, reader: FeedReader, newest: NewestItems, request: PersonalFeedRequest
    ) -> BuiltFeed:
        known = self._clean.find(newest.items)
        fresh: dict[KeptItem, PublishedItem] = {}

        def clean(kept: KeptItem) -> PublishedItem:
            if (item := known.get(kept)) is None:
                item = fresh[kept] = clean_item(kept)
            return item

        def write() -> BuiltFeed:
            return render_feed(reader, newest, request, self.policy.hub_url, clean)

        is_small = sum(map(_length, newest.items)) <= self.policy.threaded_bytes
        built = write() if is_small else await asyncio.to_thread(write)
        self._clean.keep(fresh)
        return built

    async def _in_time(self, answer: Awaitable[T]) -> T:
        """ConnectionLost when the store does not answer in time."""
        try:
            async with asyncio.timeout(self.policy.patience):
                return await answer
        except TimeoutError as trouble:
            raise ConnectionLost("The store of personal feeds does not answer.") from trouble

    def _now(self) -> int:
        return to_micros(self._clock.now())


def render_feed(
    reader: FeedReader,
    newest: NewestItems,
    request: PersonalFeedRequest,
    hub: str | None,
    clean: CleanFunction = clean_item,
) -> BuiltFeed:
    """Render the document; every process makes the same bytes and the same tag."""
    spec = FEED_FORMATS[request.format]
    body = spec.write(build_personal_feed(reader, newest, request, hub, clean))
    packer = zlib.compressobj(_ZIP_LEVEL, zlib.DEFLATED, 31)
    digest = blake2b(
        body, key=blake2b(reader.id.encode("utf-8", "surrogatepass")).digest(), digest_size=16
    ).hexdigest()
    return BuiltFeed(
        body=body,
        zipped=packer.compress(body) + packer.flush(),
        etag=f'W/"{digest}"',
        modified=changed_at(reader, newest),
        valid_until=min((item.expires_at for item in newest.items), default=None),
        media_type=spec.media_type,
        self_url=self_url(request),
    )


def _length(item: KeptItem) -> int:
    return len(item.title) + len(item.description) + len(item.content or "")


def _start_shared_task(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Start a task in a context of its own: it does not belong to its first caller alone."""
    task = asyncio.create_task(work, context=Context())
    task.add_done_callback(_retrieve_exception)
    return task


def _retrieve_exception(task: asyncio.Task[Any]) -> None:
    """Callers that wait get the exception; without any, asyncio must not log it as lost."""
    if not task.cancelled():
        task.exception()
