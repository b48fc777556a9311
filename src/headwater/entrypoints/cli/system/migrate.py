"""`headwater migrate`: bring the schema of the database up to date, or back."""

import asyncio
from typing import Annotated

import typer

from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.options import Yes
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.lazy_import import lazy_import
from headwater.entrypoints.server.data_folder import BOTH_ROLES, hold_locks

commands = Commands()


@commands.command()
def migrate(
    session: Session,
    to: Annotated[
        str | None, typer.Option("--to", metavar="REV", help="Stop at this schema.")
    ] = None,
    down: Annotated[
        bool, typer.Option("--down", help="Go back, one schema or down to --to.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Bring the database's schema up to date (or back)."""
    if down:
        session.confirm(
            "Going back to an older schema loses what it cannot hold. Go on?",
            yes=yes,
            needs="Going back to an older schema loses what it cannot hold. Add --yes.",
        )
    migrate_schema = lazy_import("headwater.entrypoints.server.schema:migrate")
    with hold_locks(session.settings.data_dir, BOTH_ROLES, session.command):
        change = asyncio.run(migrate_schema(session.settings, to=to, down=down))
    nothing_to_do = f"Schema {change.after or 'empty'}: nothing to do."
    line = nothing_to_do if change.before == change.after else f"Schema {change.in_words}"
    session.emit_line({"from": change.before, "to": change.after}, line)
