"""Fetchers: who is there, who may work, who goes first."""

from typing import Annotated, Any

import typer

from headwater.entrypoints.cli.meant import fetcher_meant, path
from headwater.entrypoints.cli.options import Json, here_and_now, session_of
from headwater.entrypoints.cli.registry_tables import (
    fetcher_facts,
    fetchers_table,
    subscriptions_table,
)
from headwater.entrypoints.cli.render import plain
from headwater.errors import BadInput

fetchers = typer.Typer(no_args_is_help=True, help="Who can fetch: built in or registered.")

Which = Annotated[str, typer.Argument(metavar="FETCHER", help="Its number or its name.")]


@fetchers.command("list")
def list_fetchers(ctx: typer.Context, json: Json = False) -> None:
    """All fetchers with their priority and when they were last seen."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = api.get("/fetcher-modules")["fetcher_modules"]
    if json:
        session.print_json(found)
    else:
        session.out.print(fetchers_table(found, here_and_now()))


@fetchers.command()
def show(ctx: typer.Context, fetcher: Which, json: Json = False) -> None:
    """One fetcher: where it is, what it wants configured, what it fetches."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        meant = fetcher_meant(api, fetcher)
        where = path("fetcher-modules", meant["fetcher_id"], "subscriptions")
        held = list(api.pages(where, "subscriptions"))
    if json:
        session.print_json({**meant, "subscriptions": held})
        return
    session.out.print(fetcher_facts(meant, here_and_now()))
    if held:
        names = {meant["fetcher_id"]: meant["name"]}
        session.out.print(subscriptions_table(held, names, here_and_now()))


@fetchers.command()
def enable(ctx: typer.Context, fetcher: Which, json: Json = False) -> None:
    """Ask it again when something new is subscribed to."""
    _change(ctx, fetcher, {"is_enabled": True}, json)


@fetchers.command()
def disable(ctx: typer.Context, fetcher: Which, json: Json = False) -> None:
    """Ask it no more; what it has stays with it until you move it."""
    _change(ctx, fetcher, {"is_enabled": False}, json)


@fetchers.command("set")
def set_values(
    ctx: typer.Context,
    fetcher: Which,
    priority: Annotated[
        int | None, typer.Option("--priority", min=0, max=1_000, help="The highest yes wins.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Where it is reached now.")
    ] = None,
    json: Json = False,
) -> None:
    """Change a fetcher's priority or address."""
    said: dict[str, Any] = {"priority": priority, "base_url": base_url}
    changes = {name: value for name, value in said.items() if value is not None}
    if not changes:
        raise BadInput("Say what is to change: --priority or --base-url.")
    _change(ctx, fetcher, changes, json)


def _change(ctx: typer.Context, fetcher: str, changes: dict[str, Any], json: bool) -> None:
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = fetcher_meant(api, fetcher)
        changed = api.patch(path("fetcher-modules", meant["fetcher_id"]), changes)
    if json:
        session.print_json(changed)
    else:
        state = "enabled" if changed["is_enabled"] else "disabled"
        session.out.print(
            plain(
                f"{changed['name']}: {state}, priority {changed['priority']}, "
                f"at {changed['base_url']}."
            )
        )
