"""`headwater readers copy`: personal feeds from the database into Redis, or back."""

import asyncio
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer

from headwater.entrypoints.cli.exits import ExitCode
from headwater.entrypoints.cli.options import Json, session_of
from headwater.entrypoints.cli.render import plain
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.late import late
from headwater.errors import BadInput
from headwater.personal_copy import Copied
from headwater.schedule.words import counted


class Place(StrEnum):
    DATABASE = "database"
    REDIS = "redis"


def copy(
    ctx: typer.Context,
    source: Annotated[Place, typer.Option("--from", help="Where they are.")],
    target: Annotated[Place, typer.Option("--to", help="Where they shall be too.")],
    redis_url: Annotated[
        str | None,
        typer.Option("--redis-url", help="In place of personal_redis_url."),
    ] = None,
    json: Json = False,
) -> None:
    """Copy readers, tokens and items between the database and Redis. May be repeated."""
    if source == target:
        raise BadInput("A copy goes from one place to the other: database and redis.")
    session = session_of(ctx, as_json=json)
    copy_between = late("headwater.entrypoints.personal_copying:copy_between")
    places = source.value, target.value
    copied = asyncio.run(copy_between(session.settings, *places, redis_url, session.note))
    if json:
        session.print_json(asdict(copied))
    else:
        _tell(session, copied)
    if copied.refused:
        raise typer.Exit(ExitCode.PROBLEMS)


def _tell(session: Session, copied: Copied) -> None:
    lines = (
        f"{counted(copied.readers, 'reader', 'readers')}: {copied.readers_new:,} new,"
        f" {copied.readers_changed:,} changed.",
        f"{counted(copied.tokens, 'token', 'tokens')}: {copied.tokens_new:,} new,"
        f" {copied.tokens_ended:,} ended.",
        f"{counted(copied.items, 'item', 'items')}: {copied.items_new:,} new.",
    )
    for line in lines:
        session.out.print(line, markup=False)
    for name, why in copied.refused:
        session.out.print(plain(f"Not copied: {name}. {why}"))
