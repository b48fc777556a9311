"""Progress bars on the terminal, for commands that take a while."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn

from headwater.entrypoints.cli.session import Session

T = TypeVar("T")


def with_progress(
    session: Session, items: Iterable[T], doing: str, *columns: ProgressColumn
) -> Iterator[T]:
    """Yield the items, while a bar shows how many are done."""
    with progress_bar(session, *columns) as bar:
        yield from bar.track(items, description=doing)


def progress_bar(session: Session, *columns: ProgressColumn) -> Progress:
    """Make a progress bar. It is not drawn with --json or without a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        *columns,
        console=session.err,
        disable=session.as_json or not session.err.is_terminal,
        transient=True,
    )
