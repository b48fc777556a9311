"""The way from one schema to another, as Alembic goes it; loaded when there is a way to go."""

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
"""Any number will do, as long as it is always the same."""

_ONE_BACK = "-1"
"""Alembic's name for the schema before the one that is there."""


class _Move(Protocol):
    def __call__(self, config: Config, revision: str) -> None: ...


def upgrade(connection: Connection, migrations: Path, target: str) -> None:
    _run_command(connection, migrations, command.upgrade, target)


def downgrade(connection: Connection, migrations: Path, target: str) -> None:
    _run_command(connection, migrations, command.downgrade, target)


def on_file(opened: Callable[[], sqlite3.Connection], action: Callable[[Connection], T]) -> T:
    """All of it in one transaction on a connection to an SQLite file; its errors are SQLite's."""
    engine = create_engine("sqlite://", creator=opened, poolclass=NullPool)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            answer = action(connection)
            connection.commit()
            return answer
    except SQLAlchemyError as trouble:
        orig = getattr(trouble, "orig", None)
        if isinstance(orig, sqlite3.Error):
            raise orig from None
        raise DatabaseError(f"The database failed: {trouble}") from trouble


def revisions(migrations: Path) -> list[str]:
    """Every schema that Alembic finds a way to, oldest first."""
    steps = ScriptDirectory.from_config(_config(migrations)).walk_revisions()
    return [step.revision for step in steps][::-1]


def _run_command(connection: Connection, migrations: Path, move: _Move, target: str) -> None:
    config = _config(migrations)
    config.attributes["connection"] = connection
    if connection.dialect.name == "postgresql":
        # Two machines told to migrate at the same moment: the second waits, then finds it done.
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
    try:
        move(config, target)
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
