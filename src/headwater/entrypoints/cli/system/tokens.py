"""Tokens for programs: made, listed, revoked."""

from typing import Annotated, Literal
from urllib.parse import quote

import typer

from headwater.entrypoints.cli.options import Json, local_now, session_of
from headwater.entrypoints.cli.render import safe_text, state_text, table
from headwater.entrypoints.cli.times import local_time

tokens = typer.Typer(no_args_is_help=True, help="Tokens for other programs.")

Scope = Literal["admin", "read", "publish", "register"]


@tokens.command()
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scope: Annotated[Scope, typer.Option(help="How far it reaches.")] = "read",
    json: Json = False,
) -> None:
    """Make a token. It is shown once."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        made = api.post("/tokens", {"name": name, "scope": scope})
    if json:
        session.print_json(made)
        return
    session.note(f"A {scope} token for {name}; it is not shown again:")
    session.out.print(made["token"], markup=False)


@tokens.command("list")
def list_tokens(ctx: typer.Context, json: Json = False) -> None:
    """All tokens, without their secrets."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = list(api.pages("/tokens", "tokens"))
    if json:
        session.print_json(found)
        return
    now = local_now()
    made = table("id", "name", "scope", "made", "last used", "state", wide=("name",))
    for token in found:
        made.add_row(
            str(token["id"]),
            safe_text(token["name"]),
            token["scope"],
            local_time(token["created_at"], now),
            local_time(token.get("last_used_at"), now),
            state_text("revoked" if token.get("revoked_at") else "active"),
        )
    session.out.print(made)


@tokens.command()
def revoke(
    ctx: typer.Context,
    token_id: Annotated[
        str, typer.Argument(metavar="ID", help="Its number, as in `headwater tokens list`.")
    ],
) -> None:
    """Make a token worthless at once."""
    session = session_of(ctx)
    with session.api(writes=True) as api:
        api.delete(f"/tokens/{quote(token_id, safe='')}")
    session.out.print(f"Token {token_id} is revoked.", markup=False)
