"""`migrate` and `settings`: bring the schema up to date, and show what is in force."""

import asyncio
import sys
from typing import Annotated, Any

import typer

from headwater.core.errors import BadInput
from headwater.entrypoints.cli.options import Json, Yes, session_of
from headwater.entrypoints.cli.render import details_table, safe_text
from headwater.entrypoints.lazy_import import lazy_import
from headwater.entrypoints.server.data_folder import BOTH_ROLES, hold_locks
from headwater.settings import Settings, hidden_secrets


def migrate(
    ctx: typer.Context,
    to: Annotated[
        str | None, typer.Option("--to", metavar="REV", help="Stop at this schema.")
    ] = None,
    down: Annotated[
        bool, typer.Option("--down", help="Go back, one schema or down to --to.")
    ] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Bring the database's schema up to date (or back)."""
    session = session_of(ctx, as_json=json)
    if down and not yes:
        _ask_first()
    move_schema = lazy_import("headwater.entrypoints.server.schema:migrate")
    with hold_locks(session.settings.data_dir, BOTH_ROLES, session.command):
        move = asyncio.run(move_schema(session.settings, to=to, down=down))
    if json:
        session.print_json({"from": move.before, "to": move.after})
    elif move.before == move.after:
        session.out.print(f"Schema {move.after or 'empty'}: nothing to do.")
    else:
        session.out.print(f"Schema {move.in_words}")


def settings(ctx: typer.Context, json: Json = False) -> None:
    """The settings in force, secrets hidden."""
    session = session_of(ctx, as_json=json)
    shown = in_force(session.settings)
    if json:
        session.print_json(shown)
    else:
        session.out.print(
            details_table(
                (name, safe_text(_format_setting(value))) for name, value in shown.items()
            )
        )


def in_force(settings: Settings) -> dict[str, Any]:
    """Every setting, what follows from them, and no secret."""
    shown = hidden_secrets(settings)
    return shown | {"user_agent": settings.user_agent}


def _format_setting(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _ask_first() -> None:
    if not sys.stdin.isatty():
        raise BadInput("Going back to an older schema loses what it cannot hold. Add --yes.")
    typer.confirm(
        "Going back to an older schema loses what it cannot hold. Go on?", abort=True, err=True
    )
