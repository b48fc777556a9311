"""`headwater track`: which shows are collected, from which feeds, and by which wishes."""

import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from headwater.anime.shows.slot import comparable_title
from headwater.anime.torrents.torrent_sites import feed_url_of_page
from headwater.core.errors import BadInput
from headwater.entrypoints.cli.anime import preview
from headwater.entrypoints.cli.anime.tracking_options import (
    show_body,
    tracking_body,
    with_all_options,
)
from headwater.entrypoints.cli.anime.tracking_tables import (
    proposal_details,
    show_name,
    tracking_details,
    trackings_table,
)
from headwater.entrypoints.cli.errors import ApiError
from headwater.entrypoints.cli.feeds import NO_SERVICE_NOTE, NewFeedOptions, follow_feed
from headwater.entrypoints.cli.lookup import api_path, lookup_feed, lookup_tracking
from headwater.entrypoints.cli.options import Json, Yes, local_now, session_of
from headwater.entrypoints.cli.render import Record, safe_text, table
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.terminal import one_line
from headwater.feeds.schedule.durations import format_count


def track_all(session: Session, api: Api, body: Record, *, yes: bool) -> None:
    """Those that are not tracked yet: the same again finds what is new in the feed."""
    feed = body["feed_id"]
    proposal = api.get("/trackings/proposal", feed=feed)
    proposed = proposal["shows"] or [proposal["show"]]
    if proposed == [None]:
        raise BadInput("The feed has no releases that name a show.")
    there = [each["show"] for each in api.pages("/trackings", "trackings", feed=feed)]
    new = [show for show in proposed if not _is_tracked(show, there)]
    _ask(session, new, yes=yes)
    made: list[Record] = []
    for show in new:
        try:
            made.append(api.post("/trackings", {**body, "show": show}))
        except ApiError as refusal:  # of one show; the others are none the worse for it
            session.note(f"{show_name(show)}: {refusal}")
    if session.as_json:
        session.print_json(made)
        return
    if made:
        session.out.print(_shows_table(made))
    known = len(proposed) - len(new)
    session.note(f"{format_count(len(made), 'show', 'shows')} added, {known} tracked before.")


def _is_tracked(show: Record, there: Iterable[Record]) -> bool:
    """By its names: which of them is the most usual may change from week to week."""
    names = {comparable_title(name) for name in (show["title"], *show["titles"])}
    return any(
        each["season"] == show["season"]
        and names & {comparable_title(name) for name in (each["title"], *each["titles"])}
        for each in there
    )


def _ask(session: Session, new: list[Record], *, yes: bool) -> None:
    if not new or yes or session.as_json or not sys.stdin.isatty():
        return
    for show in new:
        session.err.print(safe_text(show_name(show)))
    typer.confirm(
        f"Collect {format_count(len(new), 'show', 'shows')}?", default=True, abort=True, err=True
    )


def _shows_table(made: Iterable[Record]) -> Any:
    shown = table("id", "show", "called", wide=("called",))
    for each in made:
        show = each["show"]
        shown.add_row(
            str(each["id"]), safe_text(show_name(show)), safe_text(", ".join(show["titles"]), 300)
        )
    return shown


track = typer.Typer(no_args_is_help=True, help="Shows that are collected from feeds of releases.")
TrackingArgument = Annotated[
    str, typer.Argument(metavar="TRACKING", help="Its number, or the title of its show.")
]


@track.command()
@with_all_options
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
    body: dict[str, Any] = {"back_catalogue": back_catalogue, **tracking_body(said)}
    if each and (show is not None or show_body(said)):
        raise BadInput("With --each nothing can be said of one show; `track set` does so later.")
    with session.api(writes=True) as api:
        body["feed_id"] = _feed(session, api, feed, yes=yes)["id"]
        if each:
            track_all(session, api, body, yes=yes)
            return
        if show is None:
            body["show"] = _confirm_show(session, api, body["feed_id"], show_body(said), yes=yes)
        else:
            body["show_id"] = show
        made = api.post("/trackings", body)
        served = api.is_service
    _tell_made(session, made)
    if not served:
        session.note(NO_SERVICE_NOTE)


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
    soonest = sorted(found, key=lambda each: _sort_key(each, expected))
    session.out.print(trackings_table(soonest, expected, local_now()))


@track.command()
def show(ctx: typer.Context, tracking: TrackingArgument, json: Json = False) -> None:
    """One tracking: its show, its wishes, and how often each rule decided."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = lookup_tracking(api, tracking)
    if json:
        session.print_json(found)
    else:
        session.out.print(tracking_details(found, local_now()))


@track.command("set")
@with_all_options
def set_values(
    ctx: typer.Context,
    tracking: TrackingArgument,
    enabled: Annotated[
        bool | None, typer.Option("--enable/--disable", help="Collect again, or pause.")
    ] = None,
    json: Json = False,
    *,
    said: dict[str, Any],
) -> None:
    """Change a tracking or its show; none empties. What was decided stays decided."""
    session = session_of(ctx, as_json=json)
    wishes, of_show = tracking_body(said), show_body(said)
    if enabled is not None:
        wishes["enabled"] = enabled
    if not wishes and not of_show:
        raise BadInput("Say what is to change; `headwater track set --help` lists it.")
    with session.api(writes=True) as api:
        found = lookup_tracking(api, tracking)
        if of_show:
            api.patch(api_path("shows", found["show"]["id"]), of_show)
        where = api_path("trackings", found["id"])
        changed = api.patch(where, wishes) if wishes else api.get(where)
    if json:
        session.print_json(changed)
        return
    session.out.print(tracking_details(changed, local_now()))
    session.note(
        "What was decided before stays so."
        f" To decide it again: `headwater releases decide --tracking {changed['id']}`."
    )
    if {"title", "year", "season"} & of_show.keys() or "save_path" in wishes:
        session.note("Files that are in the library already keep their names.")


@track.command()
def remove(
    ctx: typer.Context,
    tracking: TrackingArgument,
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
        found = lookup_tracking(api, tracking)
        gone = api.delete(api_path("trackings", found["id"]), hard="true" if hard else "false")
    if json:
        session.print_json(gone)
    else:
        session.out.print(
            safe_text(f"{show_name(found['show'])}: collected no more. Its files stay.")
        )


for _command in (
    preview.preview,
    preview.backfill,
    preview.missing,
    preview.calendar,
):
    track.command()(_command)


def _feed(session: Session, api: Api, text: str, *, yes: bool) -> dict[str, Any]:
    """One that is followed, or a new one: then its first visit is made here."""
    if "://" not in text:
        return lookup_feed(api, text)
    url = feed_url_of_page(text)
    for there in api.get("/feeds", url=url)["feeds"]:
        return dict(there)
    try:
        return follow_feed(session, api, url, NewFeedOptions(None, (), later=False), yes=yes)
    except ApiError as refusal:
        if refusal.code != "duplicate_url":
            raise
        return dict(api.get(api_path("feeds", refusal.facts["feed_id"])))


def _confirm_show(
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
        session.err.print(proposal_details(proposal, wished))
        typer.confirm("Collect this?", default=True, abort=True, err=True)
    return wished


def _tell_made(session: Session, made: dict[str, Any]) -> None:
    if session.as_json:
        session.print_json(made)
        return
    session.out.print(tracking_details(made, local_now()))
    if earlier := made["earlier_releases"]:
        count = format_count(earlier, "earlier release is", "earlier releases are")
        session.note(
            f"{count} left alone. To take what is missing: `headwater track backfill {made['id']}`."
        )
    session.note(f"What would be done and why: `headwater track preview {made['id']}`.")


def _sort_key(each: dict[str, Any], expected: dict[int, dict[str, Any]]) -> tuple[Any, ...]:
    airing = expected.get(each["show"]["id"])
    return (not each["enabled"], airing is None, airing["day"] if airing else "", each["id"])
