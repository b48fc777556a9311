"""Subscriptions on the command line: subscribe, list, show, change, unsubscribe."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.files import read_json_object
from headwater.entrypoints.cli.key_values import parse_key_values
from headwater.entrypoints.cli.lookup import (
    api_path,
    lookup_fetcher,
    lookup_group,
    lookup_subscription,
)
from headwater.entrypoints.cli.options import Limit, Window, Yes
from headwater.entrypoints.cli.render import Record
from headwater.entrypoints.cli.session import NO_SERVICE_NOTE, Api, Session
from headwater.entrypoints.cli.subscriptions.credentials import (
    CredentialsFile,
    Forget,
    check_file_or_forget,
    credentials_in_words,
    put_credentials,
)
from headwater.entrypoints.cli.subscriptions.subscription_tables import (
    history_table,
    statistics_details,
    subscription_details,
    subscriptions_table,
    worst_table,
)
from headwater.entrypoints.cli.terminal import one_line
from headwater.entrypoints.cli.times import local_now
from headwater.feeds.schedule.durations import format_count

SubscriptionArgument = Annotated[
    str,
    typer.Argument(metavar="SUBSCRIPTION", help="Its number, its URL, or part of its name."),
]
FetcherOption = Annotated[
    str | None, typer.Option("--fetcher", help="Who is to fetch it; else the best that can.")
]
Minutes = Annotated[
    int | None, typer.Option("--every", min=1, help="Minutes between visits; else adaptive.")
]
Categories = Annotated[
    list[str] | None, typer.Option("--category", help="May be given several times.")
]
CredentialsOption = Annotated[
    Path | None, typer.Option("--credentials", help="A JSON file with its login; - is stdin.")
]

commands = Commands()


@commands.command()
def subscribe(
    session: Session,
    url: Annotated[str, typer.Argument(metavar="URL", help="The source to follow.")],
    name: Annotated[str | None, typer.Option("--name", help="Your name for it.")] = None,
    fetcher: FetcherOption = None,
    source_type: Annotated[str, typer.Option("--type", help="The kind of source.")] = "rss",
    every: Minutes = None,
    config: Annotated[str | None, typer.Option("--config", help="JSON for its fetcher.")] = None,
    group: Annotated[str | None, typer.Option("--group", help="Put it into this group.")] = None,
    category: Categories = None,
    credentials: CredentialsOption = None,
) -> None:
    """Ask the fetchers who can handle a source, and give it to the best.

    Nothing is fetched here: the worker visits it at once. `headwater add` looks first.
    """
    fields = {
        "source_url": url,
        "source_type": source_type,
        "name": name,
        "fetch_interval_minutes": every,
        "config": config,
        "categories": category or None,
        "credentials": None if credentials is None else read_json_object(credentials),
    }
    body = {field: value for field, value in fields.items() if value is not None}
    with session.api(writes=True) as api:
        if fetcher is not None:
            body["fetcher_id"] = lookup_fetcher(api, fetcher)["fetcher_id"]
        if group is not None:
            body["group_id"] = lookup_group(api, group)["group_id"]
        made = api.post("/subscriptions", body)
        names = fetcher_names(api)
        served = api.is_service
    fetched_by = names.get(made["fetcher_id"], str(made["fetcher_id"]))
    line = f"Subscription {made['subscription_id']}: {url}, fetched by {fetched_by}."
    session.emit_line(made, line, most=2_000)
    if not served:
        session.note(NO_SERVICE_NOTE)


@commands.command()
def unsubscribe(
    session: Session,
    subscription: SubscriptionArgument,
    hard: Annotated[
        bool, typer.Option("--hard", help="For good: its entries and raw bytes go too.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Stop following a source; its history stays, unless --hard."""
    with session.api(writes=True) as api:
        record = lookup_subscription(api, subscription)
        name = one_line(record["name"] or record["source_url"], 80)
        what = "with all its entries and raw bytes, for good" if hard else "(its entries stay)"
        session.confirm(
            f"Unsubscribe {name} {what}?",
            yes=yes,
            needs="--hard needs --yes when nobody can be asked." if hard else None,
        )
        gone = api.delete(_path(record), hard="true" if hard else None)
    session.emit_line(gone, f"Unsubscribed {name} {what}.")


subscriptions = commands.family("subscriptions", help="Who fetches what: list, look, change.")


@subscriptions.default()
def list_subscriptions(
    session: Session,
    worst: Annotated[
        bool, typer.Option("--worst", help="Those whose visits fail, the worst first.")
    ] = False,
    fetcher: Annotated[
        str | None, typer.Option("--fetcher", help="Only those of this fetcher.")
    ] = None,
    group: Annotated[str | None, typer.Option("--group", help="Only those in this group.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Inactive ones too.")] = False,
    window: Window = "7d",
) -> None:
    """Active subscriptions and who fetches them. Alone it lists; see its commands for more."""
    with session.api() as api:
        if worst:
            session.emit(api.get("/stats/worst", window=window), worst_table, window)
            return
        query: dict[str, str | int | None] = {"include_inactive": "true" if all_ else None}
        if fetcher is not None:
            query["fetcher_id"] = lookup_fetcher(api, fetcher)["fetcher_id"]
        if group is not None:
            query["group_id"] = lookup_group(api, group)["group_id"]
        subscriptions = list(api.pages("/subscriptions", "subscriptions", **query))
        names = fetcher_names(api)
    session.emit(
        subscriptions,
        subscriptions_and_count,
        names,
        empty="No subscriptions. Make one: `headwater subscribe URL`.",
    )


@subscriptions.command()
def show(session: Session, subscription: SubscriptionArgument) -> None:
    """One subscription: its source, who fetches it and since when."""
    with session.api() as api:
        record = lookup_subscription(api, subscription)
        names = fetcher_names(api)
    session.emit(record, subscription_details, names, local_now())


@subscriptions.command("set")
def set_values(
    session: Session,
    subscription: SubscriptionArgument,
    values: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE...", help="`KEY=` goes back to the default.")
    ],
) -> None:
    """Change name, description, fetch_interval_minutes, config, priority, categories, is_active,
    fetcher or group."""
    with session.api(writes=True) as api:
        record = lookup_subscription(api, subscription)
        changed = api.patch(_path(record), _parse_changes(api, values))
    session.emit_line(changed, f"Subscription {changed['subscription_id']}: changed.")


@subscriptions.command()
def history(session: Session, subscription: SubscriptionArgument, limit: Limit = 20) -> None:
    """Who decided what about it, when and why; newest first."""
    with session.api() as api:
        record = lookup_subscription(api, subscription)
        decisions = api.first(_path(record, "history"), "history", limit)
    session.emit(decisions, history_table, local_now())


@subscriptions.command()
def stats(session: Session, subscription: SubscriptionArgument, window: Window = "7d") -> None:
    """Statistics of its visits: successes, failures, new entries, bytes."""
    with session.api() as api:
        record = lookup_subscription(api, subscription)
        statistics = api.get(_path(record, "stats"), window=window)
    session.emit(statistics, statistics_details, local_now())


@subscriptions.command()
def credentials(
    session: Session,
    subscription: SubscriptionArgument,
    file: CredentialsFile = None,
    forget: Forget = False,
) -> None:
    """Give a private source its login, or take it away. It is never shown again."""
    check_file_or_forget(file, forget=forget)
    with session.api(writes=True) as api:
        record = lookup_subscription(api, subscription)
        held = put_credentials(api, _path(record, "credentials"), file)
    name = f"Subscription {record['subscription_id']}"
    session.emit_line(held, credentials_in_words(name, held))


def parse_values(values: list[str]) -> dict[str, Any]:
    """Parse the fields of a subscription or of a group."""
    texts = {"name", "description", "config", "fetcher", "group"}
    return parse_key_values(values, texts=texts, lists={"categories"})


def fetcher_names(api: Api) -> dict[int, str]:
    fetchers = api.get("/fetcher-modules")["fetcher_modules"]
    return {fetcher["fetcher_id"]: fetcher["name"] for fetcher in fetchers}


def subscriptions_and_count(
    subscriptions: list[Record], fetchers: dict[int, str]
) -> RenderableType:
    count = format_count(len(subscriptions), "subscription", "subscriptions")
    return Group(subscriptions_table(subscriptions, fetchers, local_now()), count)


def _path(subscription: Record, *rest: str) -> str:
    return api_path("subscriptions", subscription["subscription_id"], *rest)


def _parse_changes(api: Api, values: list[str]) -> dict[str, Any]:
    changes = parse_values(values)
    if (fetcher := changes.pop("fetcher", None)) is not None:
        changes["fetcher_id"] = lookup_fetcher(api, str(fetcher))["fetcher_id"]
    if "group" in changes:
        group = changes.pop("group")
        changes["group_id"] = None if group is None else lookup_group(api, str(group))["group_id"]
    return changes
