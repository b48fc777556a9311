"""Readers: people with a feed of their own. Make them, say what they follow, give them tokens."""

import asyncio
import sys
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from headwater.core.errors import BadInput, NotFound
from headwater.entrypoints.cli.api_caller import ApiRequest
from headwater.entrypoints.cli.errors import ExitCode
from headwater.entrypoints.cli.lookup import api_path
from headwater.entrypoints.cli.lookup_readers import lookup_reader, lookup_token
from headwater.entrypoints.cli.options import Json, Yes, local_now, session_of
from headwater.entrypoints.cli.render import Record, details_table, safe_text, table
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.terminal import one_line
from headwater.entrypoints.cli.times import local_time, parse_duration, relative_time
from headwater.entrypoints.lazy_import import lazy_import
from headwater.feeds.schedule.durations import format_count
from headwater.personal_feeds.copy import CopyResult


def categories_after(
    before: list[str], exactly: list[str] | None, add: list[str] | None, drop: list[str] | None
) -> list[str]:
    """What a reader follows once these are said; each once, new ones last."""
    if exactly and (add or drop):
        raise BadInput("--category says all of them: it goes with neither --add nor --drop.")
    if exactly:
        return list(dict.fromkeys(exactly))
    missing = [name for name in drop or [] if name not in before]
    if missing:
        raise NotFound(f"{one_line(missing[0])!r} is not followed.", given=missing[0])
    return [n for n in dict.fromkeys([*before, *(add or [])]) if n not in (drop or [])]


_COLOURS = {"open": "green", "ending": "yellow", "ended": "red", "revoked": "red"}


def readers_table(readers: Iterable[Record], now: datetime) -> Table:
    made = table("id", "name", "follows", "since", wide=("name", "follows"))
    for each in readers:
        made.add_row(
            Text(each["id"], style="dim"),
            safe_text(each["name"]),
            safe_text(", ".join(each["categories"]), 2_000),
            local_time(each["created_at"], now),
        )
    return made


def reader_details(each: Record, now: datetime) -> Table:
    return details_table(
        [
            ("reader", safe_text(each["name"])),
            ("follows", safe_text(", ".join(each["categories"]) or "nothing yet", 20_000)),
            ("since", local_time(each["created_at"], now)),
            ("changed", local_time(each["updated_at"], now)),
            ("id", safe_text(each["id"])),
        ]
    )


def reader_tokens_table(tokens: Iterable[Record], now: datetime) -> Table:
    made = table("id", "begins", "state", "made", "last used", "ends")
    for each in tokens:
        made.add_row(
            Text(each["id"], style="dim"),
            safe_text(f"{each['hint']}…"),
            Text(each["state"], style=_COLOURS.get(each["state"], "")),
            local_time(each["created_at"], now),
            relative_time(each["last_used_at"], now),
            local_time(each["revoked_at"] or each["until"], now),
        )
    return made


class StoreChoice(StrEnum):
    DATABASE = "database"
    REDIS = "redis"


def copy(
    ctx: typer.Context,
    source: Annotated[StoreChoice, typer.Option("--from", help="Where they are.")],
    target: Annotated[StoreChoice, typer.Option("--to", help="Where they shall be too.")],
    redis_url: Annotated[
        str | None,
        typer.Option("--redis-url", help="In place of personal_redis_url."),
    ] = None,
    json: Json = False,
) -> None:
    """Copy readers, tokens and items between the database and Redis. May be repeated."""
    if source == target:
        raise BadInput("A copy goes from one place to the other: database and redis.")
    session = session_of(ctx, as_json=json)
    copy_between = lazy_import("headwater.entrypoints.cli.personal_copy:copy_between")
    places = source.value, target.value
    copied = asyncio.run(copy_between(session.settings, *places, redis_url, session.note))
    if json:
        session.print_json(asdict(copied))
    else:
        _print_copied(session, copied)
    if copied.refused:
        raise typer.Exit(ExitCode.PROBLEMS)


def _print_copied(session: Session, copied: CopyResult) -> None:
    lines = (
        f"{format_count(copied.readers, 'reader', 'readers')}: {copied.readers_new:,} new,"
        f" {copied.readers_changed:,} changed.",
        f"{format_count(copied.tokens, 'token', 'tokens')}: {copied.tokens_new:,} new,"
        f" {copied.tokens_ended:,} ended.",
        f"{format_count(copied.items, 'item', 'items')}: {copied.items_new:,} new.",
    )
    for line in lines:
        session.out.print(line, markup=False)
    for name, why in copied.refused:
        session.out.print(safe_text(f"Not copied: {name}. {why}"))


readers = typer.Typer(no_args_is_help=True, help="People with a feed of their own.")
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


@readers.command()
def add(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the reader is called.")],
    categories: Follow = None,
    json: Json = False,
) -> None:
    """Make a reader. `headwater readers token` then gives the address of the feed."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        said = list(dict.fromkeys(categories or []))
        made = api.post("/readers", {"name": name, "categories": said})
    _print_result(session, made, f"{made['name']}: {_categories_in_words(made)}.")


@readers.command("list")
def list_readers(ctx: typer.Context, json: Json = False) -> None:
    """All readers and what they follow."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = list(api.pages("/readers", "readers"))
    if json:
        session.print_json(found)
    elif found:
        session.out.print(readers_table(found, local_now()))
    else:
        session.out.print(
            "No readers. Make one: `headwater readers add NAME --category …`.", markup=False
        )


@readers.command()
def show(ctx: typer.Context, reader: ReaderArgument, json: Json = False) -> None:
    """One reader: what they follow, and their tokens without the secrets."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        meant = lookup_reader(api, reader)
        tokens = _tokens(api, meant)
    if json:
        session.print_json({**meant, "tokens": tokens})
        return
    session.out.print(reader_details(meant, local_now()))
    if tokens:
        session.out.print(reader_tokens_table(tokens, local_now()))
    else:
        session.note("No token opens this feed. Make one with `headwater readers token`.")


@readers.command("set")
def set_values(
    ctx: typer.Context,
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
    json: Json = False,
) -> None:
    """Change a reader's name or what they follow. The feed's address stays the same."""
    session = session_of(ctx, as_json=json)
    changes: dict[str, Any] = {} if name is None else {"name": name}
    with session.api(writes=True) as api:
        meant = lookup_reader(api, reader)
        if categories or add or drop:
            followed = categories_after(meant["categories"], categories, add, drop)
            changes["categories"] = followed
        if not changes:
            raise BadInput("Say what is to change: --name, --category, --add or --drop.")
        changed = api.patch(api_path("readers", meant["id"]), changes)
    _print_result(session, changed, f"{changed['name']}: {_categories_in_words(changed)}.")


@readers.command()
def remove(
    ctx: typer.Context, reader: ReaderArgument, yes: Yes = False, json: Json = False
) -> None:
    """Take a reader away, with all tokens. What is in the categories stays."""
    session = session_of(ctx, as_json=json)
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Remove the reader {reader} and all tokens?", abort=True, err=True)
    elif not yes:
        raise BadInput("Removing a reader needs --yes when nobody can be asked.")
    with session.api(writes=True) as api:
        gone = api.delete(api_path("readers", lookup_reader(api, reader)["id"]))
    _print_result(session, gone, f"{gone['name']}: removed.")


@readers.command()
def token(ctx: typer.Context, reader: ReaderArgument, json: Json = False) -> None:
    """A new token: prints the whole address of the feed, once."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = lookup_reader(api, reader)
        made = api.post(api_path("readers", meant["id"], "tokens"), {})
        served = api.is_service
    _show_once(session, meant, made, served=served)


@readers.command()
def tokens(ctx: typer.Context, reader: ReaderArgument, json: Json = False) -> None:
    """A reader's tokens: how each begins, whether it is open, when it was last used."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        meant = lookup_reader(api, reader)
        found = _tokens(api, meant)
    if json:
        session.print_json(found)
    elif found:
        session.out.print(reader_tokens_table(found, local_now()))
    else:
        session.out.print(safe_text(f"{meant['name']} has no tokens."))


@readers.command()
def rotate(
    ctx: typer.Context,
    reader: ReaderArgument,
    which: OptionalTokenArgument = None,
    grace: Annotated[
        str | None,
        typer.Option(help="How long the old one works too: 2h, 3d, 0.", show_default="24h"),
    ] = None,
    json: Json = False,
) -> None:
    """A new token in place of an old one, which goes on working for a while."""
    session = session_of(ctx, as_json=json)
    said = {} if grace is None else {"grace_hours": _parse_hours(grace)}
    with session.api(writes=True) as api:
        meant = lookup_reader(api, reader)
        old = lookup_token(meant, _tokens(api, meant), which)
        made = api.post(api_path("readers", meant["id"], "tokens", old["id"], "rotate"), said)
        served = api.is_service
    end = made["replaces"]
    over = end["state"] != "ending"
    until = "opens nothing any more" if over else f"works until {_clock(end['until'])}"
    session.note(f"The old one ({old['hint']}…) {until}.")
    _show_once(session, meant, made, served=served)


@readers.command()
def revoke(
    ctx: typer.Context, reader: ReaderArgument, which: TokenArgument, json: Json = False
) -> None:
    """Make a token worthless, everywhere within a second."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = lookup_reader(api, reader)
        old = lookup_token(meant, _tokens(api, meant), which)
        gone = api.delete(api_path("readers", meant["id"], "tokens", old["id"]))
    _print_result(session, gone, f"{meant['name']}: the token {gone['hint']}… is revoked.")


@readers.command()
def opml(
    ctx: typer.Context,
    reader: ReaderArgument,
    file: Annotated[
        Path | None, typer.Argument(help="Where to write it; else stdout.", show_default=False)
    ] = None,
) -> None:
    """The sources that fill what a reader follows, as OPML."""
    session = session_of(ctx)
    with session.api() as api:
        meant = lookup_reader(api, reader)
        written = api.ask(ApiRequest("GET", api_path("readers", meant["id"], "opml"), {})).body
    if file is None:
        sys.stdout.buffer.write(written)
        sys.stdout.buffer.flush()
        return
    try:
        file.write_bytes(written)
    except OSError as trouble:
        raise BadInput(f"{file} cannot be written: {trouble.strerror}.") from trouble
    session.note(f"Sources of {meant['name']} written to {file}.")


readers.command()(copy)


def _tokens(api: Api, reader: dict[str, Any]) -> list[dict[str, Any]]:
    return list(api.get(api_path("readers", reader["id"], "tokens"))["tokens"])


def _parse_hours(text: str) -> float:
    seconds = 0 if text.strip() == "0" else parse_duration(text)
    if seconds is None:
        raise BadInput(f"{text!r} is not a length of time. Say 2h, 3d or 0.", given=text)
    return seconds / 3_600


def _clock(moment: str) -> str:
    return local_time(moment, local_now())


def _categories_in_words(reader: dict[str, Any]) -> str:
    count = len(reader["categories"])
    return (
        f"follows {format_count(count, 'category', 'categories')}"
        if count
        else "follows nothing yet"
    )


def _show_once(
    session: Session, reader: dict[str, Any], made: dict[str, Any], *, served: bool
) -> None:
    """The address alone on stdout: it can be piped to where it is needed."""
    if session.as_json:
        session.print_json(made)
        return
    if made["urls"] is None:
        session.note(
            f"The token {made['id']} was made, but its answer was lost on the way:"
            " revoke it and ask again."
        )
        raise typer.Exit(ExitCode.PROBLEMS)
    session.note(f"The feed of {reader['name']}; whoever has this address can read it.")
    session.note("It is not shown again. Atom and JSON Feed: /atom or /feed.json in place of /rss.")
    if not served:
        session.note("It can be read while `headwater run` or `headwater serve` is running.")
    session.out.print(made["urls"]["rss"], markup=False, soft_wrap=True)


def _print_result(session: Session, record: Any, line: str) -> None:
    if session.as_json:
        session.print_json(record)
    else:
        session.out.print(safe_text(line))
