"""Conflicts: which subscriptions wait for a person's choice, and the choice."""

from typing import Annotated, Literal

import typer

from headwater.entrypoints.cli.meant import fetcher_meant, path
from headwater.entrypoints.cli.options import Json, here_and_now, session_of
from headwater.entrypoints.cli.registry_tables import conflict_facts, conflicts_table
from headwater.entrypoints.cli.render import plain

conflicts = typer.Typer(no_args_is_help=True, help="Several fetchers fit: decide which.")

Which = Annotated[int, typer.Argument(metavar="CONFLICT", min=1, help="Its number.")]
Status = Literal["unresolved", "resolved", "all"]


@conflicts.command("list")
def list_conflicts(
    ctx: typer.Context,
    status: Annotated[Status, typer.Option("--status", help="Which of them.")] = "unresolved",
    json: Json = False,
) -> None:
    """Conflicts that wait for a choice, or all with how they ended."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = list(api.pages("/conflicts", "conflicts", status=status))
    if json:
        session.print_json(found)
    elif found:
        session.out.print(conflicts_table(found, here_and_now()))
    else:
        session.out.print("Nothing waits for a decision.", markup=False)


@conflicts.command()
def show(ctx: typer.Context, conflict: Which, json: Json = False) -> None:
    """One conflict with its candidates and what their visits suggest."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = api.get(path("conflicts", conflict))
    if json:
        session.print_json(found)
    else:
        session.out.print(conflict_facts(found, here_and_now()))


@conflicts.command()
def resolve(
    ctx: typer.Context,
    conflict: Which,
    fetcher: Annotated[str, typer.Argument(metavar="FETCHER", help="Its number or its name.")],
    reason: Annotated[str | None, typer.Option("--reason", help="Kept in the history.")] = None,
    json: Json = False,
) -> None:
    """Give the subscription to one of the candidates."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        chosen = fetcher_meant(api, fetcher)
        body = {"fetcher_id": chosen["fetcher_id"], "resolution_reason": reason}
        done = api.post(path("conflicts", conflict, "resolve"), body)
    if json:
        session.print_json(done)
    else:
        session.out.print(
            plain(
                f"Conflict {conflict}: subscription {done['subscription_id']}"
                f" goes to {chosen['name']}."
            )
        )
