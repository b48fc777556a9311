"""Feeds on the command line: add, list, show, change, visit again, remove; and their history."""

from typing import Annotated, Any

import typer

from headwater.core.errors import BadInput
from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.feed_tables import (
    added_feed_details,
    feed_and_visits,
    feeds_and_count,
    schedule_table,
    statistics_and_days,
    visits_table,
)
from headwater.entrypoints.cli.follow_feed import NewFeedOptions, follow_feed
from headwater.entrypoints.cli.key_values import parse_value, split_key_values
from headwater.entrypoints.cli.lookup import feed_path, lookup_feed
from headwater.entrypoints.cli.options import FeedName, Limit, Window, Yes
from headwater.entrypoints.cli.session import NO_SERVICE_NOTE, Session
from headwater.entrypoints.cli.terminal import one_line
from headwater.entrypoints.cli.times import local_now, parse_duration
from headwater.feeds.overrides import Overrides

FEED_FIELDS = {"title", "categories", "state", "priority"}
"""Fields of the feed itself that `set` changes."""

_OVERRIDE_FIELDS = set(Overrides._fields) - {"title", "ceiling_sec"}
"""Settings that a feed may have of its own."""

commands = Commands()


@commands.command()
def add(
    session: Session,
    url: Annotated[str, typer.Argument(help="A feed, or a page that links to its feeds.")],
    yes: Yes = False,
    title: Annotated[str | None, typer.Option(help="A name of your own for it.")] = None,
    category: Annotated[
        list[str] | None, typer.Option("--category", "-c", help="May be given several times.")
    ] = None,
    later: Annotated[
        bool, typer.Option("--later", help="Do not fetch now; a worker visits it soon.")
    ] = False,
) -> None:
    """Follow a feed: fetched now, then as often as it deserves."""
    options = NewFeedOptions(title, tuple(category or ()), later)
    with session.api(writes=True) as api:
        feed = follow_feed(session, api, url, options, yes=yes)
        served = api.is_service
    count = None if later else feed["stats"]["new_entries_last_fetch"]
    session.emit(feed, added_feed_details, count, local_now())
    if not served:
        session.note(NO_SERVICE_NOTE)


@commands.command("list")
def list_feeds(session: Session) -> None:
    """All feeds: kind, state, last and next visit."""
    with session.api() as api:
        feeds = list(api.pages("/feeds", "feeds"))
    empty = "No feeds yet. Follow one with `headwater add URL`."
    session.emit(feeds, feeds_and_count, local_now(), empty=empty)


@commands.command()
def show(session: Session, feed: FeedName) -> None:
    """One feed: its schedule and why, hints, last visits."""
    with session.api() as api:
        record = api.get(feed_path(lookup_feed(api, feed)))
        visits = api.get(feed_path(record, "visits"), limit=5)["visits"]
    session.emit({**record, "visits": visits}, feed_and_visits, local_now())


@commands.command()
def refetch(
    session: Session,
    feed: FeedName,
    whole: Annotated[
        bool, typer.Option("--whole", help="Ask for the whole document, not only for changes.")
    ] = False,
) -> None:
    """Visit a feed now, as far as politeness to its host allows."""
    with session.api(writes=True) as api:
        record = lookup_feed(api, feed)
        answer = api.post(feed_path(record, "refetch"), {"whole": whole})
        served = api.is_service
    session.emit_line(answer, f"{record.get('title') or record['url']}: will be visited next.")
    if not served:
        session.note(NO_SERVICE_NOTE)


@commands.command()
def pause(session: Session, feed: FeedName) -> None:
    """Stop visiting a feed until it is resumed."""
    _change(session, feed, {"state": "paused"}, "paused")


@commands.command()
def resume(session: Session, feed: FeedName) -> None:
    """Visit a paused feed again."""
    _change(session, feed, {"state": "active"}, "active again")


@commands.command("set")
def set_values(
    session: Session,
    feed: FeedName,
    values: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE...", help="`KEY=` goes back to the default.")
    ],
) -> None:
    """Change a feed: title, categories, priority, intervals, …"""
    _change(session, feed, _parse_changes(values), "changed")


@commands.command()
def remove(
    session: Session,
    feed: FeedName,
    hard: Annotated[
        bool, typer.Option("--hard", help="For good: its entries and raw bytes go too.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Stop following a feed; its entries stay, unless --hard."""
    with session.api(writes=True) as api:
        record = lookup_feed(api, feed)
        name = one_line(record.get("title") or record["url"], 80)
        what = "with all its entries and raw bytes, for good" if hard else "(its entries stay)"
        session.confirm(
            f"Remove {name} {what}?",
            yes=yes,
            needs="--hard needs --yes when nobody can be asked." if hard else None,
        )
        removed = api.delete(feed_path(record), hard="true" if hard else None)
    session.emit_line(removed, f"Removed {name} {what}.")


@commands.command()
def visits(session: Session, feed: FeedName, limit: Limit = 20) -> None:
    """A feed's last visits: outcome, why, new entries, bytes, and the id for `raw`."""
    with session.api() as api:
        records = api.first(feed_path(lookup_feed(api, feed), "visits"), "visits", limit)
    session.emit(records, visits_table, local_now())


@commands.command()
def schedule(session: Session, feed: FeedName, limit: Limit = 20) -> None:
    """Every decision about the next visit of a feed, with its reason."""
    with session.api() as api:
        decisions = api.first(feed_path(lookup_feed(api, feed), "schedule"), "decisions", limit)
    session.emit(decisions, schedule_table, local_now())


@commands.command()
def stats(session: Session, feed: FeedName, window: Window = "7d") -> None:
    """Statistics of a feed: successes, 304s, errors, bytes, speed, new entries, day by day."""
    with session.api() as api:
        record = lookup_feed(api, feed)
        statistics = api.get(feed_path(record, "stats"), window=window)
    session.emit(statistics, statistics_and_days, record)


def _change(session: Session, feed: str, changes: dict[str, Any], done: str) -> None:
    with session.api(writes=True) as api:
        changed = api.patch(feed_path(lookup_feed(api, feed)), changes)
    session.emit_line(changed, f"{changed.get('title') or changed['url']}: {done}.")


def _parse_changes(values: list[str]) -> dict[str, Any]:
    """Parse `min_interval_sec=600 title=News` into the body of a PATCH."""
    body: dict[str, Any] = {}
    overrides: dict[str, Any] = {}
    for name, text in split_key_values(values):
        if name not in FEED_FIELDS | _OVERRIDE_FIELDS:
            known = ", ".join(sorted(FEED_FIELDS | _OVERRIDE_FIELDS))
            raise BadInput(f"There is no {one_line(name, 60)!r} to set. There are: {known}.")
        (body if name in FEED_FIELDS else overrides)[name] = _parse_setting(name, text)
    return body | ({"overrides": overrides} if overrides else {})


def _parse_setting(name: str, text: str) -> Any:
    if name.endswith("_sec") and (seconds := parse_duration(text)) is not None:
        return seconds
    return parse_value(name, text, texts={"title"}, lists={"categories"})
