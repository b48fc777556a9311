"""Conflicts: which subscriptions wait for a person's choice, and the choice."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from headwater.entrypoints.cli.lookup import api_path, lookup_fetcher
from headwater.entrypoints.cli.options import Json, local_now, session_of
from headwater.entrypoints.cli.render import Record, details_table, safe_text, state_text, table
from headwater.entrypoints.cli.times import local_time


def conflicts_table(conflicts: Iterable[Record], now: datetime) -> Table:
    made = table("id", "source", "candidates", "opened", "state", wide=("source", "candidates"))
    for each in conflicts:
        made.add_row(
            str(each["conflict_id"]),
            safe_text(each["source_url"], 100),
            safe_text(candidates_in_words(each)),
            local_time(each["created_at"], now),
            state_text(each["resolution_status"]),
        )
    return made


def candidates_in_words(conflict: Record) -> str:
    named = {each["fetcher_id"]: each["name"] for each in conflict["candidate_fetchers"]}
    ids = conflict["conflict_data"]["candidate_fetcher_ids"]
    return ", ".join(f"{each} {named.get(each, '(gone)')}" for each in ids)


def conflict_details(conflict: Record, now: datetime) -> Table:
    advice, resolution = conflict.get("suggestion"), conflict["resolution_data"] or {}
    chosen = resolution.get("resolved_fetcher_id")
    return details_table(
        [
            ("conflict", str(conflict["conflict_id"])),
            ("subscription", str(conflict["subscription_id"])),
            ("source", safe_text(conflict["source_url"], 2_000)),
            ("candidates", safe_text(candidates_in_words(conflict))),
            ("why", safe_text(conflict["conflict_data"]["conflict_reason"])),
            ("opened", local_time(conflict["created_at"], now)),
            ("state", state_text(conflict["resolution_status"])),
            ("resolved", local_time(conflict["resolved_at"], now)),
            ("chosen", safe_text(chosen)),
            ("suggestion", _advice(advice)),
        ]
    )


def _advice(advice: Record | None) -> Text:
    return safe_text(None if advice is None else advice["why"], 1_000)


conflicts = typer.Typer(no_args_is_help=True, help="Several fetchers fit: decide which.")
ConflictArgument = Annotated[int, typer.Argument(metavar="CONFLICT", min=1, help="Its number.")]
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
        session.out.print(conflicts_table(found, local_now()))
    else:
        session.out.print("Nothing waits for a decision.", markup=False)


@conflicts.command()
def show(ctx: typer.Context, conflict: ConflictArgument, json: Json = False) -> None:
    """One conflict with its candidates and what their visits suggest."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = api.get(api_path("conflicts", conflict))
    if json:
        session.print_json(found)
    else:
        session.out.print(conflict_details(found, local_now()))


@conflicts.command()
def resolve(
    ctx: typer.Context,
    conflict: ConflictArgument,
    fetcher: Annotated[str, typer.Argument(metavar="FETCHER", help="Its number or its name.")],
    reason: Annotated[str | None, typer.Option("--reason", help="Kept in the history.")] = None,
    json: Json = False,
) -> None:
    """Give the subscription to one of the candidates."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        chosen = lookup_fetcher(api, fetcher)
        body = {"fetcher_id": chosen["fetcher_id"], "resolution_reason": reason}
        done = api.post(api_path("conflicts", conflict, "resolve"), body)
    if json:
        session.print_json(done)
    else:
        session.out.print(
            safe_text(
                f"Conflict {conflict}: subscription {done['subscription_id']}"
                f" goes to {chosen['name']}."
            )
        )
