"""`headwater add`: follow a feed, or one of the feeds a page links to."""

import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from headwater.entrypoints.cli.exits import ExitCode, Refused, tell
from headwater.entrypoints.cli.options import Json, Yes, here_and_now, session_of
from headwater.entrypoints.cli.render import added_lines, plain
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.terminal import one_line

NOBODY_VISITS = (
    "No service is running: nothing will be visited until you start one with `headwater run`."
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for, whichever URL it turns out to be."""

    title: str | None
    categories: tuple[str, ...]
    later: bool

    def about(self, url: str) -> dict[str, Any]:
        asked: dict[str, Any] = {"url": url, "visit": "later" if self.later else "now"}
        if self.title is not None:
            asked["title"] = self.title
        if self.categories:
            asked["categories"] = list(self.categories)
        return asked


def add(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(help="A feed, or a page that links to its feeds.")],
    yes: Yes = False,
    title: Annotated[str | None, typer.Option(help="A name of your own for it.")] = None,
    category: Annotated[
        list[str] | None, typer.Option("--category", "-c", help="May be given several times.")
    ] = None,
    later: Annotated[
        bool, typer.Option("--later", help="Do not fetch now; a worker visits it soon.")
    ] = False,
    json: Json = False,
) -> None:
    """Follow a feed: fetched now, then as often as it deserves."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        feed = followed(session, api, url, Wish(title, tuple(category or ()), later), yes=yes)
        served = api.is_service
    if json:
        session.print_json(feed)
    else:
        count = None if later else feed["stats"]["new_entries_last_fetch"]
        session.out.print(added_lines(feed, count, here_and_now()))
    if not served:
        session.note(NOBODY_VISITS)


def followed(session: Session, api: Api, url: str, wish: Wish, *, yes: bool) -> dict[str, Any]:
    try:
        feed: dict[str, Any] = api.post("/feeds", wish.about(url))
    except Refused as refusal:
        if refusal.code != "not_a_feed":
            raise
        feed = api.post("/feeds", wish.about(_chosen(session, refusal, yes=yes)))
    return feed


def _chosen(session: Session, refusal: Refused, *, yes: bool) -> str:
    """One of the page's feeds; no choice ends the command."""
    candidates: list[dict[str, Any]] = refusal.facts.get("candidates") or []
    if not candidates:
        tell(refusal, as_json=session.as_json)
        if not session.as_json:
            _show_received(session, refusal.facts.get("received") or {})
        raise typer.Exit(ExitCode.USAGE)
    if yes or (len(candidates) == 1 and not sys.stdin.isatty()):
        return _first(session, candidates)
    if session.as_json or not sys.stdin.isatty():
        tell(refusal, as_json=session.as_json)
        _list_candidates(session, candidates)
        if not session.as_json:
            session.note("Add one of these URLs, or the first of them with --yes.")
        raise typer.Exit(ExitCode.USAGE)
    session.note("This is a page. It links to these feeds:")
    _list_candidates(session, candidates)
    return str(candidates[_number(len(candidates)) - 1]["url"])


def _first(session: Session, candidates: list[dict[str, Any]]) -> str:
    """Told by its address: what is said next, trouble too, is about that one."""
    url = str(candidates[0]["url"])
    if not session.as_json:
        session.note(f"This is a page. It links to {one_line(url, 500)}")
    return url


def _number(most: int) -> int:
    while True:
        number: int = typer.prompt("Which one", default=1, type=int, err=True)
        if 1 <= number <= most:
            return number
        typer.echo(f"A number from 1 to {most}.", err=True)


def _list_candidates(session: Session, candidates: list[dict[str, Any]]) -> None:
    if session.as_json:
        return
    for number, candidate in enumerate(candidates, start=1):
        title = one_line(candidate.get("title") or "untitled", 60)
        session.note(f"  {number}  {title}  {one_line(candidate['url'], 500)}")


def _show_received(session: Session, received: dict[str, Any]) -> None:
    for name, value in received.items():
        session.err.print(f"  {name.replace('_', ' ')}: ", plain(value, 300), sep="", markup=False)
