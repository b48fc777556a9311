"""Readers: people with a feed of their own. Make them, say what they follow, give them tokens."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.entrypoints.cli.exits import ExitCode
from headwater.entrypoints.cli.meant import path
from headwater.entrypoints.cli.moments import on_the_clock, seconds_of
from headwater.entrypoints.cli.options import Json, Yes, here_and_now, session_of
from headwater.entrypoints.cli.reader_meant import categories_after, reader_meant, token_meant
from headwater.entrypoints.cli.reader_tables import (
    reader_facts,
    reader_tokens_table,
    readers_table,
)
from headwater.entrypoints.cli.readers_copy import copy
from headwater.entrypoints.cli.render import plain
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.transport import Request
from headwater.errors import BadInput
from headwater.schedule.words import counted

readers = typer.Typer(no_args_is_help=True, help="People with a feed of their own.")

Who = Annotated[str, typer.Argument(metavar="READER", help="A name or an id.")]
Which = Annotated[
    str, typer.Argument(metavar="TOKEN", help="Its id, the beginning of it, or how it begins.")
]
MaybeWhich = Annotated[
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
    _told(session, made, f"{made['name']}: {_follows(made)}.")


@readers.command("list")
def list_readers(ctx: typer.Context, json: Json = False) -> None:
    """All readers and what they follow."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = list(api.pages("/readers", "readers"))
    if json:
        session.print_json(found)
    elif found:
        session.out.print(readers_table(found, here_and_now()))
    else:
        session.out.print(
            "No readers. Make one: `headwater readers add NAME --category …`.", markup=False
        )


@readers.command()
def show(ctx: typer.Context, reader: Who, json: Json = False) -> None:
    """One reader: what they follow, and their tokens without the secrets."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        meant = reader_meant(api, reader)
        tokens = _tokens(api, meant)
    if json:
        session.print_json({**meant, "tokens": tokens})
        return
    session.out.print(reader_facts(meant, here_and_now()))
    if tokens:
        session.out.print(reader_tokens_table(tokens, here_and_now()))
    else:
        session.note("No token opens this feed. Make one with `headwater readers token`.")


@readers.command("set")
def set_values(
    ctx: typer.Context,
    reader: Who,
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
        meant = reader_meant(api, reader)
        if categories or add or drop:
            followed = categories_after(meant["categories"], categories, add, drop)
            changes["categories"] = followed
        if not changes:
            raise BadInput("Say what is to change: --name, --category, --add or --drop.")
        changed = api.patch(path("readers", meant["id"]), changes)
    _told(session, changed, f"{changed['name']}: {_follows(changed)}.")


@readers.command()
def remove(ctx: typer.Context, reader: Who, yes: Yes = False, json: Json = False) -> None:
    """Take a reader away, with all tokens. What is in the categories stays."""
    session = session_of(ctx, as_json=json)
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Remove the reader {reader} and all tokens?", abort=True, err=True)
    elif not yes:
        raise BadInput("Removing a reader needs --yes when nobody can be asked.")
    with session.api(writes=True) as api:
        gone = api.delete(path("readers", reader_meant(api, reader)["id"]))
    _told(session, gone, f"{gone['name']}: removed.")


@readers.command()
def token(ctx: typer.Context, reader: Who, json: Json = False) -> None:
    """A new token: prints the whole address of the feed, once."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = reader_meant(api, reader)
        made = api.post(path("readers", meant["id"], "tokens"), {})
        served = api.is_service
    _show_once(session, meant, made, served=served)


@readers.command()
def tokens(ctx: typer.Context, reader: Who, json: Json = False) -> None:
    """A reader's tokens: how each begins, whether it is open, when it was last used."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        meant = reader_meant(api, reader)
        found = _tokens(api, meant)
    if json:
        session.print_json(found)
    elif found:
        session.out.print(reader_tokens_table(found, here_and_now()))
    else:
        session.out.print(plain(f"{meant['name']} has no tokens."))


@readers.command()
def rotate(
    ctx: typer.Context,
    reader: Who,
    which: MaybeWhich = None,
    grace: Annotated[
        str | None,
        typer.Option(help="How long the old one works too: 2h, 3d, 0.", show_default="24h"),
    ] = None,
    json: Json = False,
) -> None:
    """A new token in place of an old one, which goes on working for a while."""
    session = session_of(ctx, as_json=json)
    said = {} if grace is None else {"grace_hours": _hours(grace)}
    with session.api(writes=True) as api:
        meant = reader_meant(api, reader)
        old = token_meant(meant, _tokens(api, meant), which)
        made = api.post(path("readers", meant["id"], "tokens", old["id"], "rotate"), said)
        served = api.is_service
    end = made["replaces"]
    over = end["state"] != "ending"
    until = "opens nothing any more" if over else f"works until {_clock(end['until'])}"
    session.note(f"The old one ({old['hint']}…) {until}.")
    _show_once(session, meant, made, served=served)


@readers.command()
def revoke(ctx: typer.Context, reader: Who, which: Which, json: Json = False) -> None:
    """Make a token worthless, everywhere within a second."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        meant = reader_meant(api, reader)
        old = token_meant(meant, _tokens(api, meant), which)
        gone = api.delete(path("readers", meant["id"], "tokens", old["id"]))
    _told(session, gone, f"{meant['name']}: the token {gone['hint']}… is revoked.")


@readers.command()
def opml(
    ctx: typer.Context,
    reader: Who,
    file: Annotated[
        Path | None, typer.Argument(help="Where to write it; else stdout.", show_default=False)
    ] = None,
) -> None:
    """The sources that fill what a reader follows, as OPML."""
    session = session_of(ctx)
    with session.api() as api:
        meant = reader_meant(api, reader)
        written = api.ask(Request("GET", path("readers", meant["id"], "opml"), {})).body
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
    return list(api.get(path("readers", reader["id"], "tokens"))["tokens"])


def _hours(text: str) -> float:
    seconds = 0 if text.strip() == "0" else seconds_of(text)
    if seconds is None:
        raise BadInput(f"{text!r} is not a length of time. Say 2h, 3d or 0.", given=text)
    return seconds / 3_600


def _clock(moment: str) -> str:
    return on_the_clock(moment, here_and_now())


def _follows(reader: dict[str, Any]) -> str:
    count = len(reader["categories"])
    return f"follows {counted(count, 'category', 'categories')}" if count else "follows nothing yet"


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


def _told(session: Session, record: Any, line: str) -> None:
    if session.as_json:
        session.print_json(record)
    else:
        session.out.print(plain(line))
