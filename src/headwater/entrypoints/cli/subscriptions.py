"""Subscriptions: who fetches what. Subscribe, look, change, unsubscribe."""

import sys
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from headwater.entrypoints.cli.adding import NOBODY_VISITS
from headwater.entrypoints.cli.logins import (
    Forget,
    LoginFile,
    give,
    in_words,
    json_object,
    refuse_unless_one,
)
from headwater.entrypoints.cli.meant import fetcher_meant, group_meant, path, subscription_meant
from headwater.entrypoints.cli.options import Json, Limit, Yes, here_and_now, session_of
from headwater.entrypoints.cli.registry_tables import (
    history_table,
    statistics_facts,
    subscription_facts,
    subscriptions_table,
    worst_table,
)
from headwater.entrypoints.cli.render import plain
from headwater.entrypoints.cli.session import Api
from headwater.entrypoints.cli.terminal import one_line
from headwater.errors import BadInput
from headwater.schedule.words import counted

Which = Annotated[
    str,
    typer.Argument(metavar="SUBSCRIPTION", help="Its number, its URL, or part of its name."),
]
Chosen = Annotated[
    str | None, typer.Option("--fetcher", help="Who is to fetch it; else the best that can.")
]
Minutes = Annotated[
    int | None, typer.Option("--every", min=1, help="Minutes between visits; else adaptive.")
]
Categories = Annotated[
    list[str] | None, typer.Option("--category", help="May be given several times.")
]
Login = Annotated[
    Path | None, typer.Option("--credentials", help="A JSON file with its login; - is stdin.")
]
Window = Annotated[str, typer.Option("--window", help="Days to look at, such as 7d, or all.")]

subscriptions = typer.Typer(
    invoke_without_command=True, help="Who fetches what: list, look, change."
)


@subscriptions.callback()
def list_subscriptions(
    ctx: typer.Context,
    worst: Annotated[
        bool, typer.Option("--worst", help="Those whose visits fail, the worst first.")
    ] = False,
    fetcher: Annotated[
        str | None, typer.Option("--fetcher", help="Only those of this fetcher.")
    ] = None,
    group: Annotated[str | None, typer.Option("--group", help="Only those in this group.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Inactive ones too.")] = False,
    window: Window = "7d",
    json: Json = False,
) -> None:
    """Active subscriptions and who fetches them. Alone it lists; see its commands for more."""
    if ctx.invoked_subcommand is not None:
        return
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        if worst:
            _show_worst(session, api, window)
            return
        chosen: dict[str, str | int | None] = {"include_inactive": "true" if all_ else None}
        if fetcher is not None:
            chosen["fetcher_id"] = fetcher_meant(api, fetcher)["fetcher_id"]
        if group is not None:
            chosen["group_id"] = group_meant(api, group)["group_id"]
        found = list(api.pages("/subscriptions", "subscriptions", **chosen))
        names = _fetcher_names(api)
    if json:
        session.print_json(found)
    elif found:
        session.out.print(subscriptions_table(found, names, here_and_now()))
        session.out.print(counted(len(found), "subscription", "subscriptions"))
    else:
        session.out.print("No subscriptions. Make one: `headwater subscribe URL`.", markup=False)


def subscribe(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="What is to be followed.")],
    name: Annotated[str | None, typer.Option("--name", help="What you call it.")] = None,
    fetcher: Chosen = None,
    source_type: Annotated[str, typer.Option("--type", help="What kind of source it is.")] = "rss",
    every: Minutes = None,
    config: Annotated[str | None, typer.Option("--config", help="JSON for its fetcher.")] = None,
    group: Annotated[str | None, typer.Option("--group", help="Put it into this group.")] = None,
    category: Categories = None,
    credentials: Login = None,
    json: Json = False,
) -> None:
    """Ask the fetchers who can handle a source, and give it to the best.

    Nothing is fetched here: the worker visits it at once. `headwater add` looks first.
    """
    session = session_of(ctx, as_json=json)
    said = {
        "source_url": url,
        "source_type": source_type,
        "name": name,
        "fetch_interval_minutes": every,
        "config": config,
        "categories": category or None,
        "credentials": None if credentials is None else json_object(credentials),
    }
    with session.api(writes=True) as api:
        made = api.post("/subscriptions", _named(api, said, fetcher, group))
        names = _fetcher_names(api)
        served = api.is_service
    if json:
        session.print_json(made)
    else:
        who = names.get(made["fetcher_id"], str(made["fetcher_id"]))
        session.out.print(
            plain(f"Subscription {made['subscription_id']}: {url}, fetched by {who}.", 2_000)
        )
    if not served:
        session.note(NOBODY_VISITS)


def _named(
    api: Api, said: dict[str, Any], fetcher: str | None, group: str | None
) -> dict[str, Any]:
    """What was said, with the fetcher and the group by their numbers."""
    body = {name: value for name, value in said.items() if value is not None}
    if fetcher is not None:
        body["fetcher_id"] = fetcher_meant(api, fetcher)["fetcher_id"]
    if group is not None:
        body["group_id"] = group_meant(api, group)["group_id"]
    return body


def unsubscribe(
    ctx: typer.Context,
    subscription: Which,
    hard: Annotated[
        bool, typer.Option("--hard", help="For good: its entries and raw bytes go too.")
    ] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Stop following a source; its history stays, unless --hard."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = subscription_meant(api, subscription)
        name = one_line(meant["name"] or meant["source_url"], 80)
        what = "with all its entries and raw bytes, for good" if hard else "(its entries stay)"
        if not yes and sys.stdin.isatty():
            typer.confirm(f"Unsubscribe {name} {what}?", abort=True, err=True)
        elif not yes and hard:
            raise BadInput("--hard needs --yes when nobody can be asked.")
        gone = api.delete(
            path("subscriptions", meant["subscription_id"]), hard="true" if hard else None
        )
    if json:
        session.print_json(gone)
    else:
        session.out.print(plain(f"Unsubscribed {name} {what}."))


@subscriptions.command()
def show(ctx: typer.Context, subscription: Which, json: Json = False) -> None:
    """One subscription: its source, who fetches it and since when."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        meant = subscription_meant(api, subscription)
        names = _fetcher_names(api)
    if json:
        session.print_json(meant)
    else:
        session.out.print(subscription_facts(meant, names, here_and_now()))


@subscriptions.command("set")
def set_values(
    ctx: typer.Context,
    subscription: Which,
    values: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE...", help="`KEY=` goes back to the default.")
    ],
    json: Json = False,
) -> None:
    """Change name, description, fetch_interval_minutes, config, priority, categories, is_active,
    fetcher or group."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = subscription_meant(api, subscription)
        changed = api.patch(path("subscriptions", meant["subscription_id"]), _changes(api, values))
    if json:
        session.print_json(changed)
    else:
        session.out.print(plain(f"Subscription {changed['subscription_id']}: changed."))


@subscriptions.command()
def history(ctx: typer.Context, subscription: Which, limit: Limit = 20, json: Json = False) -> None:
    """Who decided what about it, when and why; newest first."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        meant = subscription_meant(api, subscription)
        found = api.some(
            path("subscriptions", meant["subscription_id"], "history"), "history", limit
        )
    if json:
        session.print_json(found)
    else:
        session.out.print(history_table(found, here_and_now()))


@subscriptions.command()
def stats(
    ctx: typer.Context, subscription: Which, window: Window = "7d", json: Json = False
) -> None:
    """How its visits go: successes, failures, news, bytes."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        meant = subscription_meant(api, subscription)
        found = api.get(path("subscriptions", meant["subscription_id"], "stats"), window=window)
    if json:
        session.print_json(found)
    else:
        session.out.print(statistics_facts(found, here_and_now()))


@subscriptions.command()
def credentials(
    ctx: typer.Context,
    subscription: Which,
    file: LoginFile = None,
    forget: Forget = False,
    json: Json = False,
) -> None:
    """Give a private source its login, or take it away. It is never shown again."""
    session = session_of(ctx, as_json=json)
    refuse_unless_one(file, forget=forget)
    with session.api(writes=True) as api:
        meant = subscription_meant(api, subscription)
        held = give(api, path("subscriptions", meant["subscription_id"], "credentials"), file)
    if json:
        session.print_json(held)
    else:
        session.out.print(plain(in_words(f"Subscription {meant['subscription_id']}", held)))


def values_of(values: list[str]) -> dict[str, Any]:
    """`fetch_interval_minutes=30 name=News` → the fields of a body."""
    said: dict[str, Any] = {}
    for pair in values:
        name, mark, value = pair.partition("=")
        if not mark or not name:
            raise BadInput(f"{pair!r} is not KEY=VALUE.", given=pair)
        said[name] = _value(name, value)
    return said


def _changes(api: Api, values: list[str]) -> dict[str, Any]:
    said = values_of(values)
    if (who := said.pop("fetcher", None)) is not None:
        said["fetcher_id"] = fetcher_meant(api, str(who))["fetcher_id"]
    if "group" in said:
        group = said.pop("group")
        said["group_id"] = None if group is None else group_meant(api, str(group))["group_id"]
    return said


def _value(name: str, text: str) -> Any:
    if name == "categories":
        return [part.strip() for part in text.split(",") if part.strip()]
    if not text:
        return None
    if name in {"name", "description", "config", "fetcher", "group"}:
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _show_worst(session: Any, api: Api, window: str) -> None:
    found = api.get("/stats/worst", window=window)
    if session.as_json:
        session.print_json(found)
    elif found["subscriptions"]:
        session.out.print(worst_table(found["subscriptions"]))
    else:
        session.out.print(f"No subscription fails (window {window}).", markup=False)


def _fetcher_names(api: Api) -> dict[int, str]:
    every = api.get("/fetcher-modules")["fetcher_modules"]
    return {each["fetcher_id"]: each["name"] for each in every}
