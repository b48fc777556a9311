"""Personal feeds as one process serves them: everything that is asked for often is at hand.

What is remembered is right as of half a second ago at most. Before any of it is used, the store has
been asked what changed, and only that was forgotten. So a feed that nobody touched costs no
question to the store, and a token that was revoked opens nothing a second later, anywhere.
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
    """`fresh`: for how many seconds what is remembered need not be asked for again; `use_every`:
    how often, in seconds, it is noted that a token was used. `patience`: how
    many seconds the store may take for one answer. `cache_bytes` are for documents,
    `clean_bytes` for items that may be in the next one. A document of more than `threaded_bytes` of
    words is made beside the event loop."""

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
    """One per process."""

    def __init__(self, store: PersonalStore, clock: Clock, policy: PersonalPolicy) -> None:
        self._store, self._clock, self.policy = store, clock, policy
        self._memory = PersonalFeedCache(policy.cache_bytes, policy.holders)
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
        await self._know_what_changed()
        hashed = token_hash(token)
        known = self._memory.holders.get(hashed)
        if known is None:
            return await self._found(hashed, token)
        if known.until is not None and known.until <= self._now():
            self._memory.drop_holder(hashed)
            return None
        return known

    async def built(self, holder: TokenHolder, ask: PersonalFeedRequest) -> BuiltFeed:
        """The document, made if it is not at hand. Those who ask for the same one share it."""
        await self._know_what_changed()
        entry = self._memory.document(holder.reader, ask)
        hit = entry is not None and self._clock.monotonic() < entry.deadline
        count_cache_lookup(hit=hit)
        if entry is not None and hit:
            return entry.built
        # One that began before the last change may have been read before it.
        key = (holder.reader, ask, self._memory.generation)
        build = self._builds.get(key)
        if build is None:
            build = self._builds[key] = _start_shared_task(self._build(holder.reader, ask))
            build.add_done_callback(lambda _: self._builds.pop(key))
        # One who goes away must not take the document from the others.
        return await asyncio.shield(build)

    def note_use(self, token_id: str) -> None:
        """Written down with the next `flush`, and not again for a while."""
        passed = self._clock.monotonic()
        if passed - self._noted.get(token_id, _NEVER) >= self.policy.use_every:
            self._noted[token_id] = passed
            self._used[token_id] = self._now()

    async def flush(self) -> None:
        """Last uses, in one write. What could not be written is kept for the next one."""
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
        """Once nobody asks any more."""
        under_way = [*self._builds.values(), *filter(None, [self._look])]
        if under_way:
            await asyncio.wait(under_way)
        try:
            await self.flush()
        except DatabaseError as trouble:
            logger.error("last_uses_lost", error=trouble.code, detail=trouble.message)

    # What changed

    async def _know_what_changed(self) -> None:
        """As of `fresh` seconds ago at most: a look that began earlier does not count."""
        now, fresh = self._clock.monotonic(), self.policy.fresh
        while now - self._asked_at >= fresh:
            if self._look is None or self._look.done():
                self._look = _start_shared_task(self._ask_what_changed())
            await asyncio.shield(self._look)

    async def _ask_what_changed(self) -> None:
        began = self._clock.monotonic()
        changes = await self._in_time(self._store.changes(self._version))
        self._memory.forget(changes)
        self._version, self._asked_at = changes.version, began

    async def _found(self, hashed: bytes, token: str) -> TokenHolder | None:
        since = self._memory.generation
        holder = await self._in_time(self._store.holder(hashed, token, self._now()))
        return None if holder is None else self._memory.keep_holder(hashed, holder, since)

    # Documents

    async def _build(self, reader: FeedReader, ask: PersonalFeedRequest) -> BuiltFeed:
        categories = shown_categories(reader, ask.categories)
        limit = min(ask.limit or self.policy.limit, self.policy.limit_max)
        async with self._turns:
            since, passed, now = self._memory.generation, self._clock.monotonic(), self._now()
            shelf = await self._in_time(self._store.newest(categories, limit, now))
            built = await self._written(reader, shelf, ask)
        expiry = built.valid_until
        deadline = float("inf") if expiry is None else passed + (expiry - now) / _SECOND
        if len(categories) == len(ask.categories or categories):  # others can be made up for ever
            self._memory.keep_document(
                CachedDocument(reader, ask, categories, built, deadline, since, since)
            )
        return built

    async def _written(
        self, reader: FeedReader, shelf: NewestItems, ask: PersonalFeedRequest
    ) -> BuiltFeed:
        known = self._clean.known(shelf.items)
        fresh: dict[KeptItem, PublishedItem] = {}

        def clean(kept: KeptItem) -> PublishedItem:
            if (item := known.get(kept)) is None:
                item = fresh[kept] = clean_item(kept)
            return item

        def write() -> BuiltFeed:
            return render_feed(reader, shelf, ask, self.policy.hub_url, clean)

        is_small = sum(map(_length, shelf.items)) <= self.policy.threaded_bytes
        built = write() if is_small else await asyncio.to_thread(write)
        self._clean.keep(fresh)
        return built

    async def _in_time(self, answer: Awaitable[T]) -> T:
        """A store that says nothing is one that cannot be reached."""
        try:
            async with asyncio.timeout(self.policy.patience):
                return await answer
        except TimeoutError as trouble:
            raise ConnectionLost("The store of personal feeds does not answer.") from trouble

    def _now(self) -> int:
        return to_micros(self._clock.now())


def render_feed(
    reader: FeedReader,
    shelf: NewestItems,
    ask: PersonalFeedRequest,
    hub: str | None,
    clean: CleanFunction = clean_item,
) -> BuiltFeed:
    """The same bytes and the same tag from every process."""
    shape = FEED_FORMATS[ask.format]
    body = shape.write(build_personal_feed(reader, shelf, ask, hub, clean))
    packer = zlib.compressobj(_ZIP_LEVEL, zlib.DEFLATED, 31)
    mark = blake2b(
        body, key=blake2b(reader.id.encode("utf-8", "surrogatepass")).digest(), digest_size=16
    ).hexdigest()
    return BuiltFeed(
        body=body,
        zipped=packer.compress(body) + packer.flush(),
        etag=f'W/"{mark}"',
        modified=changed_at(reader, shelf),
        valid_until=min((item.expires_at for item in shelf.items), default=None),
        media_type=shape.media_type,
        self_url=self_url(ask),
    )


def _length(item: KeptItem) -> int:
    return len(item.title) + len(item.description) + len(item.content or "")


def _start_shared_task(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """In a context of its own: it is not done for its first caller alone."""
    task = asyncio.create_task(work, context=Context())
    task.add_done_callback(_retrieve_exception)
    return task


def _retrieve_exception(task: asyncio.Task[Any]) -> None:
    """Whoever waits gets the trouble; when nobody does any more it is no mistake."""
    if not task.cancelled():
        task.exception()
