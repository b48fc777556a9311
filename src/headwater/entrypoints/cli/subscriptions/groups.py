"""Groups: subscriptions with shared settings, and one wish for all of them."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from headwater.core.errors import BadInput
from headwater.entrypoints.cli.lookup import api_path, lookup_group, lookup_subscription
from headwater.entrypoints.cli.options import Json, Yes, local_now, session_of
from headwater.entrypoints.cli.render import Record, safe_text, table
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.subscriptions.subscriptions import (
    Forget,
    LoginFile,
    check_file_or_forget,
    credentials_in_words,
    parse_values,
    put_credentials,
    subscriptions_table,
)
from headwater.feeds.schedule.durations import format_count, format_duration


def groups_table(groups: Iterable[Record]) -> Table:
    made = table("id", "name", "members", "every", "priority", "categories", wide=("name",))
    for each in groups:
        minutes, priority = each["fetch_interval_minutes"], each["priority"]
        made.add_row(
            str(each["group_id"]),
            safe_text(each["name"]),
            str(each["members"]),
            "–" if minutes is None else format_duration(minutes * 60),
            "–" if priority is None else str(priority),
            safe_text(", ".join(each["categories"] or [])),
        )
    return made


def action_table(report: Record) -> Table:
    made = table("id", "source", "what became of it", wide=("source", "what became of it"))
    for each in report["results"]:
        made.add_row(
            str(each["subscription_id"]),
            safe_text(each["source_url"], 100),
            safe_text("done" if each["done"] else each["message"]),
        )
    made.caption = f"{report['done']} done, {report['refused']} refused"
    return made


groups = typer.Typer(no_args_is_help=True, help="Subscriptions with shared settings.")
GroupArgument = Annotated[str, typer.Argument(metavar="GROUP", help="Its number or its name.")]
Members = Annotated[
    list[str],
    typer.Argument(metavar="SUBSCRIPTION...", help="Numbers, URLs, or parts of names."),
]
Values = Annotated[
    list[str],
    typer.Argument(
        metavar="KEY=VALUE...",
        help="fetch_interval_minutes, priority, categories, config, name, description.",
    ),
]
Action = Literal["pause", "resume", "refetch", "delete"]


@groups.command("list")
def list_groups(ctx: typer.Context, json: Json = False) -> None:
    """All groups and what they share."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = list(api.pages("/groups", "groups"))
    if json:
        session.print_json(found)
    elif found:
        session.out.print(groups_table(found))
    else:
        session.out.print("No groups. Make one: `headwater groups create NAME`.", markup=False)


@groups.command()
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE...",
            help="fetch_interval_minutes, priority, categories, config, description.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make a group; what it says counts for every member that says nothing else."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        made = api.post("/groups", {"name": name, **parse_values(values or [])})
    _print_result(session, made, f"Group {made['group_id']}: {made['name']}.")


@groups.command()
def show(ctx: typer.Context, group: GroupArgument, json: Json = False) -> None:
    """One group and its members."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        meant = lookup_group(api, group)
        members = list(
            api.pages(api_path("groups", meant["group_id"], "subscriptions"), "subscriptions")
        )
        every = api.get("/fetcher-modules")["fetcher_modules"]
    if json:
        session.print_json({**meant, "subscriptions": members})
        return
    names = {each["fetcher_id"]: each["name"] for each in every}
    session.out.print(groups_table([meant]))
    session.out.print(subscriptions_table(members, names, local_now()))


@groups.command("set")
def set_values(
    ctx: typer.Context, group: GroupArgument, values: Values, json: Json = False
) -> None:
    """Change what the group shares; all members follow at once."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = lookup_group(api, group)
        changed = api.patch(api_path("groups", meant["group_id"]), parse_values(values))
    members = format_count(changed["members_changed"], "member", "members")
    _print_result(session, changed, f"{changed['name']}: {members} changed.")


@groups.command()
def add(
    ctx: typer.Context, group: GroupArgument, subscriptions: Members, json: Json = False
) -> None:
    """Put subscriptions into a group, out of any other."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = lookup_group(api, group)
        joined = [
            api.put(_member(meant, lookup_subscription(api, each)), {}) for each in subscriptions
        ]
    _print_result(session, joined, f"{meant['name']}: {len(joined)} joined.")


@groups.command()
def drop(
    ctx: typer.Context, group: GroupArgument, subscriptions: Members, json: Json = False
) -> None:
    """Take subscriptions out of a group; they are followed as before."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = lookup_group(api, group)
        left = [
            api.delete(_member(meant, lookup_subscription(api, each))) for each in subscriptions
        ]
    _print_result(session, left, f"{meant['name']}: {len(left)} left.")


@groups.command()
def act(
    ctx: typer.Context,
    group: GroupArgument,
    action: Annotated[Action, typer.Argument(help="What is to be done with every member.")],
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Pause, resume, refetch or delete (softly) all members, with a report for each."""
    session = session_of(ctx, as_json=json)
    if action == "delete" and not yes:
        raise BadInput("delete unsubscribes every member of the group: say --yes.")
    with session.api(writes=True) as api:
        meant = lookup_group(api, group)
        report = _act_in_parts(api, api_path("groups", meant["group_id"], "actions"), action)
    if json:
        session.print_json(report)
    else:
        session.out.print(action_table(report))


@groups.command()
def credentials(
    ctx: typer.Context,
    group: GroupArgument,
    file: LoginFile = None,
    forget: Forget = False,
    json: Json = False,
) -> None:
    """Give all members one login, or take it away. It is never shown again."""
    session = session_of(ctx, as_json=json)
    check_file_or_forget(file, forget=forget)
    with session.api(writes=True) as api:
        meant = lookup_group(api, group)
        held = put_credentials(api, api_path("groups", meant["group_id"], "credentials"), file)
    _print_result(session, held, credentials_in_words(meant["name"], held))


@groups.command()
def delete(ctx: typer.Context, group: GroupArgument, json: Json = False) -> None:
    """Dissolve a group; its subscriptions stay."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = lookup_group(api, group)
        gone = api.delete(api_path("groups", meant["group_id"]))
    _print_result(session, gone, f"{gone['name']}: dissolved, {gone['subscriptions_kept']} kept.")


def _act_in_parts(api: Api, where: str, action: str) -> dict[str, Any]:
    """Large groups are done in parts; the report is whole."""
    whole = api.post(where, {"action": action})
    while (cursor := whole["next_cursor"]) is not None:
        part = api.post(where, {"action": action, "cursor": cursor})
        whole["results"] += part["results"]
        for count in ("done", "refused"):
            whole[count] += part[count]
        whole["next_cursor"] = part["next_cursor"]
    return dict(whole)


def _member(group: dict[str, Any], subscription: dict[str, Any]) -> str:
    return api_path("groups", group["group_id"], "subscriptions", subscription["subscription_id"])


def _print_result(session: Session, record: Any, line: str) -> None:
    if session.as_json:
        session.print_json(record)
    else:
        session.out.print(safe_text(line))
