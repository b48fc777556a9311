"""The database's schema: which one is there, which one we know, and the way between the two."""

from importlib.resources import files
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection

from headwater.adapters.database import SqlDatabase
from headwater.errors import BadInput, UnknownSchema

_MIGRATION_LOCK = 8_470_001
"""Any number will do, as long as it is always the same."""


def newest() -> str:
    """The schema this version of Headwater speaks."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None, "the migrations folder is empty"
    return head


async def found(database: SqlDatabase) -> str | None:
    """The schema the database has; None for an empty one."""
    return await database.on_connection(_revision)


async def upgrade(database: SqlDatabase, target: str = "head") -> None:
    await database.on_connection(lambda c: _alembic(c, command.upgrade, target))


async def downgrade(database: SqlDatabase, target: str) -> None:
    await database.on_connection(lambda c: _alembic(c, command.downgrade, target))


async def require_known(database: SqlDatabase) -> None:
    """Refuse to work on a schema this version does not know: guessing would lose data."""
    there, wanted = await found(database), newest()
    if there == wanted:
        return
    raise UnknownSchema(_what_to_do(there, wanted), found=there, wanted=wanted)


async def is_newer_than_we_know(database: SqlDatabase) -> bool:
    there = await found(database)
    return there is not None and there not in _known()


def _known() -> set[str]:
    return {step.revision for step in ScriptDirectory.from_config(_config()).walk_revisions()}


def _what_to_do(there: str | None, wanted: str) -> str:
    if there is None:
        return f"The database is empty. Run `headwater migrate` to bring it to schema {wanted}."
    if there in _known():
        return (
            f"The database has schema {there}; this version needs {wanted}."
            " Run `headwater migrate`."
        )
    return (
        f"The database has schema {there}, which this version of Headwater does not know"
        f" (it knows up to {wanted}). Install the version that made it, or a newer one."
    )


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _alembic(connection: Connection, action: object, target: str) -> None:
    config = _config()
    config.attributes["connection"] = connection
    if connection.dialect.name == "postgresql":
        # Two machines told to migrate at the same moment: the second waits, then finds it done.
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
    assert callable(action)
    try:
        action(config, target)
    except CommandError as trouble:
        raise BadInput(f"There is no way to schema {target}: {trouble}", target=target) from trouble


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(str(files("headwater"))) / "migrations"))
    config.set_main_option("path_separator", "os")
    return config
