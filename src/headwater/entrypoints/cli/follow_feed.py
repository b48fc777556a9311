"""Follow a feed by its URL, or by a page that links to it."""

import sys
from dataclasses import dataclass

import typer

from headwater.entrypoints.cli.errors import ApiError, ExitCode, print_error
from headwater.entrypoints.cli.render import Record, safe_text
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.terminal import one_line


@dataclass(frozen=True, slots=True)
class NewFeedOptions:
    """The options of a new feed. Its URL may come from a page later."""

    title: str | None
    categories: tuple[str, ...]
    later: bool

    def body_for(self, url: str) -> Record:
        body: Record = {"url": url, "visit": "later" if self.later else "now"}
        if self.title is not None:
            body["title"] = self.title
        if self.categories:
            body["categories"] = list(self.categories)
        return body


def follow_feed(
    session: Session, api: Api, url: str, options: NewFeedOptions, *, yes: bool
) -> Record:
    try:
        feed: Record = api.post("/feeds", options.body_for(url))
    except ApiError as refusal:
        if refusal.code != "not_a_feed":
            raise
        feed = api.post("/feeds", options.body_for(_choose_candidate(session, refusal, yes=yes)))
    return feed


def _choose_candidate(session: Session, refusal: ApiError, *, yes: bool) -> str:
    """Choose one of the feeds that the page links to; without a choice the command ends."""
    candidates: list[Record] = refusal.facts.get("candidates") or []
    if not candidates:
        print_error(refusal, as_json=session.as_json)
        _show_received(session, refusal.facts.get("received") or {})
        raise typer.Exit(ExitCode.USAGE)
    if yes or (len(candidates) == 1 and not sys.stdin.isatty()):
        # Later messages, also errors, are about this URL.
        url = str(candidates[0]["url"])
        session.note(f"This is a page. It links to {one_line(url, 500)}")
        return url
    if session.as_json or not sys.stdin.isatty():
        print_error(refusal, as_json=session.as_json)
        _list_candidates(session, candidates)
        session.note("Add one of these URLs, or the first of them with --yes.")
        raise typer.Exit(ExitCode.USAGE)
    session.note("This is a page. It links to these feeds:")
    _list_candidates(session, candidates)
    return str(candidates[_ask_for_number(len(candidates)) - 1]["url"])


def _ask_for_number(most: int) -> int:
    while True:
        number: int = typer.prompt("Which one", default=1, type=int, err=True)
        if 1 <= number <= most:
            return number
        typer.echo(f"A number from 1 to {most}.", err=True)


def _list_candidates(session: Session, candidates: list[Record]) -> None:
    for number, candidate in enumerate(candidates, start=1):
        title = one_line(candidate.get("title") or "untitled", 60)
        session.note(f"  {number}  {title}  {one_line(candidate['url'], 500)}")


def _show_received(session: Session, received: Record) -> None:
    if session.as_json:
        return
    for name, value in received.items():
        session.err.print(
            f"  {name.replace('_', ' ')}: ", safe_text(value, 300), sep="", markup=False
        )
