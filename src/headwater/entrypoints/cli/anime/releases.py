"""`headwater releases`: what titles say, what was decided of each, and what a person says."""

import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Annotated, Any, BinaryIO, Literal

import orjson
import typer
from rich.table import Table
from rich.text import Text

from headwater.anime.release import JsonValue, release_as_json
from headwater.entrypoints.cli.lookup import api_path
from headwater.entrypoints.cli.options import Json, Limit, local_now, session_of
from headwater.entrypoints.cli.render import Record, details_table, safe_text, table
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.times import local_time
from headwater.entrypoints.lazy_import import lazy_import
from headwater.feeds.schedule.durations import format_count

_COLOURS = {
    "fetch": "green",
    "upgrade": "green",
    "hold": "yellow",
    "removed": "dim",
    "skip": "dim",
    "refused": "red",
}


def releases_table(found: Iterable[Record], now: datetime) -> Table:
    made = table("id", "found", "what", "episode", "title", "why", wide=("title", "why"))
    for each in found:
        made.add_row(
            str(each["id"]),
            local_time(each["found_at"], now),
            _action(each),
            safe_text(slots_in_words(each["slots"])),
            safe_text(each["title"], 200),
            safe_text(each["reason"], 300),
        )
    return made


def release_details(each: Record, now: datetime) -> Table:
    said = each["release"]
    return details_table(
        [
            ("release", str(each["id"])),
            ("title", safe_text(each["title"], 2_000)),
            ("tracking", str(each["tracking_id"])),
            ("decided", _action(each)),
            ("rule", safe_text(each["rule"])),
            ("why", safe_text(each["reason"], 2_000)),
            ("episode", safe_text(slots_in_words(each["slots"]))),
            ("download", safe_text(_download(each["download"]))),
            ("groups", safe_text(" & ".join(said["groups"]))),
            ("subtitles", safe_text(", ".join(said["subtitles"]))),
            ("resolution", safe_text(said["resolution"])),
            ("source", safe_text(said["source"])),
            ("version", safe_text(said["version"])),
            ("hash", safe_text(each["infohash"])),
            ("size", safe_text(_size(each["size"]))),
            ("seeders", safe_text(each["seeders"])),
            ("doubts", safe_text("; ".join(each["doubts"]), 2_000)),
            ("came out", local_time(each["published"], now)),
            ("first seen", local_time(each["first_seen"], now)),
            ("decided at", local_time(each["decided_at"], now)),
        ]
    )


def outcome_in_words(outcome: Record) -> str:
    """What came of looking, for one line."""
    wanted = outcome["fetch"] + outcome["upgrade"]
    others = {"held": "hold", "skipped": "skip", "removed by the filter": "removed"}
    said = [f"{format_count(wanted, 'release', 'releases')} wanted"]
    said += [f"{outcome[name]:,} {words}" for words, name in others.items()]
    return ", ".join(said) + "."


def slots_in_words(slots: list[Record]) -> str:
    """`S01E03`, or `S01E01 to S01E12` for many."""
    names = [str(slot["name"]) for slot in slots]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} to {names[-1]}"


def _action(each: Record) -> Text:
    action = str(each["action"])
    return Text(action, style=_COLOURS.get(action, ""))


def _download(taken: Record | None) -> str | None:
    return None if taken is None else f"{taken['id']}, {taken['state']}"


def _size(size: int | None) -> str | None:
    return None if size is None else f"{size / 1_048_576:,.0f} MiB"


releases = typer.Typer(
    no_args_is_help=True, help="Releases: what their titles say, what was decided, and why."
)
ReleaseArgument = Annotated[int, typer.Argument(metavar="RELEASE", min=1, help="Its number.")]
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
        session.out.print(releases_table(found, local_now()))
    else:
        session.out.print("No releases. `headwater track add URL` collects a show.", markup=False)


@releases.command("show")
def show_release(ctx: typer.Context, release: ReleaseArgument, json: Json = False) -> None:
    """One release: what its title says, what was decided of it, and why."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = api.get(api_path("releases", release))
    if json:
        session.print_json(found)
    else:
        session.out.print(release_details(found, local_now()))


@releases.command()
def take(
    ctx: typer.Context,
    release: ReleaseArgument,
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
        done = api.post(api_path("releases", release, "take"), body)
    _print_result(session, done, f"Release {release} is taken: {slots_in_words(done['slots'])}.")


@releases.command()
def refuse(ctx: typer.Context, release: ReleaseArgument, json: Json = False) -> None:
    """Never download it, nor its torrent from another feed, for this show."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        done = api.post(api_path("releases", release, "refuse"), {})
    _print_result(session, done, f"Release {release} is refused.")


@releases.command()
def decide(
    ctx: typer.Context,
    tracking: Annotated[int, typer.Option("--tracking", min=1, help="Its number.")],
    json: Json = False,
) -> None:
    """Look again at what was held, skipped or removed, by what the tracking wants now."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        done = api.post(api_path("trackings", tracking, "decide"), {})
    _print_result(session, done, f"Decided anew: {outcome_in_words(done)}")


def _print_result(session: Session, record: dict[str, Any], words: str) -> None:
    if session.as_json:
        session.print_json(record)
    else:
        session.out.print(safe_text(words))


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
    read_title = lazy_import("headwater.anime.title:read_title")
    for title in _read_titles(titles):
        reading = read_title(title)
        if json:
            _write(reading, with_trace=trace)
        else:
            _show(session, title, reading)


def _read_titles(titles: Iterable[str]) -> Iterator[str]:
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
    session.out.print(details_table([("release", safe_text(title))]))
    shown = table("field", "value", "text", "because of", wide=("value", "text"))
    last = {finding.field: finding for finding in reading.trace}
    for finding in last.values():
        shown.add_row(
            safe_text(finding.field),
            safe_text(finding.value),
            safe_text(finding.text, 80),
            safe_text(finding.rule),
        )
    session.out.print(shown)
