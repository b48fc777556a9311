"""Run Alembic from one schema to another. This module is loaded only when there is a migration."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import SQLAlchemyError

from headwater.core.errors import BadInput, DatabaseError

T = TypeVar("T")

_MIGRATION_LOCK = 8_470_001
"""Any number will do, as long as it is always the same one."""

_ONE_BACK = "-1"
"""Alembic's name for the schema before the present one."""


class _MigrationCommand(Protocol):
    def __call__(self, config: Config, revision: str) -> None: ...


def upgrade(connection: Connection, migrations: Path, target: str) -> None:
    _run_command(connection, migrations, command.upgrade, target)


def downgrade(connection: Connection, migrations: Path, target: str) -> None:
    _run_command(connection, migrations, command.downgrade, target)


def on_file(
    open_connection: Callable[[], sqlite3.Connection], action: Callable[[Connection], T]
) -> T:
    """Run the action in one transaction on an SQLite file. Its errors are those of SQLite."""
    engine = create_engine("sqlite://", creator=open_connection, poolclass=NullPool)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            result = action(connection)
            connection.commit()
            return result
    except SQLAlchemyError as trouble:
        driver_error = getattr(trouble, "orig", None)
        if isinstance(driver_error, sqlite3.Error):
            raise driver_error from None
        raise DatabaseError(f"The database failed: {trouble}") from trouble


def revisions(migrations: Path) -> list[str]:
    """List every schema that Alembic knows a migration for, oldest first."""
    steps = ScriptDirectory.from_config(_config(migrations)).walk_revisions()
    return [step.revision for step in steps][::-1]


def _run_command(
    connection: Connection, migrations: Path, command_to_run: _MigrationCommand, target: str
) -> None:
    config = _config(migrations)
    config.attributes["connection"] = connection
    if connection.dialect.name == "postgresql":
        # When two machines migrate at the same moment, the second waits and finds it done.
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
    try:
        command_to_run(config, target)
    except CommandError as trouble:
        raise BadInput(_unknown_target(target), target=target) from trouble


def _unknown_target(target: str) -> str:
    if target == _ONE_BACK:
        return "There is no schema before this one."
    return f"There is no way from here to a schema called {target}; they are called 0001, 0002, …"


def _config(migrations: Path) -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrations))
    config.set_main_option("path_separator", "os")
    return config
