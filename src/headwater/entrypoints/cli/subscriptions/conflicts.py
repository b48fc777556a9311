"""Conflicts on the command line: subscriptions that wait for the choice of a person."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal

import typer
from rich.table import Table

from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.lookup import api_path, lookup_fetcher
from headwater.entrypoints.cli.render import Record, details_table, safe_text, state_text, table
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.times import local_now, local_time

ConflictArgument = Annotated[int, typer.Argument(metavar="CONFLICT", min=1, help="Its number.")]
Status = Literal["unresolved", "resolved", "all"]

commands = Commands()
conflicts = commands.family("conflicts", help="Several fetchers fit: decide which.")


@conflicts.command("list")
def list_conflicts(
    session: Session,
    status: Annotated[Status, typer.Option("--status", help="Which of them.")] = "unresolved",
) -> None:
    """Conflicts that wait for a choice, or all with how they ended."""
    with session.api() as api:
        conflicts = list(api.pages("/conflicts", "conflicts", status=status))
    session.emit(conflicts, conflicts_table, local_now(), empty="Nothing waits for a decision.")


@conflicts.command()
def show(session: Session, conflict: ConflictArgument) -> None:
    """One conflict with its candidates and what their visits suggest."""
    with session.api() as api:
        record = api.get(api_path("conflicts", conflict))
    session.emit(record, conflict_details, local_now())


@conflicts.command()
def resolve(
    session: Session,
    conflict: ConflictArgument,
    fetcher: Annotated[str, typer.Argument(metavar="FETCHER", help="Its number or its name.")],
    reason: Annotated[str | None, typer.Option("--reason", help="Kept in the history.")] = None,
) -> None:
    """Give the subscription to one of the candidates."""
    with session.api(writes=True) as api:
        chosen = lookup_fetcher(api, fetcher)
        body = {"fetcher_id": chosen["fetcher_id"], "resolution_reason": reason}
        done = api.post(api_path("conflicts", conflict, "resolve"), body)
    name = f"subscription {done['subscription_id']}"
    session.emit_line(done, f"Conflict {conflict}: {name} goes to {chosen['name']}.")


def conflicts_table(conflicts: Iterable[Record], now: datetime) -> Table:
    made = table("id", "source", "candidates", "opened", "state", wide=("source", "candidates"))
    for conflict in conflicts:
        made.add_row(
            str(conflict["conflict_id"]),
            safe_text(conflict["source_url"], 100),
            safe_text(candidates_in_words(conflict)),
            local_time(conflict["created_at"], now),
            state_text(conflict["resolution_status"]),
        )
    return made


def candidates_in_words(conflict: Record) -> str:
    candidates = conflict["candidate_fetchers"]
    names = {candidate["fetcher_id"]: candidate["name"] for candidate in candidates}
    ids = conflict["conflict_data"]["candidate_fetcher_ids"]
    return ", ".join(f"{fetcher_id} {names.get(fetcher_id, '(gone)')}" for fetcher_id in ids)


def conflict_details(conflict: Record, now: datetime) -> Table:
    suggestion, resolution = conflict.get("suggestion"), conflict["resolution_data"] or {}
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
            ("suggestion", safe_text(suggestion["why"] if suggestion else None, 1_000)),
        ]
    )
