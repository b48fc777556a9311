"""Subscriptions: who fetches what. Subscribe, look, change, unsubscribe."""

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.table import Table

from headwater.core.errors import BadInput
from headwater.entrypoints.cli.feeds import NO_SERVICE_NOTE
from headwater.entrypoints.cli.lookup import (
    api_path,
    lookup_fetcher,
    lookup_group,
    lookup_subscription,
)
from headwater.entrypoints.cli.options import Json, Limit, Yes, local_now, session_of
from headwater.entrypoints.cli.render import Record, details_table, safe_text, state_text, table
from headwater.entrypoints.cli.session import Api
from headwater.entrypoints.cli.terminal import one_line
from headwater.entrypoints.cli.times import local_time, relative_time
from headwater.feeds.schedule.durations import format_count, format_duration

LoginFile = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE]", help="JSON: headers, cookies, basic, bearer; - is stdin."),
]
Forget = Annotated[bool, typer.Option("--forget", help="Take them away.")]


def check_file_or_forget(file: Path | None, *, forget: bool) -> None:
    """Before anything is opened."""
    if (file is None) != forget:
        raise BadInput("Name a file with the credentials, or say --forget.")


def put_credentials(api: Api, where: str, file: Path | None) -> Any:
    """Credentials are put where nobody can read them back; without a file they are taken away."""
    return api.delete(where) if file is None else api.put(where, read_json_object(file))


def credentials_in_words(name: object, held: dict[str, Any]) -> str:
    return f"{name}: credentials {', '.join(held['kinds']) or 'none'}."


def read_json_object(file: Path) -> dict[str, Any]:
    """Not from the command line: what stands there, everybody on the machine can see."""
    by_hand = str(file) == "-"
    name = "stdin" if by_hand else str(file)
    try:
        text = sys.stdin.read() if by_hand else file.read_text("utf-8")
        said = orjson.loads(text)
    except OSError as trouble:
        raise BadInput(f"{name} cannot be read: {trouble.strerror}.") from trouble
    except ValueError as trouble:
        raise BadInput(f"{name} cannot be read as JSON: {trouble}") from trouble
    if not isinstance(said, dict):
        raise BadInput(f"{name} must hold a JSON object.")
    return said


def subscriptions_table(
    subscriptions: Iterable[Record], names: Mapping[int, str], now: datetime
) -> Table:
    made = table("id", "source", "fetcher", "how", "last fetched", "next", wide=("source",))
    for each in subscriptions:
        made.add_row(
            str(each["subscription_id"]),
            safe_text(each["name"] or each["source_url"], 100),
            safe_text(names.get(each["fetcher_id"], each["fetcher_id"])),
            state_text(_how(each)),
            relative_time(each["last_fetched_at"], now),
            relative_time(each["next_fetch_at"], now),
        )
    return made


def subscription_details(each: Record, names: Mapping[int, str], now: datetime) -> Table:
    return details_table(
        [
            ("subscription", str(each["subscription_id"])),
            ("source", safe_text(each["source_url"], 2_000)),
            ("kind of source", safe_text(each["source_type"])),
            ("name", safe_text(each["name"])),
            ("description", safe_text(each["description"])),
            ("fetched by", safe_text(names.get(each["fetcher_id"], each["fetcher_id"]))),
            ("chosen", state_text(_how(each))),
            ("assigned", local_time(each["assigned_at"], now)),
            ("every", format_duration(each["fetch_interval_minutes"] * 60)),
            ("last fetched", local_time(each["last_fetched_at"], now)),
            ("next fetch", local_time(each["next_fetch_at"], now)),
            ("config", safe_text(each["config"], 2_000)),
            ("credentials", "held" if each["has_credentials"] else "none"),
            ("group", safe_text(each["group_id"])),
            ("feed", each["feed_id"]),
        ]
    )


def _how(each: Record) -> str:
    if not each["is_active"]:
        return "inactive"
    return "automatically" if each["auto_selected"] else "by a person"


def history_table(decisions: Iterable[Record], now: datetime) -> Table:
    made = table("when", "who", "what", "why", "change", wide=("why", "change"))
    for each in decisions:
        made.add_row(
            local_time(each["at"], now),
            safe_text(each["who"]),
            safe_text(each["what"]),
            safe_text(each["why"]),
            safe_text(_changed_values(each["before"] or {}, each["after"] or {})),
        )
    return made


def _changed_values(before: Record, after: Record) -> str:
    """Only what differs."""
    names = sorted(name for name in before.keys() | after.keys() if _differs(before, after, name))
    return ", ".join(f"{name} {before.get(name, '–')} → {after.get(name, '–')}" for name in names)


def _differs(before: Record, after: Record, name: str) -> bool:
    return bool(before.get(name) != after.get(name))


def statistics_details(found: Record, now: datetime) -> Table:
    rate = found["success_rate"]
    late = found["mean_late_sec"]
    return details_table(
        [
            ("subscription", str(found["subscription_id"])),
            ("window", found["window"]),
            ("visits", f"{found['visits']:,}"),
            ("successes", f"{found['successes']:,}"),
            ("failures", f"{found['failures']:,}"),
            ("unchanged", f"{found['unchanged']:,}"),
            ("success rate", "–" if rate is None else f"{rate:.1%}"),
            ("new entries", f"{found['new_entries']:,}"),
            ("bytes", f"{found['bytes_in']:,}"),
            ("seen after", "–" if late is None else format_duration(late)),
            ("failures in a row", str(found["consecutive_failures"])),
            ("last success", local_time(found["last_success_at"], now)),
            ("last error", safe_text(found["last_error"])),
        ]
    )


def worst_table(found: Iterable[Record]) -> Table:
    made = table(
        "id", "source", "fetcher", "visits", "failed", "in a row", "last error", wide=("source",)
    )
    for each in found:
        made.add_row(
            str(each["subscription_id"]),
            safe_text(each["name"] or each["source_url"], 100),
            safe_text(each["fetcher"]),
            f"{each['visits']:,}",
            f"{each['failure_rate']:.0%}",
            str(each["consecutive_failures"]),
            safe_text(each["last_error"]),
        )
    return made


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
            chosen["fetcher_id"] = lookup_fetcher(api, fetcher)["fetcher_id"]
        if group is not None:
            chosen["group_id"] = lookup_group(api, group)["group_id"]
        found = list(api.pages("/subscriptions", "subscriptions", **chosen))
        names = _fetcher_names(api)
    if json:
        session.print_json(found)
    elif found:
        session.out.print(subscriptions_table(found, names, local_now()))
        session.out.print(format_count(len(found), "subscription", "subscriptions"))
    else:
        session.out.print("No subscriptions. Make one: `headwater subscribe URL`.", markup=False)


def subscribe(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="What is to be followed.")],
    name: Annotated[str | None, typer.Option("--name", help="What you call it.")] = None,
    fetcher: FetcherOption = None,
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
        "credentials": None if credentials is None else read_json_object(credentials),
    }
    with session.api(writes=True) as api:
        made = api.post("/subscriptions", _with_ids(api, said, fetcher, group))
        names = _fetcher_names(api)
        served = api.is_service
    if json:
        session.print_json(made)
    else:
        who = names.get(made["fetcher_id"], str(made["fetcher_id"]))
        session.out.print(
            safe_text(f"Subscription {made['subscription_id']}: {url}, fetched by {who}.", 2_000)
        )
    if not served:
        session.note(NO_SERVICE_NOTE)


def _with_ids(
    api: Api, said: dict[str, Any], fetcher: str | None, group: str | None
) -> dict[str, Any]:
    """What was said, with the fetcher and the group by their numbers."""
    body = {name: value for name, value in said.items() if value is not None}
    if fetcher is not None:
        body["fetcher_id"] = lookup_fetcher(api, fetcher)["fetcher_id"]
    if group is not None:
        body["group_id"] = lookup_group(api, group)["group_id"]
    return body


def unsubscribe(
    ctx: typer.Context,
    subscription: SubscriptionArgument,
    hard: Annotated[
        bool, typer.Option("--hard", help="For good: its entries and raw bytes go too.")
    ] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Stop following a source; its history stays, unless --hard."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = lookup_subscription(api, subscription)
        name = one_line(meant["name"] or meant["source_url"], 80)
        what = "with all its entries and raw bytes, for good" if hard else "(its entries stay)"
        if not yes and sys.stdin.isatty():
            typer.confirm(f"Unsubscribe {name} {what}?", abort=True, err=True)
        elif not yes and hard:
            raise BadInput("--hard needs --yes when nobody can be asked.")
        gone = api.delete(
            api_path("subscriptions", meant["subscription_id"]), hard="true" if hard else None
        )
    if json:
        session.print_json(gone)
    else:
        session.out.print(safe_text(f"Unsubscribed {name} {what}."))


@subscriptions.command()
def show(ctx: typer.Context, subscription: SubscriptionArgument, json: Json = False) -> None:
    """One subscription: its source, who fetches it and since when."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        meant = lookup_subscription(api, subscription)
        names = _fetcher_names(api)
    if json:
        session.print_json(meant)
    else:
        session.out.print(subscription_details(meant, names, local_now()))


@subscriptions.command("set")
def set_values(
    ctx: typer.Context,
    subscription: SubscriptionArgument,
    values: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE...", help="`KEY=` goes back to the default.")
    ],
    json: Json = False,
) -> None:
    """Change name, description, fetch_interval_minutes, config, priority, categories, is_active,
    fetcher or group."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = lookup_subscription(api, subscription)
        changed = api.patch(
            api_path("subscriptions", meant["subscription_id"]), _parse_changes(api, values)
        )
    if json:
        session.print_json(changed)
    else:
        session.out.print(safe_text(f"Subscription {changed['subscription_id']}: changed."))


@subscriptions.command()
def history(
    ctx: typer.Context, subscription: SubscriptionArgument, limit: Limit = 20, json: Json = False
) -> None:
    """Who decided what about it, when and why; newest first."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        meant = lookup_subscription(api, subscription)
        found = api.some(
            api_path("subscriptions", meant["subscription_id"], "history"), "history", limit
        )
    if json:
        session.print_json(found)
    else:
        session.out.print(history_table(found, local_now()))


@subscriptions.command()
def stats(
    ctx: typer.Context,
    subscription: SubscriptionArgument,
    window: Window = "7d",
    json: Json = False,
) -> None:
    """How its visits go: successes, failures, news, bytes."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        meant = lookup_subscription(api, subscription)
        found = api.get(api_path("subscriptions", meant["subscription_id"], "stats"), window=window)
    if json:
        session.print_json(found)
    else:
        session.out.print(statistics_details(found, local_now()))


@subscriptions.command()
def credentials(
    ctx: typer.Context,
    subscription: SubscriptionArgument,
    file: LoginFile = None,
    forget: Forget = False,
    json: Json = False,
) -> None:
    """Give a private source its login, or take it away. It is never shown again."""
    session = session_of(ctx, as_json=json)
    check_file_or_forget(file, forget=forget)
    with session.api(writes=True) as api:
        meant = lookup_subscription(api, subscription)
        held = put_credentials(
            api, api_path("subscriptions", meant["subscription_id"], "credentials"), file
        )
    if json:
        session.print_json(held)
    else:
        session.out.print(
            safe_text(credentials_in_words(f"Subscription {meant['subscription_id']}", held))
        )


def parse_values(values: list[str]) -> dict[str, Any]:
    """`fetch_interval_minutes=30 name=News` → the fields of a body."""
    said: dict[str, Any] = {}
    for pair in values:
        name, mark, value = pair.partition("=")
        if not mark or not name:
            raise BadInput(f"{pair!r} is not KEY=VALUE.", given=pair)
        said[name] = _parse_value(name, value)
    return said


def _parse_changes(api: Api, values: list[str]) -> dict[str, Any]:
    said = parse_values(values)
    if (who := said.pop("fetcher", None)) is not None:
        said["fetcher_id"] = lookup_fetcher(api, str(who))["fetcher_id"]
    if "group" in said:
        group = said.pop("group")
        said["group_id"] = None if group is None else lookup_group(api, str(group))["group_id"]
    return said


def _parse_value(name: str, text: str) -> Any:
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
