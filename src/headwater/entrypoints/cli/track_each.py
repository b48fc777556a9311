"""`headwater track add --each`: every show of a feed of several, each with a tracking."""

import sys
from collections.abc import Iterable
from typing import Any

import typer

from headwater.collect.slot import title_letters
from headwater.entrypoints.cli.exits import Refused
from headwater.entrypoints.cli.render import plain, table
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.track_tables import named
from headwater.errors import BadInput
from headwater.schedule.words import counted

Record = dict[str, Any]


def track_all(session: Session, api: Api, body: Record, *, yes: bool) -> None:
    """Those that are not tracked yet: the same again finds what is new in the feed."""
    feed = body["feed_id"]
    proposal = api.get("/trackings/proposal", feed=feed)
    proposed = proposal["shows"] or [proposal["show"]]
    if proposed == [None]:
        raise BadInput("The feed has no releases that name a show.")
    there = [each["show"] for each in api.pages("/trackings", "trackings", feed=feed)]
    new = [show for show in proposed if not _is_among(show, there)]
    _ask(session, new, yes=yes)
    made: list[Record] = []
    for show in new:
        try:
            made.append(api.post("/trackings", {**body, "show": show}))
        except Refused as refusal:  # of one show; the others are none the worse for it
            session.note(f"{named(show)}: {refusal}")
    if session.as_json:
        session.print_json(made)
        return
    if made:
        session.out.print(_shows_table(made))
    known = len(proposed) - len(new)
    session.note(f"{counted(len(made), 'show', 'shows')} added, {known} tracked before.")


def _is_among(show: Record, there: Iterable[Record]) -> bool:
    """By its names: which of them is the most usual may change from week to week."""
    names = {title_letters(name) for name in (show["title"], *show["titles"])}
    return any(
        each["season"] == show["season"]
        and names & {title_letters(name) for name in (each["title"], *each["titles"])}
        for each in there
    )


def _ask(session: Session, new: list[Record], *, yes: bool) -> None:
    if not new or yes or session.as_json or not sys.stdin.isatty():
        return
    for show in new:
        session.err.print(plain(named(show)))
    typer.confirm(
        f"Collect {counted(len(new), 'show', 'shows')}?", default=True, abort=True, err=True
    )


def _shows_table(made: Iterable[Record]) -> Any:
    shown = table("id", "show", "called", wide=("called",))
    for each in made:
        show = each["show"]
        shown.add_row(str(each["id"]), plain(named(show)), plain(", ".join(show["titles"]), 300))
    return shown
