"""`migrate` and `settings`: the schema, and what is in force."""

import asyncio
import sys
from typing import Annotated, Any

import typer

from headwater.entrypoints.cli.options import Json, Yes, session_of
from headwater.entrypoints.cli.render import facts, plain
from headwater.entrypoints.late import late
from headwater.entrypoints.lock import BOTH, held
from headwater.errors import BadInput
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
    move_schema = late("headwater.entrypoints.upkeep:migrate")
    with held(session.settings.data_dir, BOTH, session.command):
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
        session.out.print(facts((name, plain(_said(value))) for name, value in shown.items()))


def in_force(settings: Settings) -> dict[str, Any]:
    """Every setting, what follows from them, and no secret."""
    shown = hidden_secrets(settings)
    return shown | {"user_agent": settings.user_agent}


def _said(value: Any) -> str:
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
