"""`headwater releases`: list releases with their decisions, decide by hand, read titles."""

import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Annotated, Any, BinaryIO, Literal

import orjson
import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headwater.anime.release import JsonValue, release_as_json
from headwater.entrypoints.cli.anime.tracking_tables import slots_in_words
from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.files import write_output
from headwater.entrypoints.cli.lookup import api_path
from headwater.entrypoints.cli.options import Limit
from headwater.entrypoints.cli.render import Record, details_table, safe_text, table
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.times import local_now, local_time
from headwater.entrypoints.lazy_import import lazy_import
from headwater.feeds.schedule.durations import format_count

ReleaseArgument = Annotated[int, typer.Argument(metavar="RELEASE", min=1, help="Its number.")]
Actions = Literal["fetch", "upgrade", "hold", "skip", "removed", "refused"]

LONGEST_LINE = 65_536
"""Longer lines are cut to so many bytes; no title is so long."""
_COLOURS = {
    "fetch": "green",
    "upgrade": "green",
    "hold": "yellow",
    "removed": "dim",
    "skip": "dim",
    "refused": "red",
}

commands = Commands()
releases = commands.family(
    "releases", help="Releases: what their titles say, what was decided, and why."
)


@releases.command("list")
def list_releases(
    session: Session,
    tracking: Annotated[
        int | None, typer.Option("--tracking", min=1, help="Only of this tracking.")
    ] = None,
    show: Annotated[int | None, typer.Option("--show", min=1, help="Only of this show.")] = None,
    action: Annotated[
        Actions | None, typer.Option("--action", help="Only what was decided so.")
    ] = None,
    rule: Annotated[str | None, typer.Option("--rule", help="Only what it decided.")] = None,
    limit: Limit = 50,
) -> None:
    """Every entry that was looked at, wanted or not, the newest first."""
    query = {"tracking": tracking, "show": show, "action": action, "rule": rule}
    with session.api() as api:
        releases = api.first("/releases", "releases", limit, **query)
    empty = "No releases. `headwater track add URL` collects a show."
    session.emit(releases, releases_table, local_now(), empty=empty)


@releases.command("show")
def show_release(session: Session, release: ReleaseArgument) -> None:
    """One release: what its title says, what was decided of it, and why."""
    with session.api() as api:
        record = api.get(api_path("releases", release))
    session.emit(record, release_details, local_now())


@releases.command()
def take(
    session: Session,
    release: ReleaseArgument,
    episode: Annotated[
        list[float] | None,
        typer.Option("--episode", min=0, help="Which episode it is. May be repeated."),
    ] = None,
    season: Annotated[
        int | None, typer.Option("--season", min=0, help="With --episode: of this season.")
    ] = None,
) -> None:
    """Download a release whatever was decided. It replaces the file in its place in the library."""
    body: dict[str, Any] = {"season": season} if season is not None else {}
    if episode:
        body["episodes"] = [int(number) if number.is_integer() else number for number in episode]
    with session.api(writes=True) as api:
        done = api.post(api_path("releases", release, "take"), body)
    session.emit_line(done, f"Release {release} is taken: {slots_in_words(done['slots'])}.")


@releases.command()
def refuse(session: Session, release: ReleaseArgument) -> None:
    """Never download it, nor its torrent from another feed, for this show."""
    with session.api(writes=True) as api:
        done = api.post(api_path("releases", release, "refuse"), {})
    session.emit_line(done, f"Release {release} is refused.")


@releases.command()
def decide(
    session: Session,
    tracking: Annotated[int, typer.Option("--tracking", min=1, help="Its number.")],
) -> None:
    """Decide again on held, skipped and removed releases, by the present wishes of the tracking."""
    with session.api(writes=True) as api:
        done = api.post(api_path("trackings", tracking, "decide"), {})
    session.emit_line(done, f"Decided anew: {outcome_in_words(done)}")


@releases.command()
def parse(
    session: Session,
    titles: Annotated[list[str], typer.Argument(metavar="TITLE…|-", help="- is stdin.")],
    *,
    trace: Annotated[bool, typer.Option("--trace", help="With --json: say why, too.")] = False,
) -> None:
    """Read release titles, and show each field with its reason. Nothing is stored."""
    # Compiling its patterns takes a while: only this command waits for that.
    read_title = lazy_import("headwater.anime.title:read_title")
    for title in _read_titles(titles):
        reading = read_title(title)
        if session.as_json:
            _write_line(reading, with_trace=trace)
        else:
            session.out.print(title_and_fields(title, reading))


def _read_titles(titles: Iterable[str]) -> Iterator[str]:
    """Yield the titles; for `-` the lines of stdin as they come."""
    for title in titles:
        if title == "-":
            yield from lines_of(sys.stdin.buffer)
        else:
            yield title


def lines_of(stream: BinaryIO, longest: int = LONGEST_LINE) -> Iterator[str]:
    """Yield one text for each line, however long a line is and whatever bytes it has."""
    while line := stream.readline(longest):
        chunk = line
        while chunk and not chunk.endswith(b"\n"):
            chunk = stream.readline(longest)
        yield line.rstrip(b"\r\n").decode("utf-8", "replace")


def _write_line(reading: Any, *, with_trace: bool) -> None:
    """Write one object on one line, and flush it: another program may wait for it."""
    record: dict[str, JsonValue | list[dict[str, str]]] = {**release_as_json(reading.release)}
    if with_trace:
        record["trace"] = [finding._asdict() for finding in reading.trace]
    write_output(orjson.dumps(record) + b"\n")


def releases_table(releases: Iterable[Record], now: datetime) -> Table:
    made = table("id", "found", "what", "episode", "title", "why", wide=("title", "why"))
    for release in releases:
        made.add_row(
            str(release["id"]),
            local_time(release["found_at"], now),
            _action(release),
            safe_text(slots_in_words(release["slots"])),
            safe_text(release["title"], 200),
            safe_text(release["reason"], 300),
        )
    return made


def release_details(release: Record, now: datetime) -> Table:
    reading, download, size = release["release"], release["download"], release["size"]
    return details_table(
        [
            ("release", str(release["id"])),
            ("title", safe_text(release["title"], 2_000)),
            ("tracking", str(release["tracking_id"])),
            ("decided", _action(release)),
            ("rule", safe_text(release["rule"])),
            ("why", safe_text(release["reason"], 2_000)),
            ("episode", safe_text(slots_in_words(release["slots"]))),
            ("download", safe_text(f"{download['id']}, {download['state']}" if download else None)),
            ("groups", safe_text(" & ".join(reading["groups"]))),
            ("subtitles", safe_text(", ".join(reading["subtitles"]))),
            ("resolution", safe_text(reading["resolution"])),
            ("source", safe_text(reading["source"])),
            ("version", safe_text(reading["version"])),
            ("hash", safe_text(release["infohash"])),
            ("size", safe_text(None if size is None else f"{size / 1_048_576:,.0f} MiB")),
            ("seeders", safe_text(release["seeders"])),
            ("doubts", safe_text("; ".join(release["doubts"]), 2_000)),
            ("came out", local_time(release["published"], now)),
            ("first seen", local_time(release["first_seen"], now)),
            ("decided at", local_time(release["decided_at"], now)),
        ]
    )


def outcome_in_words(outcome: Record) -> str:
    """The counts of new decisions, in one line."""
    taken = outcome["fetch"] + outcome["upgrade"]
    others = {"held": "hold", "skipped": "skip", "removed by the filter": "removed"}
    parts = [f"{format_count(taken, 'release', 'releases')} wanted"]
    parts += [f"{outcome[name]:,} {words}" for words, name in others.items()]
    return ", ".join(parts) + "."


def _action(release: Record) -> Text:
    action = str(release["action"])
    return Text(action, style=_COLOURS.get(action, ""))


def title_and_fields(title: str, reading: Any) -> RenderableType:
    fields = table("field", "value", "text", "because of", wide=("value", "text"))
    last = {finding.field: finding for finding in reading.trace}
    for finding in last.values():
        fields.add_row(
            safe_text(finding.field),
            safe_text(finding.value),
            safe_text(finding.text, 80),
            safe_text(finding.rule),
        )
    return Group(details_table([("release", safe_text(title))]), fields)
