"""Progress bars on the terminal, for commands that take a while."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn

from headwater.entrypoints.cli.session import Session

T = TypeVar("T")


def with_progress(
    session: Session, items: Iterable[T], doing: str, *columns: ProgressColumn
) -> Iterator[T]:
    """The items themselves; the bar says how many of them are done."""
    with progress_bar(session, *columns) as bar:
        yield from bar.track(items, description=doing)


def progress_bar(session: Session, *columns: ProgressColumn) -> Progress:
    """Nothing is drawn with --json, or where no terminal shows it."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        *columns,
        console=session.err,
        disable=session.as_json or not session.err.is_terminal,
        transient=True,
    )
