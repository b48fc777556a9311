"""`headwater releases`: what titles say, what was decided of each, and what a person says."""

import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, BinaryIO, Literal

import orjson
import typer

from headwater.collect.release import JsonValue, release_as_json
from headwater.entrypoints.cli.meant import path
from headwater.entrypoints.cli.options import Json, Limit, here_and_now, session_of
from headwater.entrypoints.cli.release_tables import (
    outcome_in_words,
    release_facts,
    releases_table,
    slots_in_words,
)
from headwater.entrypoints.cli.render import facts, plain, table
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.late import late

releases = typer.Typer(
    no_args_is_help=True, help="Releases: what their titles say, what was decided, and why."
)

Which = Annotated[int, typer.Argument(metavar="RELEASE", min=1, help="Its number.")]
Actions = Literal["fetch", "upgrade", "hold", "skip", "removed", "refused"]

LONGEST_LINE = 65_536
"""No more bytes of a line than this are looked at; no title is so long."""


@releases.command("list")
def list_releases(
    ctx: typer.Context,
    tracking: Annotated[
        int | None, typer.Option("--tracking", min=1, help="Only of this tracking.")
    ] = None,
    show: Annotated[int | None, typer.Option("--show", min=1, help="Only of this show.")] = None,
    action: Annotated[
        Actions | None, typer.Option("--action", help="Only what was decided so.")
    ] = None,
    rule: Annotated[str | None, typer.Option("--rule", help="Only what it decided.")] = None,
    limit: Limit = 50,
    json: Json = False,
) -> None:
    """Every entry that was looked at, wanted or not, the newest first."""
    session = session_of(ctx, as_json=json)
    asked = {"tracking": tracking, "show": show, "action": action, "rule": rule}
    with session.api() as api:
        found = api.some("/releases", "releases", limit, **asked)
    if json:
        session.print_json(found)
    elif found:
        session.out.print(releases_table(found, here_and_now()))
    else:
        session.out.print("No releases. `headwater track add URL` collects a show.", markup=False)


@releases.command("show")
def show_release(ctx: typer.Context, release: Which, json: Json = False) -> None:
    """One release: what its title says, what was decided of it, and why."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = api.get(path("releases", release))
    if json:
        session.print_json(found)
    else:
        session.out.print(release_facts(found, here_and_now()))


@releases.command()
def take(
    ctx: typer.Context,
    release: Which,
    episode: Annotated[
        list[float] | None,
        typer.Option("--episode", min=0, help="Which episode it is. May be repeated."),
    ] = None,
    season: Annotated[
        int | None, typer.Option("--season", min=0, help="With --episode: of this season.")
    ] = None,
    json: Json = False,
) -> None:
    """Download it whatever was decided; what has its place in the library gives way."""
    session = session_of(ctx, as_json=json)
    body: dict[str, Any] = {"season": season} if season is not None else {}
    if episode:
        body["episodes"] = [int(each) if each.is_integer() else each for each in episode]
    with session.api(writes=True) as api:
        done = api.post(path("releases", release, "take"), body)
    _told(session, done, f"Release {release} is taken: {slots_in_words(done['slots'])}.")


@releases.command()
def refuse(ctx: typer.Context, release: Which, json: Json = False) -> None:
    """Never download it, nor its torrent from another feed, for this show."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        done = api.post(path("releases", release, "refuse"), {})
    _told(session, done, f"Release {release} is refused.")


@releases.command()
def decide(
    ctx: typer.Context,
    tracking: Annotated[int, typer.Option("--tracking", min=1, help="Its number.")],
    json: Json = False,
) -> None:
    """Look again at what was held, skipped or removed, by what the tracking wants now."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        done = api.post(path("trackings", tracking, "decide"), {})
    _told(session, done, f"Decided anew: {outcome_in_words(done)}")


def _told(session: Session, record: dict[str, Any], words: str) -> None:
    if session.as_json:
        session.print_json(record)
    else:
        session.out.print(plain(words))


@releases.command("parse")
def parse(
    ctx: typer.Context,
    titles: Annotated[list[str], typer.Argument(metavar="TITLE…|-", help="- is stdin.")],
    json: Json = False,
    trace: Annotated[bool, typer.Option("--trace", help="With --json: say why, too.")] = False,
) -> None:
    """Read release titles and say what each field is, and why; nothing is stored."""
    session = session_of(ctx, as_json=json)
    # Its patterns take a while to get ready: only this command waits for that.
    read_title = late("headwater.collect.title:read_title")
    for title in _given(titles):
        reading = read_title(title)
        if json:
            _write(reading, with_trace=trace)
        else:
            _show(session, title, reading)


def _given(titles: Iterable[str]) -> Iterator[str]:
    """The titles themselves; for a dash, the lines of stdin as they come."""
    for title in titles:
        if title == "-":
            yield from lines_of(sys.stdin.buffer)
        else:
            yield title


def lines_of(stream: BinaryIO, longest: int = LONGEST_LINE) -> Iterator[str]:
    """Line by line, one answer for each, however long a line is and whatever bytes it has."""
    while line := stream.readline(longest):
        whole = line
        while whole and not whole.endswith(b"\n"):
            whole = stream.readline(longest)
        yield line.rstrip(b"\r\n").decode("utf-8", "replace")


def _write(reading: Any, *, with_trace: bool) -> None:
    """One object on one line, and on its way at once: somebody may wait for it."""
    record: dict[str, JsonValue | list[dict[str, str]]] = {**release_as_json(reading.release)}
    if with_trace:
        record["trace"] = [finding._asdict() for finding in reading.trace]
    sys.stdout.buffer.write(orjson.dumps(record) + b"\n")
    sys.stdout.buffer.flush()


def _show(session: Session, title: str, reading: Any) -> None:
    session.out.print(facts([("release", plain(title))]))
    shown = table("field", "value", "text", "because of", wide=("value", "text"))
    last = {finding.field: finding for finding in reading.trace}
    for finding in last.values():
        shown.add_row(
            plain(finding.field), plain(finding.value), plain(finding.text, 80), plain(finding.rule)
        )
    session.out.print(shown)
