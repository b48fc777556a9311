"""Options that several commands share, and the session they run in."""

from datetime import datetime
from typing import Annotated

import typer

from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.times import LocalZone

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; take the first or go on.")]
FeedName = Annotated[
    str,
    typer.Argument(
        metavar="FEED",
        help="An id, the beginning of one, a URL, or part of a title.",
        show_default=False,
    ),
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="How many at most.")]


def session_of(ctx: typer.Context, *, as_json: bool = False) -> Session:
    """This run's session, told how the command wants to print."""
    session: Session = ctx.find_object(Session) or Session()
    session.as_json = as_json
    session.command = f"headwater {ctx.info_name}"
    return session


def local_now() -> datetime:
    """Now, in the reader's own time zone."""
    return datetime.now(LocalZone())
