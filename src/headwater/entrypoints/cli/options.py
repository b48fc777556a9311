"""Options that several commands share, and those that stand before the command's name."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

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
Window = Annotated[str, typer.Option("--window", help="Days to look at, such as 7d, or all.")]


@dataclass(frozen=True, slots=True)
class GlobalOptions:
    """The options of `headwater` itself."""

    data_dir: Path | None = None
    url: str | None = None
