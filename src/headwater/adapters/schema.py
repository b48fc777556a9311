"""The schema of the database: find it, compare it with ours, and migrate.

Every start finds and compares, and does both without Alembic and SQLAlchemy, which take longer to
load than a short command takes to run. They are loaded when there is something to migrate.
"""

import asyncio
from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import UnknownSchema
from headwater.core.ports import View

MIGRATIONS = Path(str(files("headwater"))) / "migrations"

FOREIGN_SCHEMA = "the schema of another program"
"""The name we use for the schema of a file with tables that we did not make."""

_TABLE = "alembic_version"
_SOME_TABLE = (
    "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
)


@lru_cache(maxsize=1)
def known_schemas() -> tuple[str, ...]:
    """List every schema that this version has a migration for, oldest first.

    A migration's file is named for the schema it makes: `v0004_evidence.py` makes `0004`.
    """
    names = (path.stem for path in (MIGRATIONS / "versions").glob("v*.py"))
    return tuple(sorted(name[1:].partition("_")[0] for name in names))


def newest_schema() -> str:
    """Return the schema that this version of Headwater uses."""
    return known_schemas()[-1]


async def find_schema(database: SqlDatabase) -> str | None:
    """Find the schema of the database: None for an empty one, `FOREIGN_SCHEMA` for a file of
    another program."""
    async with database.read() as view:
        if not await _has_our_table(view):
            # A database on a server may be shared, and only a command migrates it. A file belongs
            # to one program.
            is_file = view.dialect == "sqlite"
            return FOREIGN_SCHEMA if is_file and await view.row(_SOME_TABLE) else None
        row = await view.row(f"SELECT version_num FROM {_TABLE}")
        return None if row is None else str(row.version_num)


async def upgrade_schema(database: SqlDatabase, target: str = "head") -> None:
    alembic_runner = await _load_alembic_runner()
    await database.on_connection(
        lambda connection: alembic_runner.upgrade(connection, MIGRATIONS, target)
    )


async def downgrade_schema(database: SqlDatabase, target: str) -> None:
    alembic_runner = await _load_alembic_runner()
    await database.on_connection(
        lambda connection: alembic_runner.downgrade(connection, MIGRATIONS, target)
    )


async def check_schema(database: SqlDatabase) -> None:
    """Raise UnknownSchema for a schema that is not ours: guessing would lose data."""
    schema, needed = await find_schema(database), newest_schema()
    if schema == needed:
        return
    raise UnknownSchema(_advice(schema, needed), found=schema, wanted=needed)


async def is_schema_too_new(database: SqlDatabase) -> bool:
    schema = await find_schema(database)
    return schema is not None and schema not in known_schemas()


def _advice(schema: str | None, needed: str) -> str:
    if schema is None:
        return f"The database is empty. Run `headwater migrate` to bring it to schema {needed}."
    if schema == FOREIGN_SCHEMA:
        return (
            "The database holds the tables of another program. Give Headwater a file of its own:"
            " set DATABASE_URL, or choose another folder with --data-dir."
        )
    if schema in known_schemas():
        return (
            f"The database has schema {schema}; this version needs {needed}."
            " Run `headwater migrate`."
        )
    return (
        f"The database has schema {schema}, which this version of Headwater does not know"
        f" (it knows up to {needed}). Install the version that made it, or a newer one."
    )


async def _has_our_table(view: View) -> bool:
    if view.dialect == "sqlite":
        return await view.row(f"{_SOME_TABLE} AND name = ?", _TABLE) is not None
    row = await view.row(f"SELECT to_regclass('{_TABLE}') IS NOT NULL AS there")
    return row is not None and bool(row.there)


async def _load_alembic_runner() -> Any:
    """In a thread, so that nothing on the event loop waits for the loading."""
    return await asyncio.to_thread(import_module, "headwater.adapters.alembic_runner")
