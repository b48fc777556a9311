"""`headwater track`: which shows are collected, from which feeds, and by which wishes."""

import sys
from typing import Annotated, Any

import typer

from headwater.collect.pages import feed_behind
from headwater.entrypoints.cli import track_views
from headwater.entrypoints.cli.adding import NOBODY_VISITS, Wish, followed
from headwater.entrypoints.cli.exits import Refused
from headwater.entrypoints.cli.find import feed_meant
from headwater.entrypoints.cli.meant import path
from headwater.entrypoints.cli.options import Json, Yes, here_and_now, session_of
from headwater.entrypoints.cli.render import plain
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.terminal import one_line
from headwater.entrypoints.cli.track_each import track_all
from headwater.entrypoints.cli.track_said import (
    of_both,
    show_said,
    tracking_meant,
    tracking_said,
)
from headwater.entrypoints.cli.track_tables import (
    named,
    proposal_facts,
    tracking_facts,
    trackings_table,
)
from headwater.errors import BadInput
from headwater.schedule.words import counted

track = typer.Typer(no_args_is_help=True, help="Shows that are collected from feeds of releases.")

Which = Annotated[
    str, typer.Argument(metavar="TRACKING", help="Its number, or the title of its show.")
]


@track.command()
@of_both
def add(
    ctx: typer.Context,
    feed: Annotated[
        str,
        typer.Argument(metavar="URL|FEED", help="A feed of releases, or a feed that is followed."),
    ],
    show: Annotated[
        int | None, typer.Option("--show", min=1, help="A show that is there, by its number.")
    ] = None,
    back_catalogue: Annotated[
        bool, typer.Option("--back-catalogue", help="Collect what came out before, too.")
    ] = False,
    each: Annotated[
        bool, typer.Option("--each", help="Every show of a feed that is of several.")
    ] = False,
    yes: Yes = False,
    json: Json = False,
    *,
    said: dict[str, Any],
) -> None:
    """Collect a show from a feed. What you do not say is proposed from its releases."""
    session = session_of(ctx, as_json=json)
    body: dict[str, Any] = {"back_catalogue": back_catalogue, **tracking_said(said)}
    if each and (show is not None or show_said(said)):
        raise BadInput("With --each nothing can be said of one show; `track set` does so later.")
    with session.api(writes=True) as api:
        body["feed_id"] = _feed(session, api, feed, yes=yes)["id"]
        if each:
            track_all(session, api, body, yes=yes)
            return
        if show is None:
            body["show"] = _wished(session, api, body["feed_id"], show_said(said), yes=yes)
        else:
            body["show_id"] = show
        made = api.post("/trackings", body)
        served = api.is_service
    _tell_made(session, made)
    if not served:
        session.note(NOBODY_VISITS)


@track.command("list")
def list_trackings(ctx: typer.Context, json: Json = False) -> None:
    """What is collected; what is expected next comes first."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = list(api.pages("/trackings", "trackings"))
        airings = api.get("/trackings/calendar", back=0)["episodes"] if found else []
    if json:
        session.print_json(found)
        return
    if not found:
        session.out.print("Nothing is tracked. Begin: `headwater track add URL`.", markup=False)
        return
    expected: dict[int, dict[str, Any]] = {}
    for each in airings:
        if each["state"] != "came":
            expected.setdefault(each["show_id"], each)
    soonest = sorted(found, key=lambda each: _place(each, expected))
    session.out.print(trackings_table(soonest, expected, here_and_now()))


@track.command()
def show(ctx: typer.Context, tracking: Which, json: Json = False) -> None:
    """One tracking: its show, its wishes, and how often each rule decided."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = tracking_meant(api, tracking)
    if json:
        session.print_json(found)
    else:
        session.out.print(tracking_facts(found, here_and_now()))


@track.command("set")
@of_both
def set_values(
    ctx: typer.Context,
    tracking: Which,
    enabled: Annotated[
        bool | None, typer.Option("--enable/--disable", help="Collect again, or pause.")
    ] = None,
    json: Json = False,
    *,
    said: dict[str, Any],
) -> None:
    """Change a tracking or its show; none empties. What was decided stays decided."""
    session = session_of(ctx, as_json=json)
    wishes, of_show = tracking_said(said), show_said(said)
    if enabled is not None:
        wishes["enabled"] = enabled
    if not wishes and not of_show:
        raise BadInput("Say what is to change; `headwater track set --help` lists it.")
    with session.api(writes=True) as api:
        found = tracking_meant(api, tracking)
        if of_show:
            api.patch(path("shows", found["show"]["id"]), of_show)
        where = path("trackings", found["id"])
        changed = api.patch(where, wishes) if wishes else api.get(where)
    if json:
        session.print_json(changed)
        return
    session.out.print(tracking_facts(changed, here_and_now()))
    session.note(
        "What was decided before stays so."
        f" To decide it again: `headwater releases decide --tracking {changed['id']}`."
    )
    if {"title", "year", "season"} & of_show.keys() or "save_path" in wishes:
        session.note("Files that are in the library already keep their names.")


@track.command()
def remove(
    ctx: typer.Context,
    tracking: Which,
    hard: Annotated[
        bool, typer.Option("--hard", help="Forget what it decided and downloaded, too.")
    ] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Collect this no more. Files, torrents and the feed stay."""
    session = session_of(ctx, as_json=json)
    if hard and not yes:
        if not sys.stdin.isatty():
            raise BadInput("Forgetting a tracking needs --yes when nobody can be asked.")
        typer.confirm(f"Forget all that is known of {tracking}?", abort=True, err=True)
    with session.api(writes=True) as api:
        found = tracking_meant(api, tracking)
        gone = api.delete(path("trackings", found["id"]), hard="true" if hard else "false")
    if json:
        session.print_json(gone)
    else:
        session.out.print(plain(f"{named(found['show'])}: collected no more. Its files stay."))


for _command in (
    track_views.preview,
    track_views.backfill,
    track_views.missing,
    track_views.calendar,
):
    track.command()(_command)


def _feed(session: Session, api: Api, text: str, *, yes: bool) -> dict[str, Any]:
    """One that is followed, or a new one: then its first visit is made here."""
    if "://" not in text:
        return feed_meant(api, text)
    url = feed_behind(text)
    for there in api.get("/feeds", url=url)["feeds"]:
        return dict(there)
    try:
        return followed(session, api, url, Wish(None, (), later=False), yes=yes)
    except Refused as refusal:
        if refusal.code != "duplicate_url":
            raise
        return dict(api.get(path("feeds", refusal.facts["feed_id"])))


def _wished(
    session: Session, api: Api, feed_id: str, said: dict[str, Any], *, yes: bool
) -> dict[str, Any]:
    """What is proposed with what was said on top; somebody who is there is asked."""
    proposal = api.get("/trackings/proposal", feed=feed_id, title=said.get("title"))
    if proposal["show"] is None:
        titles = ", ".join(one_line(each["name"], 60) for each in proposal["titles"])
        found = f" It has: {titles}." if titles else ""
        raise BadInput(
            f"The feed does not say which show it is of: give its --title, or --each.{found}",
            titles=[each["name"] for each in proposal["titles"]],
        )
    wished = {**proposal["show"], **said}
    if "title" in said and not proposal["of_show"] and proposal["releases"]:
        session.note(
            f"No release that the feed lists now is called {one_line(said['title'], 60)}. It lists:"
            f" {', '.join(one_line(each['name'], 60) for each in proposal['titles'])}."
        )
    if sys.stdin.isatty() and not (yes or session.as_json):
        session.err.print(proposal_facts(proposal, wished))
        typer.confirm("Collect this?", default=True, abort=True, err=True)
    return wished


def _tell_made(session: Session, made: dict[str, Any]) -> None:
    if session.as_json:
        session.print_json(made)
        return
    session.out.print(tracking_facts(made, here_and_now()))
    if earlier := made["earlier_releases"]:
        count = counted(earlier, "earlier release is", "earlier releases are")
        session.note(
            f"{count} left alone. To take what is missing: `headwater track backfill {made['id']}`."
        )
    session.note(f"What would be done and why: `headwater track preview {made['id']}`.")


def _place(each: dict[str, Any], expected: dict[int, dict[str, Any]]) -> tuple[Any, ...]:
    airing = expected.get(each["show"]["id"])
    return (not each["enabled"], airing is None, airing["day"] if airing else "", each["id"])
