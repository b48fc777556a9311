"""Feeds one by one: list, show, change, pause, visit again, remove."""

import sys
from dataclasses import fields
from typing import Annotated, Any

import orjson
import typer

from headwater.entrypoints.cli.adding import NOBODY_VISITS
from headwater.entrypoints.cli.find import feed_meant, path_of
from headwater.entrypoints.cli.moments import seconds_of
from headwater.entrypoints.cli.options import (
    FeedName,
    Json,
    Limit,
    Yes,
    here_and_now,
    session_of,
)
from headwater.entrypoints.cli.render import feed_facts, feeds_table, plain, visits_table
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.terminal import one_line
from headwater.errors import BadInput
from headwater.schedule.words import counted
from headwater.subscribe.feed import Overrides

TOP = {"title", "categories", "state", "priority"}
"""What `set` changes on the feed itself."""

_OWN = {each.name for each in fields(Overrides)} - {"title", "ceiling_sec"}
"""A feed's own settings."""


def list_feeds(
    ctx: typer.Context,
    json: Json = False,
) -> None:
    """All feeds: kind, state, last and next visit."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        feeds = list(api.pages("/feeds", "feeds"))
    if json:
        session.print_json(feeds)
    elif feeds:
        session.out.print(feeds_table(feeds, here_and_now()))
        session.out.print(counted(len(feeds), "feed", "feeds"))
    else:
        session.out.print("No feeds yet. Follow one with `headwater add URL`.", markup=False)


def show(ctx: typer.Context, feed: FeedName, json: Json = False) -> None:
    """One feed: its schedule and why, hints, last visits."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = api.get(path_of(feed_meant(api, feed)))
        visits = api.get(path_of(found, "visits"), limit=5)["visits"]
    if json:
        session.print_json({**found, "visits": visits})
        return
    session.out.print(feed_facts(found, here_and_now()))
    if visits:
        session.out.print(visits_table(visits, here_and_now()))


def pause(ctx: typer.Context, feed: FeedName, json: Json = False) -> None:
    """Visit a feed no more until it is resumed."""
    _change(session_of(ctx, as_json=json), feed, {"state": "paused"}, "paused")


def resume(ctx: typer.Context, feed: FeedName, json: Json = False) -> None:
    """Visit a paused feed again."""
    _change(session_of(ctx, as_json=json), feed, {"state": "active"}, "active again")


def set_values(
    ctx: typer.Context,
    feed: FeedName,
    values: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE...", help="`KEY=` goes back to the default.")
    ],
    json: Json = False,
) -> None:
    """Change a feed: title, categories, priority, intervals, …"""
    _change(session_of(ctx, as_json=json), feed, _changes(values), "changed")


def refetch(
    ctx: typer.Context,
    feed: FeedName,
    whole: Annotated[
        bool, typer.Option("--whole", help="Ask for the whole document, not only for changes.")
    ] = False,
    json: Json = False,
) -> None:
    """Visit a feed now, as far as politeness to its host allows."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = feed_meant(api, feed)
        answer = api.post(path_of(meant, "refetch"), {"whole": whole})
        served = api.is_service
    if json:
        session.print_json(answer)
    else:
        session.out.print(plain(f"{meant.get('title') or meant['url']}: will be visited next."))
    if not served:
        session.note(NOBODY_VISITS)


def remove(
    ctx: typer.Context,
    feed: FeedName,
    hard: Annotated[
        bool, typer.Option("--hard", help="For good: its entries and raw bytes go too.")
    ] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Stop following a feed; its entries stay, unless --hard."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = feed_meant(api, feed)
        name = one_line(meant.get("title") or meant["url"], 80)
        what = "with all its entries and raw bytes, for good" if hard else "(its entries stay)"
        if not yes and sys.stdin.isatty():
            typer.confirm(f"Remove {name} {what}?", abort=True, err=True)
        elif not yes and hard:
            raise BadInput("--hard needs --yes when nobody can be asked.")
        removed = api.delete(path_of(meant), hard="true" if hard else None)
    if json:
        session.print_json(removed)
    else:
        session.out.print(plain(f"Removed {name} {what}."))


def visits(ctx: typer.Context, feed: FeedName, limit: Limit = 20, json: Json = False) -> None:
    """A feed's last visits: outcome, why, new entries, bytes, and the id for `raw`."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        records = api.some(path_of(feed_meant(api, feed), "visits"), "visits", limit)
    if json:
        session.print_json(records)
    else:
        session.out.print(visits_table(records, here_and_now()))


def _change(session: Session, feed: str, changes: dict[str, Any], done: str) -> None:
    with session.api(writes=True) as api:
        changed = api.patch(path_of(feed_meant(api, feed)), changes)
    if session.as_json:
        session.print_json(changed)
    else:
        session.out.print(plain(f"{changed.get('title') or changed['url']}: {done}."))


def _changes(values: list[str]) -> dict[str, Any]:
    """`min_interval_sec=600 title=News` → the body of a PATCH."""
    top: dict[str, Any] = {}
    overrides: dict[str, Any] = {}
    for pair in values:
        name, mark, value = pair.partition("=")
        if not mark or not name:
            raise BadInput(f"{pair!r} is not KEY=VALUE.", given=pair)
        if name not in TOP | _OWN:
            known = ", ".join(sorted(TOP | _OWN))
            raise BadInput(f"There is no {one_line(name, 60)!r} to set. There are: {known}.")
        (top if name in TOP else overrides)[name] = _value(name, value)
    return top | ({"overrides": overrides} if overrides else {})


def _value(name: str, text: str) -> Any:
    if name == "categories":
        return [part.strip() for part in text.split(",") if part.strip()]
    if name == "title":
        return text or None
    if not text:
        return None
    if name.endswith("_sec") and (seconds := seconds_of(text)) is not None:
        return seconds
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
