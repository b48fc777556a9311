"""The database's schema seen from the way in: what is there, and bringing it up to date."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from headwater.core.database_rows import get_database_time
from headwater.core.errors import BadSettings, ConflictError
from headwater.entrypoints.server.data_folder import make_folder
from headwater.feeds.worker.worker_rows import list_workers
from headwater.settings import Settings
from headwater.subscriptions.secret_rows import list_secrets_of_other_keys
from headwater.wiring.app import SqlDatabase, open_plain_database, schema, vault_of

Say = Callable[[str], None]

_SECRETS_LOOKED_AT = 10_000


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A schema before and after; None is an empty database."""

    before: str | None
    after: str | None

    @property
    def in_words(self) -> str:
        return f"{self.before or 'empty'} → {self.after or 'empty'}"


@dataclass(frozen=True, slots=True)
class DatabaseInfo:
    """A database from outside; `now` is its own clock, in seconds since 1970."""

    version: str
    schema: str | None
    newest: str
    is_newer: bool
    now: float


@dataclass(frozen=True, slots=True)
class SealedSecretsInfo:
    """What lies sealed in the database: how much of it does not open, or needs an older key."""

    sealed: int
    locked: int
    older: int


@asynccontextmanager
async def database_of(settings: Settings) -> AsyncIterator[SqlDatabase]:
    if settings.is_embedded:
        make_folder(settings.data_dir)
    database = open_plain_database(settings)
    try:
        yield database
    finally:
        await database.close()


async def inspect_database(settings: Settings) -> DatabaseInfo:
    """What the database says about itself."""
    async with database_of(settings) as database:
        async with database.read() as view:
            now = await get_database_time(view)
        return DatabaseInfo(
            version=f"{database.dialect} {await database.version()}",
            schema=await schema.find_schema(database),
            newest=schema.newest_schema(),
            is_newer=await schema.is_schema_too_new(database),
            now=now,
        )


async def inspect_secrets(settings: Settings) -> SealedSecretsInfo:
    """Needs the newest schema. BadSettings when the key itself is of no use."""
    vault = vault_of(settings)
    mark = vault.mark()
    async with database_of(settings) as database, database.read() as view:
        found = await list_secrets_of_other_keys(view, b"", _SECRETS_LOOKED_AT)
    return SealedSecretsInfo(
        sealed=len(found),
        locked=sum(not vault.opens(each.secret) for each in found),
        older=sum(not each.secret.startswith(mark) for each in found),
    )


async def is_up_to_date(settings: Settings) -> bool:
    async with database_of(settings) as database:
        return await schema.find_schema(database) == schema.newest_schema()


async def bring_up_to_date(settings: Settings, *, allowed: bool, say: Say) -> None:
    """An embedded database is ours to migrate; another only when somebody said so."""
    async with database_of(settings) as database:
        if settings.is_embedded or allowed:
            move = await _upgrade_to_newest(database)
            if move.before != move.after:
                say(f"Database schema: {move.in_words}")
        else:
            await schema.check_schema(database)


async def check_clock(settings: Settings, clock: Callable[[], float]) -> None:
    """Leases and plans are moments on the clocks of all who share a database. A worker that is
    far ahead takes hosts from others that ask them still; one that is far behind takes what they
    planned for a mistake of the past, and plans it anew, too early.

    `clock` says what this machine takes for now, in seconds since 1970; it is looked at before and
    after the database's, which may take its time to answer. A file has no other clock.
    """
    if settings.is_embedded:
        return
    async with database_of(settings) as database:
        before = clock()
        async with database.read() as view:
            theirs = await get_database_time(view)
    apart = min(max(theirs, before), clock()) - theirs
    if abs(apart) > settings.lease_seconds / 2:
        raise BadSettings(
            f"This machine's clock is {abs(apart):.0f} s {'ahead of' if apart > 0 else 'behind'}"
            " the database's. Those who work on one database must agree on the time:"
            " let both machines use NTP, and start again."
        )


async def check_schema_known(settings: Settings) -> None:
    async with database_of(settings) as database:
        await schema.check_schema(database)


async def migrate(settings: Settings, *, to: str | None, down: bool) -> SchemaChange:
    """To a named schema, or all the way forward (or back)."""
    async with database_of(settings) as database:
        if not down and to is None:
            return await _upgrade_to_newest(database)
        before = await schema.find_schema(database)
        if await schema.is_schema_too_new(database):
            await schema.check_schema(database)
        if down and before is not None and not settings.is_embedded:
            await _check_no_workers(database, settings.lease_seconds)
        await _step(database, to, down=down)
        return SchemaChange(before, await schema.find_schema(database))


async def _check_no_workers(database: SqlDatabase, lease_seconds: float) -> None:
    """The lock of a data folder says nothing of other machines, which would go on working on what
    is taken away below them. A file has nobody else."""
    async with database.read() as view:
        now = await get_database_time(view)
        ages = [(now - each.heartbeat_at.timestamp(), each) for each in await list_workers(view)]
    living = [(age, each) for age, each in ages if age < lease_seconds]
    if living:
        age, who = min(living, key=lambda each: each[0])
        raise ConflictError(
            f"A worker on {who.host} (process {who.pid}) showed up {max(0.0, age):.0f} s ago."
            " Stop all workers and servers of this database first; one that died counts as gone"
            f" after {lease_seconds:g} s (lease_seconds).",
            host=who.host,
            pid=who.pid,
        )


async def _step(database: SqlDatabase, to: str | None, *, down: bool) -> None:
    if down:
        await schema.downgrade_schema(database, to or "-1")
    else:
        await schema.upgrade_schema(database, to or "head")


async def _upgrade_to_newest(database: SqlDatabase) -> SchemaChange:
    before = await schema.find_schema(database)
    if before == schema.newest_schema():
        return SchemaChange(before, before)
    if await schema.is_schema_too_new(database):
        await schema.check_schema(database)
    await schema.upgrade_schema(database)
    return SchemaChange(before, await schema.find_schema(database))
