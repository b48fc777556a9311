"""The database's schema: which one is there, which one we know, and the way between the two.

Every start asks the first two questions, and both are answered without Alembic, which takes longer
to load than a short command takes to run. It is loaded when there is something to migrate.
"""

import asyncio
from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect

from headwater.adapters.database import SqlDatabase
from headwater.errors import UnknownSchema

MIGRATIONS = Path(str(files("headwater"))) / "migrations"

FOREIGN = "the schema of another program"
"""What stands for a schema in a file with tables that we did not make."""

_TABLE = "alembic_version"


@lru_cache(maxsize=1)
def known() -> tuple[str, ...]:
    """Every schema this version has a migration for, oldest first.

    A migration's file is named for the schema it makes: `v0004_evidence.py` makes `0004`.
    """
    names = (path.stem for path in (MIGRATIONS / "versions").glob("v*.py"))
    return tuple(sorted(name[1:].partition("_")[0] for name in names))


def newest() -> str:
    """The schema this version of Headwater speaks."""
    return known()[-1]


async def found(database: SqlDatabase) -> str | None:
    """The schema the database has; None for an empty one, `FOREIGN` for somebody else's file."""
    return await database.on_connection(_revision)


async def upgrade(database: SqlDatabase, target: str = "head") -> None:
    migrating = await _migrating()
    await database.on_connection(lambda c: migrating.upgrade(c, MIGRATIONS, target))


async def downgrade(database: SqlDatabase, target: str) -> None:
    migrating = await _migrating()
    await database.on_connection(lambda c: migrating.downgrade(c, MIGRATIONS, target))


async def require_known(database: SqlDatabase) -> None:
    """Refuse to work on a schema this version does not know: guessing would lose data."""
    there, wanted = await found(database), newest()
    if there == wanted:
        return
    raise UnknownSchema(_what_to_do(there, wanted), found=there, wanted=wanted)


async def is_newer_than_we_know(database: SqlDatabase) -> bool:
    there = await found(database)
    return there is not None and there not in known()


def _what_to_do(there: str | None, wanted: str) -> str:
    if there is None:
        return f"The database is empty. Run `headwater migrate` to bring it to schema {wanted}."
    if there == FOREIGN:
        return (
            "The database holds the tables of another program. Give Headwater a file of its own:"
            " set DATABASE_URL, or choose another folder with --data-dir."
        )
    if there in known():
        return (
            f"The database has schema {there}; this version needs {wanted}."
            " Run `headwater migrate`."
        )
    return (
        f"The database has schema {there}, which this version of Headwater does not know"
        f" (it knows up to {wanted}). Install the version that made it, or a newer one."
    )


def _revision(connection: Connection) -> str | None:
    look = inspect(connection)
    if not look.has_table(_TABLE):
        # A server's database may be shared, and is migrated only when told; a file is somebody's.
        is_file = connection.dialect.name == "sqlite"
        return FOREIGN if is_file and look.get_table_names() else None
    there: str | None = connection.exec_driver_sql(
        f"SELECT version_num FROM {_TABLE}"
    ).scalar_one_or_none()
    return there


async def _migrating() -> Any:
    """Beside the loop, so that nothing that runs on it waits for the loading."""
    return await asyncio.to_thread(import_module, "headwater.adapters.migrating")
