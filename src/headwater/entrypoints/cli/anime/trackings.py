"""`headwater track`: trackings, which collect shows from feeds of releases."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from headwater.anime.shows.slot import comparable_title
from headwater.anime.torrents.torrent_sites import feed_url_of_page
from headwater.core.errors import BadInput
from headwater.entrypoints.cli.anime import preview
from headwater.entrypoints.cli.anime.tracking_options import (
    TrackingArgument,
    show_body,
    tracking_body,
    with_all_options,
)
from headwater.entrypoints.cli.anime.tracking_tables import (
    proposal_details,
    show_name,
    shows_table,
    tracking_details,
    trackings_table,
)
from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.errors import ApiError
from headwater.entrypoints.cli.follow_feed import NewFeedOptions, follow_feed
from headwater.entrypoints.cli.lookup import api_path, lookup_feed, lookup_tracking
from headwater.entrypoints.cli.options import Yes
from headwater.entrypoints.cli.render import Record, safe_text
from headwater.entrypoints.cli.session import NO_SERVICE_NOTE, Api, Session
from headwater.entrypoints.cli.terminal import one_line
from headwater.entrypoints.cli.times import local_now
from headwater.feeds.schedule.durations import format_count

commands = Commands()
track = commands.family("track", help="Shows that are collected from feeds of releases.")


@track.command()
@with_all_options
def add(
    session: Session,
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
    *,
    options: Record,
) -> None:
    """Collect a show from a feed. What you do not say is proposed from its releases."""
    body: dict[str, Any] = {"back_catalogue": back_catalogue, **tracking_body(options)}
    of_show = show_body(options)
    if each and (show is not None or of_show):
        raise BadInput("With --each nothing can be said of one show; `track set` does so later.")
    with session.api(writes=True) as api:
        body["feed_id"] = _follow_or_lookup(session, api, feed, yes=yes)["id"]
        if each:
            _track_all(session, api, body, yes=yes)
            return
        if show is None:
            body["show"] = _confirm_show(session, api, body["feed_id"], of_show, yes=yes)
        else:
            body["show_id"] = show
        tracking = api.post("/trackings", body)
        served = api.is_service
    session.emit(tracking, tracking_details, local_now())
    if earlier := tracking["earlier_releases"]:
        count = format_count(earlier, "earlier release is", "earlier releases are")
        command = f"`headwater track backfill {tracking['id']}`"
        session.note(f"{count} left alone. To take what is missing: {command}.")
    session.note(f"What would be done and why: `headwater track preview {tracking['id']}`.")
    if not served:
        session.note(NO_SERVICE_NOTE)


@track.command("list")
def list_trackings(session: Session) -> None:
    """All trackings; the next expected episode comes first."""
    with session.api() as api:
        trackings = list(api.pages("/trackings", "trackings"))
        airings = api.get("/trackings/calendar", back=0)["episodes"] if trackings else []
    empty = "Nothing is tracked. Begin: `headwater track add URL`."
    session.emit(trackings, soonest_first, airings, empty=empty)


@track.command()
def show(session: Session, tracking: TrackingArgument) -> None:
    """One tracking: its show, its wishes, and how often each rule decided."""
    with session.api() as api:
        record = lookup_tracking(api, tracking)
    session.emit(record, tracking_details, local_now())


@track.command("set")
@with_all_options
def set_values(
    session: Session,
    tracking: TrackingArgument,
    enabled: Annotated[
        bool | None, typer.Option("--enable/--disable", help="Collect again, or pause.")
    ] = None,
    *,
    options: Record,
) -> None:
    """Change a tracking or its show; `none` empties a field. Past decisions stay."""
    changes, of_show = tracking_body(options), show_body(options)
    if enabled is not None:
        changes["enabled"] = enabled
    if not changes and not of_show:
        raise BadInput("Say what is to change; `headwater track set --help` lists it.")
    with session.api(writes=True) as api:
        record = lookup_tracking(api, tracking)
        if of_show:
            api.patch(api_path("shows", record["show"]["id"]), of_show)
        path = api_path("trackings", record["id"])
        changed = api.patch(path, changes) if changes else api.get(path)
    session.emit(changed, tracking_details, local_now())
    session.note(
        "What was decided before stays so."
        f" To decide it again: `headwater releases decide --tracking {changed['id']}`."
    )
    if {"title", "year", "season"} & of_show.keys() or "save_path" in changes:
        session.note("Files that are in the library already keep their names.")


@track.command()
def remove(
    session: Session,
    tracking: TrackingArgument,
    hard: Annotated[
        bool, typer.Option("--hard", help="Forget what it decided and downloaded, too.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Stop collecting a show. Files, torrents and the feed stay."""
    if hard:
        session.confirm(
            f"Forget all that is known of {tracking}?",
            yes=yes,
            needs="Forgetting a tracking needs --yes when nobody can be asked.",
        )
    with session.api(writes=True) as api:
        record = lookup_tracking(api, tracking)
        gone = api.delete(api_path("trackings", record["id"]), hard="true" if hard else "false")
    line = f"{show_name(record['show'])}: collected no more. Its files stay."
    session.emit_line(gone, line)


track.include(preview.commands)


def _follow_or_lookup(session: Session, api: Api, text: str, *, yes: bool) -> Record:
    """Look up a feed that is followed, or follow a new one, which makes its first visit here."""
    if "://" not in text:
        return lookup_feed(api, text)
    url = feed_url_of_page(text)
    for feed in api.get("/feeds", url=url)["feeds"]:
        return dict(feed)
    try:
        return follow_feed(session, api, url, NewFeedOptions(None, (), later=False), yes=yes)
    except ApiError as refusal:
        if refusal.code != "duplicate_url":
            raise
        return dict(api.get(api_path("feeds", refusal.facts["feed_id"])))


def _confirm_show(
    session: Session, api: Api, feed_id: str, options: Record, *, yes: bool
) -> Record:
    """Change the proposed show by the options, and ask the user to confirm it."""
    proposal = api.get("/trackings/proposal", feed=feed_id, title=options.get("title"))
    titles = [title["name"] for title in proposal["titles"]]
    words = ", ".join(one_line(title, 60) for title in titles)
    if proposal["show"] is None:
        has = f" It has: {words}." if titles else ""
        raise BadInput(
            f"The feed does not say which show it is of: give its --title, or --each.{has}",
            titles=titles,
        )
    show = {**proposal["show"], **options}
    if "title" in options and not proposal["of_show"] and proposal["releases"]:
        session.note(
            f"No release that the feed lists now is called {one_line(options['title'], 60)}."
            f" It lists: {words}."
        )
    session.confirm(
        "Collect this?",
        yes=yes or session.as_json,
        default=True,
        about=proposal_details(proposal, show),
    )
    return show


def _track_all(session: Session, api: Api, body: Record, *, yes: bool) -> None:
    """Track all shows that are not tracked yet. The next run finds shows that came since."""
    feed = body["feed_id"]
    proposal = api.get("/trackings/proposal", feed=feed)
    proposed = proposal["shows"] or [proposal["show"]]
    if proposed == [None]:
        raise BadInput("The feed has no releases that name a show.")
    trackings = api.pages("/trackings", "trackings", feed=feed)
    tracked = [tracking["show"] for tracking in trackings]
    new = [show for show in proposed if not _is_tracked(show, tracked)]
    if new:
        session.confirm(
            f"Collect {format_count(len(new), 'show', 'shows')}?",
            yes=yes or session.as_json,
            default=True,
            about=Group(*(safe_text(show_name(show)) for show in new)),
        )
    made: list[Record] = []
    for show in new:
        try:
            made.append(api.post("/trackings", {**body, "show": show}))
        except ApiError as refusal:  # it concerns one show; go on with the others
            session.note(f"{show_name(show)}: {refusal}")
    if made or session.as_json:
        session.emit(made, shows_table)
    before = len(proposed) - len(new)
    session.note(f"{format_count(len(made), 'show', 'shows')} added, {before} tracked before.")


def _is_tracked(show: Record, tracked: Iterable[Record]) -> bool:
    """Compare by all names, as the most usual one may change from week to week."""
    names = {comparable_title(name) for name in (show["title"], *show["titles"])}
    return any(
        other["season"] == show["season"]
        and names & {comparable_title(name) for name in (other["title"], *other["titles"])}
        for other in tracked
    )


def soonest_first(trackings: list[Record], airings: list[Record]) -> RenderableType:
    """Sort trackings by their next expected episode; paused ones come last."""
    next_airings: dict[int, Record] = {}
    for airing in airings:
        if airing["state"] != "came":
            next_airings.setdefault(airing["show_id"], airing)

    def sort_key(tracking: Record) -> tuple[Any, ...]:
        airing = next_airings.get(tracking["show"]["id"])
        day = airing["day"] if airing else ""
        return (not tracking["enabled"], airing is None, day, tracking["id"])

    return trackings_table(sorted(trackings, key=sort_key), next_airings, local_now())
