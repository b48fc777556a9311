"""Copy personal feeds between the database and Redis, and check their store."""

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
    """Copy once. A service may run meanwhile: the next copy takes what comes during this one."""
    await bring_up_to_date(settings, allowed=False, say=say)
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(database_of(settings))
        redis = personal_redis_of(settings, redis_url)
        stack.push_async_callback(redis.close)
        in_database = personal_database_of(database)
        stack.push_async_callback(in_database.close)
        stores: dict[StoreName, PersonalStore] = {"database": in_database, "redis": redis}
        return await copy_personal(stores[source], stores[target], SystemClock())


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
