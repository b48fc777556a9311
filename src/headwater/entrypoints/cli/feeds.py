"""Feeds on the command line: add, list, show, change, visit again, remove; and their history."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import orjson
import typer
from rich.table import Table
from rich.text import Text

from headwater.core.errors import BadInput
from headwater.entrypoints.cli.errors import ApiError, ExitCode, print_error
from headwater.entrypoints.cli.lookup import feed_path, lookup_feed
from headwater.entrypoints.cli.options import FeedName, Json, Limit, Yes, local_now, session_of
from headwater.entrypoints.cli.render import Record, details_table, safe_text, state_text, table
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.terminal import one_line
from headwater.entrypoints.cli.times import local_time, parse_duration, relative_time
from headwater.feeds.overrides import Overrides
from headwater.feeds.schedule.durations import format_count, format_duration


def feeds_table(feeds: Iterable[Record], now: datetime) -> Table:
    made = table("id", "title", "kind", "state", "last visit", "next visit", wide=("title",))
    for feed in feeds:
        made.add_row(
            Text(feed["id"], style="dim"),
            safe_text(feed.get("title") or feed["url"], 80),
            safe_text(feed["type"]),
            state_text(feed_state(feed)),
            relative_time(feed["stats"]["last_fetch_at"], now),
            relative_time(feed["schedule"].get("next_visit_at"), now),
        )
    return made


def feed_state(feed: Record) -> str:
    failures = feed["stats"]["consecutive_failures"]
    state = str(feed.get("state", "active"))
    return "failing" if state == "active" and failures >= 3 else state


def feed_details(feed: Record, now: datetime) -> Table:
    schedule, hints, stats = feed["schedule"], feed["publisher_hints"], feed["stats"]
    return details_table(
        [
            ("title", safe_text(feed.get("title"))),
            ("id", feed["id"]),
            ("url", safe_text(feed["url"], 2_000)),
            ("page", safe_text(feed.get("home_link"), 2_000)),
            ("kind", feed["type"]),
            ("state", state_text(feed_state(feed))),
            ("categories", ", ".join(feed.get("categories") or [])),
            ("validators", _validators(feed["validators"])),
            ("hints", safe_text(hints_in_words(hints))),
            ("next visit", _when(schedule.get("next_visit_at"), now)),
            ("interval", format_duration(schedule["interval_sec"])),
            ("reason", safe_text(schedule.get("reason"))),
            ("last visit", _when(stats["last_fetch_at"], now)),
            ("last success", _when(stats["last_success_at"], now)),
            ("new last time", str(stats["new_entries_last_fetch"])),
            ("posts every", _maybe_duration(stats.get("ewma_interarrival_sec"))),
            ("failures in a row", str(stats["consecutive_failures"])),
            *_own_settings(feed),
        ]
    )


def hints_in_words(hints: Record) -> str:
    """What the publisher asked for, in one line."""
    said = []
    if hints.get("ttl_minutes"):
        said.append(f"ttl {format_duration(hints['ttl_minutes'] * 60)}")
    if hints.get("skip_hours"):
        said.append("not at " + ", ".join(f"{hour}:00" for hour in hints["skip_hours"]) + " UTC")
    if hints.get("skip_days"):
        said.append("not on " + ", ".join(hints["skip_days"]))
    known = {"ttl_minutes", "skip_hours", "skip_days"}
    said += [f"{name} {value}" for name, value in hints.items() if name not in known and value]
    return "; ".join(said) or "none"


def visits_table(visits: Iterable[Record], now: datetime) -> Table:
    """Few columns, so that the id of a payload stands in one line on eighty of them."""
    made = table("when", "outcome", "what", wide=("what",))
    for visit in visits:
        why = visit.get("error_detail") or visit.get("error") or visit.get("reason")
        lines = [safe_text(why, 200), Text(_figures(visit))]
        if visit.get("fetch_id"):
            lines.append(Text(visit["fetch_id"], style="dim"))
        outcome = state_text(str(visit["outcome"]))
        if visit.get("status"):
            outcome.append(f" {visit['status']}")
        made.add_row(local_time(visit["started_at"], now), outcome, Text("\n").join(lines))
    return made


def _figures(visit: Record) -> str:
    said = [
        f"{visit[count]:,} {name}"
        for count, name in (("new_entries", "new"), ("updated_entries", "edited"))
        if visit.get(count)
    ]
    took = f"{visit.get('latency_ms') or 0:,.0f} ms"
    return ", ".join([*said, f"{visit.get('bytes_in') or 0:,} bytes", took])


def schedule_table(decisions: Iterable[Record], now: datetime) -> Table:
    made = table("when", "before", "after", "next visit", "why", wide=("why",))
    for decision in decisions:
        made.add_row(
            local_time(decision.get("decided_at"), now),
            _maybe_duration(decision.get("interval_before")),
            _maybe_duration(decision.get("interval_after")),
            local_time(decision.get("next_at"), now),
            safe_text(decision.get("reason")),
        )
    return made


def added_feed_details(feed: Record, count: int | None, now: datetime) -> Table:
    entries = None if count is None else format_count(count, "entry", "entries")
    return details_table(
        [
            ("title", safe_text(feed.get("title") or "not visited yet")),
            ("kind", feed["type"]),
            ("entries", entries),
            ("next visit", _when(feed["schedule"].get("next_visit_at"), now)),
            ("reason", safe_text(feed["schedule"].get("reason"))),
            ("id", feed["id"]),
        ]
    )


def _validators(validators: Record) -> Text:
    said = [f"ETag {validators['etag']}"] if validators.get("etag") else []
    if validators.get("last_modified"):
        said.append(f"Last-Modified {validators['last_modified']}")
    return safe_text(", ".join(said) or "none: every visit brings the whole document")


def _when(moment: str | None, now: datetime) -> str:
    return f"{local_time(moment, now)} ({relative_time(moment, now)})" if moment else "never"


def _maybe_duration(seconds: float | None) -> str:
    return "–" if seconds is None else format_duration(seconds)


def _own_settings(feed: Record) -> list[tuple[str, Text | str | None]]:
    usual = {None, False} | {feed["title"]}
    said = [
        f"{name}={value}"
        for name, value in feed["overrides"].items()
        if (value not in usual if name != "verify_tls" else not value)
    ]
    return [("own settings", safe_text(", ".join(said)))] if said else []


NO_SERVICE_NOTE = (
    "No service is running: nothing will be visited until you start one with `headwater run`."
)


@dataclass(frozen=True, slots=True)
class NewFeedOptions:
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
        feed = follow_feed(
            session, api, url, NewFeedOptions(title, tuple(category or ()), later), yes=yes
        )
        served = api.is_service
    if json:
        session.print_json(feed)
    else:
        count = None if later else feed["stats"]["new_entries_last_fetch"]
        session.out.print(added_feed_details(feed, count, local_now()))
    if not served:
        session.note(NO_SERVICE_NOTE)


def follow_feed(
    session: Session, api: Api, url: str, wish: NewFeedOptions, *, yes: bool
) -> dict[str, Any]:
    try:
        feed: dict[str, Any] = api.post("/feeds", wish.about(url))
    except ApiError as refusal:
        if refusal.code != "not_a_feed":
            raise
        feed = api.post("/feeds", wish.about(_choose_candidate(session, refusal, yes=yes)))
    return feed


def _choose_candidate(session: Session, refusal: ApiError, *, yes: bool) -> str:
    """One of the page's feeds; no choice ends the command."""
    candidates: list[dict[str, Any]] = refusal.facts.get("candidates") or []
    if not candidates:
        print_error(refusal, as_json=session.as_json)
        if not session.as_json:
            _show_received(session, refusal.facts.get("received") or {})
        raise typer.Exit(ExitCode.USAGE)
    if yes or (len(candidates) == 1 and not sys.stdin.isatty()):
        return _first(session, candidates)
    if session.as_json or not sys.stdin.isatty():
        print_error(refusal, as_json=session.as_json)
        _list_candidates(session, candidates)
        if not session.as_json:
            session.note("Add one of these URLs, or the first of them with --yes.")
        raise typer.Exit(ExitCode.USAGE)
    session.note("This is a page. It links to these feeds:")
    _list_candidates(session, candidates)
    return str(candidates[_ask_for_number(len(candidates)) - 1]["url"])


def _first(session: Session, candidates: list[dict[str, Any]]) -> str:
    """Told by its address: what is said next, trouble too, is about that one."""
    url = str(candidates[0]["url"])
    if not session.as_json:
        session.note(f"This is a page. It links to {one_line(url, 500)}")
    return url


def _ask_for_number(most: int) -> int:
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
        session.err.print(
            f"  {name.replace('_', ' ')}: ", safe_text(value, 300), sep="", markup=False
        )


FEED_FIELDS = {"title", "categories", "state", "priority"}
"""What `set` changes on the feed itself."""

_OVERRIDE_FIELDS = set(Overrides._fields) - {"title", "ceiling_sec"}
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
        session.out.print(feeds_table(feeds, local_now()))
        session.out.print(format_count(len(feeds), "feed", "feeds"))
    else:
        session.out.print("No feeds yet. Follow one with `headwater add URL`.", markup=False)


def show(ctx: typer.Context, feed: FeedName, json: Json = False) -> None:
    """One feed: its schedule and why, hints, last visits."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = api.get(feed_path(lookup_feed(api, feed)))
        visits = api.get(feed_path(found, "visits"), limit=5)["visits"]
    if json:
        session.print_json({**found, "visits": visits})
        return
    session.out.print(feed_details(found, local_now()))
    if visits:
        session.out.print(visits_table(visits, local_now()))


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
    _change(session_of(ctx, as_json=json), feed, _parse_changes(values), "changed")


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
        meant = lookup_feed(api, feed)
        answer = api.post(feed_path(meant, "refetch"), {"whole": whole})
        served = api.is_service
    if json:
        session.print_json(answer)
    else:
        session.out.print(safe_text(f"{meant.get('title') or meant['url']}: will be visited next."))
    if not served:
        session.note(NO_SERVICE_NOTE)


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
        meant = lookup_feed(api, feed)
        name = one_line(meant.get("title") or meant["url"], 80)
        what = "with all its entries and raw bytes, for good" if hard else "(its entries stay)"
        if not yes and sys.stdin.isatty():
            typer.confirm(f"Remove {name} {what}?", abort=True, err=True)
        elif not yes and hard:
            raise BadInput("--hard needs --yes when nobody can be asked.")
        removed = api.delete(feed_path(meant), hard="true" if hard else None)
    if json:
        session.print_json(removed)
    else:
        session.out.print(safe_text(f"Removed {name} {what}."))


def visits(ctx: typer.Context, feed: FeedName, limit: Limit = 20, json: Json = False) -> None:
    """A feed's last visits: outcome, why, new entries, bytes, and the id for `raw`."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        records = api.some(feed_path(lookup_feed(api, feed), "visits"), "visits", limit)
    if json:
        session.print_json(records)
    else:
        session.out.print(visits_table(records, local_now()))


def _change(session: Session, feed: str, changes: dict[str, Any], done: str) -> None:
    with session.api(writes=True) as api:
        changed = api.patch(feed_path(lookup_feed(api, feed)), changes)
    if session.as_json:
        session.print_json(changed)
    else:
        session.out.print(safe_text(f"{changed.get('title') or changed['url']}: {done}."))


def _parse_changes(values: list[str]) -> dict[str, Any]:
    """`min_interval_sec=600 title=News` → the body of a PATCH."""
    top: dict[str, Any] = {}
    overrides: dict[str, Any] = {}
    for pair in values:
        name, mark, value = pair.partition("=")
        if not mark or not name:
            raise BadInput(f"{pair!r} is not KEY=VALUE.", given=pair)
        if name not in FEED_FIELDS | _OVERRIDE_FIELDS:
            known = ", ".join(sorted(FEED_FIELDS | _OVERRIDE_FIELDS))
            raise BadInput(f"There is no {one_line(name, 60)!r} to set. There are: {known}.")
        (top if name in FEED_FIELDS else overrides)[name] = _parse_value(name, value)
    return top | ({"overrides": overrides} if overrides else {})


def _parse_value(name: str, text: str) -> Any:
    if name == "categories":
        return [part.strip() for part in text.split(",") if part.strip()]
    if name == "title":
        return text or None
    if not text:
        return None
    if name.endswith("_sec") and (seconds := parse_duration(text)) is not None:
        return seconds
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def schedule(ctx: typer.Context, feed: FeedName, limit: Limit = 20, json: Json = False) -> None:
    """Why a feed is visited when it is: every decision, in words."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        records = api.some(feed_path(lookup_feed(api, feed), "schedule"), "decisions", limit)
    if json:
        session.print_json(records)
    else:
        session.out.print(schedule_table(records, local_now()))
