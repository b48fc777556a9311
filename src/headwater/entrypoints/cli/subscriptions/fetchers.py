"""Fetchers on the command line: list them, enable and disable them, set their priority."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table

from headwater.core.errors import BadInput
from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.lookup import api_path, lookup_fetcher
from headwater.entrypoints.cli.render import Record, details_table, safe_text, state_text, table
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.subscriptions.subscription_tables import subscriptions_table
from headwater.entrypoints.cli.times import local_now, local_time, relative_time

FetcherArgument = Annotated[str, typer.Argument(metavar="FETCHER", help="Its number or its name.")]

commands = Commands()
fetchers = commands.family("fetchers", help="Who can fetch: built in or registered.")


@fetchers.command("list")
def list_fetchers(session: Session) -> None:
    """All fetchers with their priority and when they were last seen."""
    with session.api() as api:
        fetchers = api.get("/fetcher-modules")["fetcher_modules"]
    session.emit(fetchers, fetchers_table, local_now())


@fetchers.command()
def show(session: Session, fetcher: FetcherArgument) -> None:
    """One fetcher: where it is, what it wants configured, what it fetches."""
    with session.api() as api:
        record = lookup_fetcher(api, fetcher)
        path = api_path("fetcher-modules", record["fetcher_id"], "subscriptions")
        subscriptions = list(api.pages(path, "subscriptions"))
    session.emit({**record, "subscriptions": subscriptions}, fetcher_and_subscriptions, local_now())


@fetchers.command()
def enable(session: Session, fetcher: FetcherArgument) -> None:
    """Ask it again about new subscriptions."""
    _change(session, fetcher, {"is_enabled": True})


@fetchers.command()
def disable(session: Session, fetcher: FetcherArgument) -> None:
    """Stop asking it. Its subscriptions stay with it until you move them."""
    _change(session, fetcher, {"is_enabled": False})


@fetchers.command("set")
def set_values(
    session: Session,
    fetcher: FetcherArgument,
    priority: Annotated[
        int | None,
        typer.Option("--priority", min=0, max=1_000, help="Of those that can, the highest wins."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Where it is reached now.")
    ] = None,
) -> None:
    """Change a fetcher's priority or address."""
    fields: dict[str, Any] = {"priority": priority, "base_url": base_url}
    changes = {name: value for name, value in fields.items() if value is not None}
    if not changes:
        raise BadInput("Say what is to change: --priority or --base-url.")
    _change(session, fetcher, changes)


def _change(session: Session, fetcher: str, changes: dict[str, Any]) -> None:
    with session.api(writes=True) as api:
        record = lookup_fetcher(api, fetcher)
        changed = api.patch(api_path("fetcher-modules", record["fetcher_id"]), changes)
    state = "enabled" if changed["is_enabled"] else "disabled"
    line = f"{state}, priority {changed['priority']}, at {changed['base_url']}."
    session.emit_line(changed, f"{changed['name']}: {line}")


def fetchers_table(fetchers: Iterable[Record], now: datetime) -> Table:
    made = table("id", "name", "version", "priority", "state", "where", "seen", wide=("where",))
    for fetcher in fetchers:
        made.add_row(
            str(fetcher["fetcher_id"]),
            safe_text(fetcher["name"]),
            safe_text(fetcher["version"]),
            str(fetcher["priority"]),
            state_text("enabled" if fetcher["is_enabled"] else "disabled"),
            "built in" if fetcher["is_builtin"] else safe_text(fetcher["base_url"], 200),
            relative_time(fetcher["last_seen_at"], now),
        )
    return made


def fetcher_details(fetcher: Record, now: datetime) -> Table:
    return details_table(
        [
            ("fetcher", str(fetcher["fetcher_id"])),
            ("name", safe_text(fetcher["name"])),
            ("version", safe_text(fetcher["version"])),
            ("description", safe_text(fetcher["description"])),
            (
                "where",
                "built in" if fetcher["is_builtin"] else safe_text(fetcher["base_url"], 2_000),
            ),
            ("priority", str(fetcher["priority"])),
            ("state", state_text("enabled" if fetcher["is_enabled"] else "disabled")),
            ("wants news", "yes" if fetcher["wants_news"] else "no"),
            ("config", safe_text(fetcher["config_schema"], 2_000)),
            ("last seen", local_time(fetcher["last_seen_at"], now)),
            ("since", local_time(fetcher["created_at"], now)),
        ]
    )


def fetcher_and_subscriptions(fetcher: Record, now: datetime) -> RenderableType:
    details = fetcher_details(fetcher, now)
    if not fetcher["subscriptions"]:
        return details
    names = {fetcher["fetcher_id"]: fetcher["name"]}
    return Group(details, subscriptions_table(fetcher["subscriptions"], names, now))
