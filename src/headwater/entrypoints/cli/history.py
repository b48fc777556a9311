"""What was decided and what was served: a feed's schedule, and raw bytes."""

import sys
from typing import Annotated
from urllib.parse import quote

import typer

from headwater.entrypoints.cli.find import feed_meant, path_of
from headwater.entrypoints.cli.options import FeedName, Json, Limit, here_and_now, session_of
from headwater.entrypoints.cli.render import schedule_table
from headwater.entrypoints.transport import Request


def schedule(ctx: typer.Context, feed: FeedName, limit: Limit = 20, json: Json = False) -> None:
    """Why a feed is visited when it is: every decision, in words."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        records = api.some(path_of(feed_meant(api, feed), "schedule"), "decisions", limit)
    if json:
        session.print_json(records)
    else:
        session.out.print(schedule_table(records, here_and_now()))


def raw(
    ctx: typer.Context,
    fetch_id: Annotated[
        str, typer.Argument(metavar="FETCH_ID", help="As `headwater visits` shows it.")
    ],
    meta: Annotated[bool, typer.Option("--meta", help="The record instead of the bytes.")] = False,
) -> None:
    """The exact bytes a server sent, on stdout."""
    session = session_of(ctx, as_json=meta)
    path = f"/raw/{quote(fetch_id, safe='')}"
    with session.api() as api:
        if meta:
            session.print_json(api.get(path, meta=1))
            return
        body = api.ask(Request("GET", path, headers={"accept": "*/*"})).body
    sys.stdout.buffer.write(body)
    sys.stdout.buffer.flush()
