"""A copy of personal feeds between the two places they may be kept in, by whoever runs us."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal

from headwater.entrypoints.server.schema import Say, bring_up_to_date, database_of
from headwater.personal_feeds.copy import CopyResult, copy_personal
from headwater.personal_feeds.ports import PersonalStore
from headwater.settings import Settings
from headwater.wiring.app import (
    SystemClock,
    personal_database_of,
    personal_redis_of,
    personal_store_of,
)

StoreName = Literal["database", "redis"]


async def copy_between(
    settings: Settings, source: StoreName, target: StoreName, redis_url: str | None, say: Say
) -> CopyResult:
    """A service may run meanwhile: what comes during the copy is copied by the next one."""
    await bring_up_to_date(settings, allowed=False, say=say)
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(database_of(settings))
        redis = personal_redis_of(settings, redis_url)
        stack.push_async_callback(redis.close)
        kept = personal_database_of(database)
        stack.push_async_callback(kept.close)
        places: dict[StoreName, PersonalStore] = {"database": kept, "redis": redis}
        return await copy_personal(places[source], places[target], SystemClock())


async def inspect_personal_store(settings: Settings) -> str | None:
    """Say why the store could lose readers and items; None when it keeps them."""
    async with _personal_store(settings) as store:
        return await store.trouble()


@asynccontextmanager
async def _personal_store(settings: Settings) -> AsyncIterator[PersonalStore]:
    async with database_of(settings) as database:
        store = personal_store_of(settings, database)
        try:
            yield store
        finally:
            await store.close()
