"""The database's schema: which one is there, which one we know, and the way between the two.

Every start asks the first two questions, and both are answered without Alembic and SQLAlchemy,
which take longer to load than a short command takes to run. They are loaded when there is
something to migrate.
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
"""What stands for a schema in a file with tables that we did not make."""

_TABLE = "alembic_version"
_SOME_TABLE = (
    "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
)


@lru_cache(maxsize=1)
def known_schemas() -> tuple[str, ...]:
    """Every schema this version has a migration for, oldest first.

    A migration's file is named for the schema it makes: `v0004_evidence.py` makes `0004`.
    """
    names = (path.stem for path in (MIGRATIONS / "versions").glob("v*.py"))
    return tuple(sorted(name[1:].partition("_")[0] for name in names))


def newest_schema() -> str:
    """The schema this version of Headwater speaks."""
    return known_schemas()[-1]


async def find_schema(database: SqlDatabase) -> str | None:
    """The schema the database has; None for an empty one, `FOREIGN_SCHEMA` for somebody else's
    file."""
    async with database.read() as view:
        if not await _has_our_table(view):
            # A server's database may be shared, and is migrated only when told; a file is
            # somebody's.
            is_file = view.dialect == "sqlite"
            return FOREIGN_SCHEMA if is_file and await view.row(_SOME_TABLE) else None
        there = await view.row(f"SELECT version_num FROM {_TABLE}")
        return None if there is None else str(there.version_num)


async def upgrade_schema(database: SqlDatabase, target: str = "head") -> None:
    migrating = await _load_alembic_runner()
    await database.on_connection(lambda c: migrating.upgrade(c, MIGRATIONS, target))


async def downgrade_schema(database: SqlDatabase, target: str) -> None:
    migrating = await _load_alembic_runner()
    await database.on_connection(lambda c: migrating.downgrade(c, MIGRATIONS, target))


async def check_schema(database: SqlDatabase) -> None:
    """Refuse to work on a schema this version does not know: guessing would lose data."""
    there, wanted = await find_schema(database), newest_schema()
    if there == wanted:
        return
    raise UnknownSchema(_what_to_do(there, wanted), found=there, wanted=wanted)


async def is_schema_too_new(database: SqlDatabase) -> bool:
    there = await find_schema(database)
    return there is not None and there not in known_schemas()


def _what_to_do(there: str | None, wanted: str) -> str:
    if there is None:
        return f"The database is empty. Run `headwater migrate` to bring it to schema {wanted}."
    if there == FOREIGN_SCHEMA:
        return (
            "The database holds the tables of another program. Give Headwater a file of its own:"
            " set DATABASE_URL, or choose another folder with --data-dir."
        )
    if there in known_schemas():
        return (
            f"The database has schema {there}; this version needs {wanted}."
            " Run `headwater migrate`."
        )
    return (
        f"The database has schema {there}, which this version of Headwater does not know"
        f" (it knows up to {wanted}). Install the version that made it, or a newer one."
    )


async def _has_our_table(view: View) -> bool:
    if view.dialect == "sqlite":
        return await view.row(f"{_SOME_TABLE} AND name = ?", _TABLE) is not None
    row = await view.row(f"SELECT to_regclass('{_TABLE}') IS NOT NULL AS there")
    return row is not None and bool(row.there)


async def _load_alembic_runner() -> Any:
    """Beside the loop, so that nothing that runs on it waits for the loading."""
    return await asyncio.to_thread(import_module, "headwater.adapters.alembic_runner")
