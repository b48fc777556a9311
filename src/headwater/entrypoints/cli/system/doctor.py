"""`headwater doctor`: run all checks, and show their results with advice."""

from collections.abc import Iterable

import typer
from rich.table import Table

from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.errors import ExitCode
from headwater.entrypoints.cli.render import safe_text, state_text, table
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.system.check import Check
from headwater.entrypoints.lazy_import import lazy_import

commands = Commands()


@commands.command()
def doctor(session: Session) -> None:
    """Check database, disk, clock and workers, and say what to do."""
    # The checks load the web client and the database.
    all_checks = lazy_import("headwater.entrypoints.cli.system.checks:all_checks")
    checks: list[Check] = list(all_checks(session))
    session.emit(checks, checks_table)
    if any(check.state == "error" for check in checks):
        raise typer.Exit(ExitCode.PROBLEMS)


def checks_table(checks: Iterable[Check]) -> Table:
    made = table("", "what", "seen", "what to do", wide=("seen", "what to do"))
    for check in checks:
        made.add_row(state_text(check.state), check.name, safe_text(check.saw), check.todo)
    return made
