"""Tokens for programs: create, list and revoke them."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import quote

import typer
from rich.table import Table

from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.render import Record, safe_text, state_text, table
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.times import local_now, local_time

Scope = Literal["admin", "read", "publish", "register"]

commands = Commands()
tokens = commands.family("tokens", help="Tokens for other programs.")


@tokens.command()
def create(
    session: Session,
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scope: Annotated[Scope, typer.Option(help="How far it reaches.")] = "read",
) -> None:
    """Make a token. It is shown once."""
    with session.api(writes=True) as api:
        token = api.post("/tokens", {"name": name, "scope": scope})
    session.note(f"A {scope} token for {name}; it is not shown again:")
    session.emit_line(token, token["token"])


@tokens.command("list")
def list_tokens(session: Session) -> None:
    """All tokens, without their secrets."""
    with session.api() as api:
        tokens = list(api.pages("/tokens", "tokens"))
    session.emit(tokens, tokens_table, local_now())


@tokens.command(json=False)
def revoke(
    session: Session,
    token_id: Annotated[
        str, typer.Argument(metavar="ID", help="Its number, as in `headwater tokens list`.")
    ],
) -> None:
    """Revoke a token. It opens nothing any more, at once."""
    with session.api(writes=True) as api:
        api.delete(f"/tokens/{quote(token_id, safe='')}")
    session.out.print(f"Token {token_id} is revoked.", markup=False)


def tokens_table(tokens: Iterable[Record], now: datetime) -> Table:
    made = table("id", "name", "scope", "made", "last used", "state", wide=("name",))
    for token in tokens:
        made.add_row(
            str(token["id"]),
            safe_text(token["name"]),
            token["scope"],
            local_time(token["created_at"], now),
            local_time(token.get("last_used_at"), now),
            state_text("revoked" if token.get("revoked_at") else "active"),
        )
    return made
