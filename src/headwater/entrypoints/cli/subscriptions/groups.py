"""Groups on the command line: subscriptions with shared settings, and actions on all of them."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import typer
from rich.console import Group, RenderableType
from rich.table import Table

from headwater.core.errors import BadInput
from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.lookup import api_path, lookup_group, lookup_subscription
from headwater.entrypoints.cli.options import Yes
from headwater.entrypoints.cli.render import Record, safe_text, table
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.subscriptions.credentials import (
    CredentialsFile,
    Forget,
    check_file_or_forget,
    credentials_in_words,
    put_credentials,
)
from headwater.entrypoints.cli.subscriptions.subscription_tables import subscriptions_table
from headwater.entrypoints.cli.subscriptions.subscriptions import fetcher_names, parse_values
from headwater.entrypoints.cli.times import local_now
from headwater.feeds.schedule.durations import format_count, format_duration

GroupArgument = Annotated[str, typer.Argument(metavar="GROUP", help="Its number or its name.")]
Members = Annotated[
    list[str],
    typer.Argument(metavar="SUBSCRIPTION...", help="Numbers, URLs, or parts of names."),
]
Action = Literal["pause", "resume", "refetch", "delete"]

commands = Commands()
groups = commands.family("groups", help="Subscriptions with shared settings.")


@groups.command("list")
def list_groups(session: Session) -> None:
    """All groups and what they share."""
    with session.api() as api:
        groups = list(api.pages("/groups", "groups"))
    session.emit(groups, groups_table, empty="No groups. Make one: `headwater groups create NAME`.")


@groups.command()
def create(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the group.")],
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE...",
            help="fetch_interval_minutes, priority, categories, config, description.",
        ),
    ] = None,
) -> None:
    """Make a group. Its settings count for every member that has none of its own."""
    with session.api(writes=True) as api:
        group = api.post("/groups", {"name": name, **parse_values(values or [])})
    session.emit_line(group, f"Group {group['group_id']}: {group['name']}.")


@groups.command()
def show(session: Session, group: GroupArgument) -> None:
    """One group and its members."""
    with session.api() as api:
        record = lookup_group(api, group)
        path = api_path("groups", record["group_id"], "subscriptions")
        members = list(api.pages(path, "subscriptions"))
        names = fetcher_names(api)
    session.emit({**record, "subscriptions": members}, group_and_members, names)


@groups.command("set")
def set_values(
    session: Session,
    group: GroupArgument,
    values: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY=VALUE...",
            help="fetch_interval_minutes, priority, categories, config, name, description.",
        ),
    ],
) -> None:
    """Change what the group shares; all members follow at once."""
    with session.api(writes=True) as api:
        record = lookup_group(api, group)
        changed = api.patch(api_path("groups", record["group_id"]), parse_values(values))
    members = format_count(changed["members_changed"], "member", "members")
    session.emit_line(changed, f"{changed['name']}: {members} changed.")


@groups.command()
def add(session: Session, group: GroupArgument, subscriptions: Members) -> None:
    """Put subscriptions into a group, out of any other."""
    with session.api(writes=True) as api:
        record = lookup_group(api, group)
        joined = [
            api.put(_member_path(record, lookup_subscription(api, name)), {})
            for name in subscriptions
        ]
    session.emit_line(joined, f"{record['name']}: {len(joined)} joined.")


@groups.command()
def drop(session: Session, group: GroupArgument, subscriptions: Members) -> None:
    """Take subscriptions out of a group; they are followed as before."""
    with session.api(writes=True) as api:
        record = lookup_group(api, group)
        left = [
            api.delete(_member_path(record, lookup_subscription(api, name)))
            for name in subscriptions
        ]
    session.emit_line(left, f"{record['name']}: {len(left)} left.")


@groups.command()
def act(
    session: Session,
    group: GroupArgument,
    action: Annotated[Action, typer.Argument(help="The action on every member.")],
    yes: Yes = False,
) -> None:
    """Pause, resume, refetch or delete (softly) all members, with a report for each."""
    if action == "delete" and not yes:
        raise BadInput("delete unsubscribes every member of the group: say --yes.")
    with session.api(writes=True) as api:
        record = lookup_group(api, group)
        report = _act_in_parts(api, api_path("groups", record["group_id"], "actions"), action)
    session.emit(report, action_table)


@groups.command()
def credentials(
    session: Session, group: GroupArgument, file: CredentialsFile = None, forget: Forget = False
) -> None:
    """Give all members one login, or take it away. It is never shown again."""
    check_file_or_forget(file, forget=forget)
    with session.api(writes=True) as api:
        record = lookup_group(api, group)
        held = put_credentials(api, api_path("groups", record["group_id"], "credentials"), file)
    session.emit_line(held, credentials_in_words(record["name"], held))


@groups.command()
def delete(session: Session, group: GroupArgument) -> None:
    """Dissolve a group; its subscriptions stay."""
    with session.api(writes=True) as api:
        record = lookup_group(api, group)
        gone = api.delete(api_path("groups", record["group_id"]))
    session.emit_line(gone, f"{gone['name']}: dissolved, {gone['subscriptions_kept']} kept.")


def _act_in_parts(api: Api, path: str, action: str) -> dict[str, Any]:
    """Act on large groups in parts. The report covers all of them."""
    report = api.post(path, {"action": action})
    while (cursor := report["next_cursor"]) is not None:
        part = api.post(path, {"action": action, "cursor": cursor})
        report["results"] += part["results"]
        for count in ("done", "refused"):
            report[count] += part[count]
        report["next_cursor"] = part["next_cursor"]
    return dict(report)


def _member_path(group: Record, subscription: Record) -> str:
    return api_path("groups", group["group_id"], "subscriptions", subscription["subscription_id"])


def groups_table(groups: Iterable[Record]) -> Table:
    made = table("id", "name", "members", "every", "priority", "categories", wide=("name",))
    for group in groups:
        minutes, priority = group["fetch_interval_minutes"], group["priority"]
        made.add_row(
            str(group["group_id"]),
            safe_text(group["name"]),
            str(group["members"]),
            "–" if minutes is None else format_duration(minutes * 60),
            "–" if priority is None else str(priority),
            safe_text(", ".join(group["categories"] or [])),
        )
    return made


def group_and_members(group: Record, fetchers: dict[int, str]) -> RenderableType:
    members = subscriptions_table(group["subscriptions"], fetchers, local_now())
    return Group(groups_table([group]), members)


def action_table(report: Record) -> Table:
    made = table("id", "source", "what became of it", wide=("source", "what became of it"))
    for result in report["results"]:
        made.add_row(
            str(result["subscription_id"]),
            safe_text(result["source_url"], 100),
            safe_text("done" if result["done"] else result["message"]),
        )
    made.caption = f"{report['done']} done, {report['refused']} refused"
    return made
