"""Readers on the command line: people with a feed of their own, their categories and tokens."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headwater.core.errors import BadInput, NotFound
from headwater.entrypoints.api_request import ApiRequest
from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.errors import ExitCode
from headwater.entrypoints.cli.files import write_output
from headwater.entrypoints.cli.lookup import api_path
from headwater.entrypoints.cli.lookup_readers import lookup_reader, lookup_token
from headwater.entrypoints.cli.options import Yes
from headwater.entrypoints.cli.render import Record, details_table, safe_text, table
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.terminal import one_line
from headwater.entrypoints.cli.times import local_now, local_time, parse_duration, relative_time
from headwater.entrypoints.lazy_import import lazy_import
from headwater.feeds.schedule.durations import format_count
from headwater.personal_feeds.copy import CopyResult

ReaderArgument = Annotated[str, typer.Argument(metavar="READER", help="A name or an id.")]
TokenArgument = Annotated[
    str, typer.Argument(metavar="TOKEN", help="Its id, the beginning of it, or how it begins.")
]
OptionalTokenArgument = Annotated[
    str | None,
    typer.Argument(metavar="[TOKEN]", help="Not needed when only one is open.", show_default=False),
]
Follow = Annotated[
    list[str] | None,
    typer.Option("--category", help="A category to follow: exactly this name. May be repeated."),
]
_COLOURS = {"open": "green", "ending": "yellow", "ended": "red", "revoked": "red"}

commands = Commands()
readers = commands.family("readers", help="People with a feed of their own.")


@readers.command()
def add(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the reader.")],
    categories: Follow = None,
) -> None:
    """Make a reader. `headwater readers token` then gives the address of the feed."""
    body = {"name": name, "categories": list(dict.fromkeys(categories or []))}
    with session.api(writes=True) as api:
        made = api.post("/readers", body)
    session.emit_line(made, f"{made['name']}: {_categories_in_words(made)}.")


@readers.command("list")
def list_readers(session: Session) -> None:
    """All readers and what they follow."""
    with session.api() as api:
        readers = list(api.pages("/readers", "readers"))
    empty = "No readers. Make one: `headwater readers add NAME --category …`."
    session.emit(readers, readers_table, local_now(), empty=empty)


@readers.command()
def show(session: Session, reader: ReaderArgument) -> None:
    """One reader: what they follow, and their tokens without the secrets."""
    with session.api() as api:
        record = lookup_reader(api, reader)
        tokens = _tokens(api, record)
    session.emit({**record, "tokens": tokens}, reader_and_tokens, local_now())
    if not tokens:
        session.note("No token opens this feed. Make one with `headwater readers token`.")


@readers.command("set")
def set_values(
    session: Session,
    reader: ReaderArgument,
    name: Annotated[str | None, typer.Option("--name", help="Another name.")] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option("--category", help="Follow exactly these. May be repeated."),
    ] = None,
    add: Annotated[
        list[str] | None, typer.Option("--add", help="Follow this one too. May be repeated.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option("--drop", help="Follow this one no more. May be repeated.")
    ] = None,
) -> None:
    """Change a reader's name or what they follow. The feed's address stays the same."""
    changes: dict[str, Any] = {} if name is None else {"name": name}
    with session.api(writes=True) as api:
        record = lookup_reader(api, reader)
        if categories or add or drop:
            changes["categories"] = categories_after(record["categories"], categories, add, drop)
        if not changes:
            raise BadInput("Say what is to change: --name, --category, --add or --drop.")
        changed = api.patch(api_path("readers", record["id"]), changes)
    session.emit_line(changed, f"{changed['name']}: {_categories_in_words(changed)}.")


@readers.command()
def remove(session: Session, reader: ReaderArgument, yes: Yes = False) -> None:
    """Remove a reader with all tokens. The items of the categories stay."""
    session.confirm(
        f"Remove the reader {reader} and all tokens?",
        yes=yes,
        needs="Removing a reader needs --yes when nobody can be asked.",
    )
    with session.api(writes=True) as api:
        gone = api.delete(api_path("readers", lookup_reader(api, reader)["id"]))
    session.emit_line(gone, f"{gone['name']}: removed.")


@readers.command()
def token(session: Session, reader: ReaderArgument) -> None:
    """Make a token, and print the whole address of the feed, once."""
    with session.api(writes=True) as api:
        record = lookup_reader(api, reader)
        made = api.post(api_path("readers", record["id"], "tokens"), {})
        served = api.is_service
    _show_address_once(session, record, made, served=served)


@readers.command()
def tokens(session: Session, reader: ReaderArgument) -> None:
    """A reader's tokens: how each begins, whether it is open, when it was last used."""
    with session.api() as api:
        record = lookup_reader(api, reader)
        tokens = _tokens(api, record)
    empty = f"{record['name']} has no tokens."
    session.emit(tokens, reader_tokens_table, local_now(), empty=empty)


@readers.command()
def rotate(
    session: Session,
    reader: ReaderArgument,
    which: OptionalTokenArgument = None,
    grace: Annotated[
        str | None,
        typer.Option(help="How long the old one works too: 2h, 3d, 0.", show_default="24h"),
    ] = None,
) -> None:
    """Make a new token in place of an old one, which goes on working for a while."""
    body = {} if grace is None else {"grace_hours": _parse_hours(grace)}
    with session.api(writes=True) as api:
        record = lookup_reader(api, reader)
        old = lookup_token(record, _tokens(api, record), which)
        made = api.post(api_path("readers", record["id"], "tokens", old["id"], "rotate"), body)
        served = api.is_service
    replaced = made["replaces"]
    until = "opens nothing any more"
    if replaced["state"] == "ending":
        until = f"works until {local_time(replaced['until'], local_now())}"
    session.note(f"The old one ({old['hint']}…) {until}.")
    _show_address_once(session, record, made, served=served)


@readers.command()
def revoke(session: Session, reader: ReaderArgument, which: TokenArgument) -> None:
    """Revoke a token. It opens nothing any more, everywhere within a second."""
    with session.api(writes=True) as api:
        record = lookup_reader(api, reader)
        old = lookup_token(record, _tokens(api, record), which)
        gone = api.delete(api_path("readers", record["id"], "tokens", old["id"]))
    session.emit_line(gone, f"{record['name']}: the token {gone['hint']}… is revoked.")


@readers.command(json=False)
def opml(
    session: Session,
    reader: ReaderArgument,
    file: Annotated[
        Path | None, typer.Argument(help="Where to write it; else stdout.", show_default=False)
    ] = None,
) -> None:
    """The sources that fill what a reader follows, as OPML."""
    with session.api() as api:
        record = lookup_reader(api, reader)
        answer = api.ask(ApiRequest("GET", api_path("readers", record["id"], "opml"), {}))
    write_output(answer.body, file)
    if file is not None:
        session.note(f"Sources of {record['name']} written to {file}.")


class StoreChoice(StrEnum):
    DATABASE = "database"
    REDIS = "redis"


@readers.command()
def copy(
    session: Session,
    source: Annotated[StoreChoice, typer.Option("--from", help="Where they are.")],
    target: Annotated[StoreChoice, typer.Option("--to", help="Where they shall be too.")],
    redis_url: Annotated[
        str | None,
        typer.Option("--redis-url", help="In place of personal_redis_url."),
    ] = None,
) -> None:
    """Copy readers, tokens and items between the database and Redis. May be repeated."""
    if source == target:
        raise BadInput("A copy goes from one place to the other: database and redis.")
    copy_between = lazy_import("headwater.entrypoints.cli.personal_copy:copy_between")
    copied = asyncio.run(
        copy_between(session.settings, source.value, target.value, redis_url, session.note)
    )
    session.emit(copied, copied_in_words)
    if copied.refused:
        raise typer.Exit(ExitCode.PROBLEMS)


def copied_in_words(copied: CopyResult) -> RenderableType:
    lines = (
        f"{format_count(copied.readers, 'reader', 'readers')}: {copied.readers_new:,} new,"
        f" {copied.readers_changed:,} changed.",
        f"{format_count(copied.tokens, 'token', 'tokens')}: {copied.tokens_new:,} new,"
        f" {copied.tokens_ended:,} ended.",
        f"{format_count(copied.items, 'item', 'items')}: {copied.items_new:,} new.",
    )
    refused = [safe_text(f"Not copied: {name}. {why}") for name, why in copied.refused]
    return Group(*map(safe_text, lines), *refused)


def categories_after(
    before: list[str], exactly: list[str] | None, add: list[str] | None, drop: list[str] | None
) -> list[str]:
    """The categories of a reader after the change, each once, new ones last."""
    if exactly and (add or drop):
        raise BadInput("--category says all of them: it goes with neither --add nor --drop.")
    if exactly:
        return list(dict.fromkeys(exactly))
    missing = [name for name in drop or [] if name not in before]
    if missing:
        raise NotFound(f"{one_line(missing[0])!r} is not followed.", given=missing[0])
    after = dict.fromkeys([*before, *(add or [])])
    return [name for name in after if name not in (drop or [])]


def _tokens(api: Api, reader: Record) -> list[Record]:
    return list(api.get(api_path("readers", reader["id"], "tokens"))["tokens"])


def _parse_hours(text: str) -> float:
    seconds = 0 if text.strip() == "0" else parse_duration(text)
    if seconds is None:
        raise BadInput(f"{text!r} is not a length of time. Say 2h, 3d or 0.", given=text)
    return seconds / 3_600


def _categories_in_words(reader: Record) -> str:
    count = len(reader["categories"])
    return (
        f"follows {format_count(count, 'category', 'categories')}"
        if count
        else "follows nothing yet"
    )


def _show_address_once(session: Session, reader: Record, token: Record, *, served: bool) -> None:
    """Print the address alone on stdout, so that it can go into a pipe."""
    if session.as_json:
        session.print_json(token)
        return
    if token["urls"] is None:
        session.note(
            f"The token {token['id']} was made, but its answer was lost on the way:"
            " revoke it and ask again."
        )
        raise typer.Exit(ExitCode.PROBLEMS)
    session.note(f"The feed of {reader['name']}; whoever has this address can read it.")
    session.note("It is not shown again. Atom and JSON Feed: /atom or /feed.json in place of /rss.")
    if not served:
        session.note("It can be read while `headwater run` or `headwater serve` is running.")
    session.out.print(token["urls"]["rss"], markup=False, soft_wrap=True)


def readers_table(readers: Iterable[Record], now: datetime) -> Table:
    made = table("id", "name", "follows", "since", wide=("name", "follows"))
    for reader in readers:
        made.add_row(
            Text(reader["id"], style="dim"),
            safe_text(reader["name"]),
            safe_text(", ".join(reader["categories"]), 2_000),
            local_time(reader["created_at"], now),
        )
    return made


def reader_details(reader: Record, now: datetime) -> Table:
    return details_table(
        [
            ("reader", safe_text(reader["name"])),
            ("follows", safe_text(", ".join(reader["categories"]) or "nothing yet", 20_000)),
            ("since", local_time(reader["created_at"], now)),
            ("changed", local_time(reader["updated_at"], now)),
            ("id", safe_text(reader["id"])),
        ]
    )


def reader_tokens_table(tokens: Iterable[Record], now: datetime) -> Table:
    made = table("id", "begins", "state", "made", "last used", "ends")
    for token in tokens:
        made.add_row(
            Text(token["id"], style="dim"),
            safe_text(f"{token['hint']}…"),
            Text(token["state"], style=_COLOURS.get(token["state"], "")),
            local_time(token["created_at"], now),
            relative_time(token["last_used_at"], now),
            local_time(token["revoked_at"] or token["until"], now),
        )
    return made


def reader_and_tokens(reader: Record, now: datetime) -> RenderableType:
    details = reader_details(reader, now)
    return (
        Group(details, reader_tokens_table(reader["tokens"], now)) if reader["tokens"] else details
    )
