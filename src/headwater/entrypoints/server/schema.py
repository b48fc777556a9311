"""The schema of the database for entrypoints: inspect it, and bring it up to date."""

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
    """A schema before and after; None stands for an empty database."""

    before: str | None
    after: str | None

    @property
    def in_words(self) -> str:
        return f"{self.before or 'empty'} → {self.after or 'empty'}"


@dataclass(frozen=True, slots=True)
class DatabaseInfo:
    """Facts of a database; `now` is its own clock, in seconds since 1970."""

    version: str
    schema: str | None
    newest: str
    is_newer: bool
    now: float


@dataclass(frozen=True, slots=True)
class SealedSecretsInfo:
    """Numbers of sealed secrets: all, those that do not open, those that need an older key."""

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
    """Ask the database for its version, schema and clock."""
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
    """Count sealed secrets. It needs the newest schema; BadSettings for a key that is no key."""
    vault = vault_of(settings)
    mark = vault.mark()
    async with database_of(settings) as database, database.read() as view:
        rows = await list_secrets_of_other_keys(view, b"", _SECRETS_LOOKED_AT)
    return SealedSecretsInfo(
        sealed=len(rows),
        locked=sum(not vault.opens(row.secret) for row in rows),
        older=sum(not row.secret.startswith(mark) for row in rows),
    )


async def is_up_to_date(settings: Settings) -> bool:
    async with database_of(settings) as database:
        return await schema.find_schema(database) == schema.newest_schema()


async def bring_up_to_date(settings: Settings, *, allowed: bool, say: Say) -> None:
    """Migrate an embedded database; migrate another one only when it is `allowed`."""
    async with database_of(settings) as database:
        if settings.is_embedded or allowed:
            change = await _upgrade_to_newest(database)
            if change.before != change.after:
                say(f"Database schema: {change.in_words}")
        else:
            await schema.check_schema(database)


async def check_clock(settings: Settings, clock: Callable[[], float]) -> None:
    """Refuse to start when the clocks of this machine and of the database are far apart.

    Leases and plans are moments on the clocks of all who share a database. A worker whose clock is
    far ahead takes hosts from others that still request them. A worker whose clock is far behind
    takes the plans of others for old mistakes, and plans those visits again, too early.

    `clock` gives the time of this machine in seconds since 1970. It is read before and after that
    of the database, which may take time to answer. A file has no other clock.
    """
    if settings.is_embedded:
        return
    async with database_of(settings) as database:
        before = clock()
        async with database.read() as view:
            database_time = await get_database_time(view)
    difference = min(max(database_time, before), clock()) - database_time
    if abs(difference) > settings.lease_seconds / 2:
        raise BadSettings(
            f"This machine's clock is {abs(difference):.0f} s"
            f" {'ahead of' if difference > 0 else 'behind'}"
            " the database's. Those who work on one database must agree on the time:"
            " let both machines use NTP, and start again."
        )


async def check_schema_known(settings: Settings) -> None:
    async with database_of(settings) as database:
        await schema.check_schema(database)


async def migrate(settings: Settings, *, to: str | None, down: bool) -> SchemaChange:
    """Migrate to a named schema, or to the newest (or, with `down`, one back)."""
    async with database_of(settings) as database:
        if not down and to is None:
            return await _upgrade_to_newest(database)
        before = await schema.find_schema(database)
        if await schema.is_schema_too_new(database):
            await schema.check_schema(database)
        if down and before is not None and not settings.is_embedded:
            await _check_no_workers(database, settings.lease_seconds)
        if down:
            await schema.downgrade_schema(database, to or "-1")
        else:
            await schema.upgrade_schema(database, to or "head")
        return SchemaChange(before, await schema.find_schema(database))


async def _check_no_workers(database: SqlDatabase, lease_seconds: float) -> None:
    """Refuse while workers live. The lock of a data folder does not cover other machines, which
    would go on working on tables that are gone. A file is used by this machine alone."""
    async with database.read() as view:
        now = await get_database_time(view)
        workers = await list_workers(view)
    if not workers:
        return
    worker = max(workers, key=lambda worker: worker.heartbeat_at)
    age = now - worker.heartbeat_at.timestamp()
    if age < lease_seconds:
        raise ConflictError(
            f"A worker on {worker.host} (process {worker.pid}) showed up {max(0.0, age):.0f} s ago."
            " Stop all workers and servers of this database first; one that died counts as gone"
            f" after {lease_seconds:g} s (lease_seconds).",
            host=worker.host,
            pid=worker.pid,
        )


async def _upgrade_to_newest(database: SqlDatabase) -> SchemaChange:
    before = await schema.find_schema(database)
    if before == schema.newest_schema():
        return SchemaChange(before, before)
    if await schema.is_schema_too_new(database):
        await schema.check_schema(database)
    await schema.upgrade_schema(database)
    return SchemaChange(before, await schema.find_schema(database))
