"""Groups: subscriptions with shared settings, and one wish for all of them."""

from typing import Annotated, Any, Literal

import typer

from headwater.entrypoints.cli.logins import (
    Forget,
    LoginFile,
    give,
    in_words,
    refuse_unless_one,
)
from headwater.entrypoints.cli.meant import group_meant, path, subscription_meant
from headwater.entrypoints.cli.options import Json, Yes, here_and_now, session_of
from headwater.entrypoints.cli.registry_tables import (
    action_lines,
    groups_table,
    subscriptions_table,
)
from headwater.entrypoints.cli.render import plain
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.subscriptions import values_of
from headwater.errors import BadInput
from headwater.schedule.words import counted

groups = typer.Typer(no_args_is_help=True, help="Subscriptions with shared settings.")

Which = Annotated[str, typer.Argument(metavar="GROUP", help="Its number or its name.")]
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
        made = api.post("/groups", {"name": name, **values_of(values or [])})
    _told(session, made, f"Group {made['group_id']}: {made['name']}.")


@groups.command()
def show(ctx: typer.Context, group: Which, json: Json = False) -> None:
    """One group and its members."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        meant = group_meant(api, group)
        members = list(
            api.pages(path("groups", meant["group_id"], "subscriptions"), "subscriptions")
        )
        every = api.get("/fetcher-modules")["fetcher_modules"]
    if json:
        session.print_json({**meant, "subscriptions": members})
        return
    names = {each["fetcher_id"]: each["name"] for each in every}
    session.out.print(groups_table([meant]))
    session.out.print(subscriptions_table(members, names, here_and_now()))


@groups.command("set")
def set_values(ctx: typer.Context, group: Which, values: Values, json: Json = False) -> None:
    """Change what the group shares; all members follow at once."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = group_meant(api, group)
        changed = api.patch(path("groups", meant["group_id"]), values_of(values))
    members = counted(changed["members_changed"], "member", "members")
    _told(session, changed, f"{changed['name']}: {members} changed.")


@groups.command()
def add(ctx: typer.Context, group: Which, subscriptions: Members, json: Json = False) -> None:
    """Put subscriptions into a group, out of any other."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = group_meant(api, group)
        joined = [
            api.put(_member(meant, subscription_meant(api, each)), {}) for each in subscriptions
        ]
    _told(session, joined, f"{meant['name']}: {len(joined)} joined.")


@groups.command()
def drop(ctx: typer.Context, group: Which, subscriptions: Members, json: Json = False) -> None:
    """Take subscriptions out of a group; they are followed as before."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = group_meant(api, group)
        left = [api.delete(_member(meant, subscription_meant(api, each))) for each in subscriptions]
    _told(session, left, f"{meant['name']}: {len(left)} left.")


@groups.command()
def act(
    ctx: typer.Context,
    group: Which,
    action: Annotated[Action, typer.Argument(help="What is to be done with every member.")],
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Pause, resume, refetch or delete (softly) all members, with a report for each."""
    session = session_of(ctx, as_json=json)
    if action == "delete" and not yes:
        raise BadInput("delete unsubscribes every member of the group: say --yes.")
    with session.api(writes=True) as api:
        meant = group_meant(api, group)
        report = _all_parts(api, path("groups", meant["group_id"], "actions"), action)
    if json:
        session.print_json(report)
    else:
        session.out.print(action_lines(report))


@groups.command()
def credentials(
    ctx: typer.Context,
    group: Which,
    file: LoginFile = None,
    forget: Forget = False,
    json: Json = False,
) -> None:
    """Give all members one login, or take it away. It is never shown again."""
    session = session_of(ctx, as_json=json)
    refuse_unless_one(file, forget=forget)
    with session.api(writes=True) as api:
        meant = group_meant(api, group)
        held = give(api, path("groups", meant["group_id"], "credentials"), file)
    _told(session, held, in_words(meant["name"], held))


@groups.command()
def delete(ctx: typer.Context, group: Which, json: Json = False) -> None:
    """Dissolve a group; its subscriptions stay."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = group_meant(api, group)
        gone = api.delete(path("groups", meant["group_id"]))
    _told(session, gone, f"{gone['name']}: dissolved, {gone['subscriptions_kept']} kept.")


def _all_parts(api: Api, where: str, action: str) -> dict[str, Any]:
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
    return path("groups", group["group_id"], "subscriptions", subscription["subscription_id"])


def _told(session: Session, record: Any, line: str) -> None:
    if session.as_json:
        session.print_json(record)
    else:
        session.out.print(plain(line))
