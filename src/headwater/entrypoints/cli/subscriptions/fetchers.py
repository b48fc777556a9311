"""Fetchers: who is there, who may work, who goes first."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.table import Table

from headwater.core.errors import BadInput
from headwater.entrypoints.cli.lookup import api_path, lookup_fetcher
from headwater.entrypoints.cli.options import Json, local_now, session_of
from headwater.entrypoints.cli.render import Record, details_table, safe_text, state_text, table
from headwater.entrypoints.cli.subscriptions.subscriptions import subscriptions_table
from headwater.entrypoints.cli.times import local_time, relative_time


def fetchers_table(fetchers: Iterable[Record], now: datetime) -> Table:
    made = table("id", "name", "version", "priority", "state", "where", "seen", wide=("where",))
    for each in fetchers:
        made.add_row(
            str(each["fetcher_id"]),
            safe_text(each["name"]),
            safe_text(each["version"]),
            str(each["priority"]),
            state_text("enabled" if each["is_enabled"] else "disabled"),
            "built in" if each["is_builtin"] else safe_text(each["base_url"], 200),
            relative_time(each["last_seen_at"], now),
        )
    return made


def fetcher_details(each: Record, now: datetime) -> Table:
    return details_table(
        [
            ("fetcher", str(each["fetcher_id"])),
            ("name", safe_text(each["name"])),
            ("version", safe_text(each["version"])),
            ("description", safe_text(each["description"])),
            ("where", "built in" if each["is_builtin"] else safe_text(each["base_url"], 2_000)),
            ("priority", str(each["priority"])),
            ("state", state_text("enabled" if each["is_enabled"] else "disabled")),
            ("wants news", "yes" if each["wants_news"] else "no"),
            ("config", safe_text(each["config_schema"], 2_000)),
            ("last seen", local_time(each["last_seen_at"], now)),
            ("since", local_time(each["created_at"], now)),
        ]
    )


fetchers = typer.Typer(no_args_is_help=True, help="Who can fetch: built in or registered.")
FetcherArgument = Annotated[str, typer.Argument(metavar="FETCHER", help="Its number or its name.")]


@fetchers.command("list")
def list_fetchers(ctx: typer.Context, json: Json = False) -> None:
    """All fetchers with their priority and when they were last seen."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = api.get("/fetcher-modules")["fetcher_modules"]
    if json:
        session.print_json(found)
    else:
        session.out.print(fetchers_table(found, local_now()))


@fetchers.command()
def show(ctx: typer.Context, fetcher: FetcherArgument, json: Json = False) -> None:
    """One fetcher: where it is, what it wants configured, what it fetches."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        meant = lookup_fetcher(api, fetcher)
        where = api_path("fetcher-modules", meant["fetcher_id"], "subscriptions")
        held = list(api.pages(where, "subscriptions"))
    if json:
        session.print_json({**meant, "subscriptions": held})
        return
    session.out.print(fetcher_details(meant, local_now()))
    if held:
        names = {meant["fetcher_id"]: meant["name"]}
        session.out.print(subscriptions_table(held, names, local_now()))


@fetchers.command()
def enable(ctx: typer.Context, fetcher: FetcherArgument, json: Json = False) -> None:
    """Ask it again when something new is subscribed to."""
    _change(ctx, fetcher, {"is_enabled": True}, json)


@fetchers.command()
def disable(ctx: typer.Context, fetcher: FetcherArgument, json: Json = False) -> None:
    """Ask it no more; what it has stays with it until you move it."""
    _change(ctx, fetcher, {"is_enabled": False}, json)


@fetchers.command("set")
def set_values(
    ctx: typer.Context,
    fetcher: FetcherArgument,
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
        meant = lookup_fetcher(api, fetcher)
        changed = api.patch(api_path("fetcher-modules", meant["fetcher_id"]), changes)
    if json:
        session.print_json(changed)
    else:
        state = "enabled" if changed["is_enabled"] else "disabled"
        session.out.print(
            safe_text(
                f"{changed['name']}: {state}, priority {changed['priority']}, "
                f"at {changed['base_url']}."
            )
        )
