"""Sinks on the command line: programs that get events. Make, check, change and remove them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.core.errors import BadInput
from headwater.entrypoints.cli.command import Commands
from headwater.entrypoints.cli.errors import ExitCode
from headwater.entrypoints.cli.files import read_json_object
from headwater.entrypoints.cli.key_values import parse_json_or_text, split_key_values
from headwater.entrypoints.cli.lookup import api_path, lookup_feed
from headwater.entrypoints.cli.options import Limit, Yes
from headwater.entrypoints.cli.render import Record
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.sink_tables import dead_letters_table, sink_details, sinks_table
from headwater.entrypoints.cli.times import local_now, parse_start
from headwater.feeds.schedule.durations import format_count
from headwater.settings.sinks import SINK_KINDS

*_FIRST_KINDS, _LAST_KIND = SINK_KINDS
_KIND_NAMES = f"{', '.join(_FIRST_KINDS)} or {_LAST_KIND}."

SinkArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of the sink.")]
Options = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY=VALUE...]", help="Its options; `KEY=` is the default again."),
]
Secrets = Annotated[
    Path | None, typer.Option("--secrets", help="A JSON file with its secrets; - is stdin.")
]
Types = Annotated[
    list[str] | None, typer.Option("--type", help="Only this type of event. May be repeated.")
]
Feeds = Annotated[
    list[str] | None, typer.Option("--feed", help="Only events of this feed. May be repeated.")
]
Categories = Annotated[
    list[str] | None, typer.Option("--category", help="Only of this category. May be repeated.")
]
Attempts = Annotated[
    int | None,
    typer.Option("--max-attempts", min=1, help="Tries before an event is a dead letter."),
]
Seqs = Annotated[
    list[int] | None, typer.Argument(metavar="[SEQ...]", help="Numbers of events.", min=1)
]
All = Annotated[bool, typer.Option("--all", help="All of its dead letters.")]

commands = Commands()
sinks = commands.family("sinks", help="Other programs that get events.")


@sinks.default()
def list_sinks(session: Session) -> None:
    """All sinks: their state and how far behind they are. See its commands for more."""
    with session.api() as api:
        sinks = list(api.pages("/sinks", "sinks"))
    empty = "No sinks. Make one: `headwater sinks add webhook NAME url=https://…`."
    session.emit(sinks, sinks_table, local_now(), empty=empty)


@sinks.command()
def add(
    session: Session,
    kind: Annotated[str, typer.Argument(metavar="KIND", help=_KIND_NAMES)],
    name: SinkArgument,
    options: Options = None,
    secrets: Secrets = None,
    types: Types = None,
    feeds: Feeds = None,
    categories: Categories = None,
    start: Annotated[
        str, typer.Option("--from", help="end, beginning, an event's number, or a time.")
    ] = "end",
    max_attempts: Attempts = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Deliver nothing yet.")] = False,
) -> None:
    """Make a sink. It gets events from now on, unless --from says otherwise."""
    with session.api(writes=True) as api:
        event_filter = _event_filter(api, types, feeds, categories)
        fields = {
            "name": name,
            "kind": kind,
            "options": {
                option: value
                for option, value in parse_options(options).items()
                if value is not None
            },
            "secrets": None if secrets is None else read_json_object(secrets),
            "wanted": event_filter or None,
            "from": None if start == "end" else parse_start(start),
            "max_attempts": max_attempts,
            "enabled": not disabled,
        }
        body = {field: value for field, value in fields.items() if value is not None}
        made = api.post("/sinks", body)
    session.emit_line(made, f"{made['name']}: {made['state']}, at event {made['cursor']:,}.")
    _show_secret_once(session, made)


@sinks.command()
def show(session: Session, name: SinkArgument) -> None:
    """One sink with everything about it, but its secrets."""
    with session.api() as api:
        sink = api.get(api_path("sinks", name))
    session.emit(sink, sink_details, local_now())


@sinks.command("set")
def set_values(
    session: Session,
    name: SinkArgument,
    options: Options = None,
    secrets: Secrets = None,
    types: Types = None,
    feeds: Feeds = None,
    categories: Categories = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="All events are wanted again.")
    ] = False,
    max_attempts: Attempts = None,
) -> None:
    """Change a sink's options, its secrets, or which events it gets."""
    with session.api(writes=True) as api:
        event_filter = _event_filter(api, types, feeds, categories)
        if everything and event_filter:
            raise BadInput("--everything goes with no --type, --feed or --category.")
        fields: dict[str, Any] = {
            "options": parse_options(options) or None,
            "secrets": None if secrets is None else read_json_object(secrets),
            "wanted": {"types": [], "feeds": [], "categories": []} if everything else event_filter,
            "max_attempts": max_attempts,
        }
        changes = {field: value for field, value in fields.items() if value}
        if not changes:
            raise BadInput("Say what is to change: KEY=VALUE, or one of the options.")
        changed = api.patch(api_path("sinks", name), changes)
    session.emit_line(changed, f"{changed['name']}: changed.")


@sinks.command()
def enable(session: Session, name: SinkArgument) -> None:
    """Deliver again from its place in the log; also after it was stopped."""
    _set_enabled(session, name, enabled=True)


@sinks.command()
def disable(session: Session, name: SinkArgument) -> None:
    """Deliver nothing for now. The sink keeps its place in the log."""
    _set_enabled(session, name, enabled=False)


@sinks.command()
def remove(session: Session, name: SinkArgument, yes: Yes = False) -> None:
    """Remove a sink with its cursor and its dead letters. Delivered events stay where they are."""
    session.confirm(
        f"Remove the sink {name} and its dead letters?",
        yes=yes,
        needs="Removing a sink needs --yes when nobody can be asked.",
    )
    with session.api(writes=True) as api:
        gone = api.delete(api_path("sinks", name))
    session.emit_line(gone, f"{gone['name']}: removed.")


@sinks.command()
def test(session: Session, name: SinkArgument) -> None:
    """Send a signed test message to a webhook now, and show its answer."""
    with session.api(writes=True) as api:
        result = api.post(api_path("sinks", name, "test"), {})
    reason = " ".join(filter(None, (result["error"], result["detail"])))
    outcome = "took it." if result["delivered"] else f"did not: {reason}"
    session.emit_line(result, f"{name}: {outcome}")
    if not result["delivered"]:
        raise typer.Exit(ExitCode.PROBLEMS)


@sinks.command()
def dead(session: Session, name: SinkArgument, limit: Limit = 50) -> None:
    """The dead letters of a sink: events that it refused, and why."""
    with session.api() as api:
        letters = api.first(api_path("sinks", name, "dead-letters"), "dead_letters", limit)
    empty = f"{name} has no dead letters."
    session.emit(letters, dead_letters_table, local_now(), empty=empty)


@sinks.command()
def retry(session: Session, name: SinkArgument, seqs: Seqs = None, all_: All = False) -> None:
    """Try named dead letters once more, or --all."""
    _check_seqs_or_all(seqs, all_=all_)
    with session.api(writes=True) as api:
        body = {"all": True} if all_ else {"seqs": seqs}
        done = api.post(api_path("sinks", name, "dead-letters", "retry"), body)
    session.emit_line(done, f"{name}: {_count_letters(done['asked'])} will be tried again.")


@sinks.command()
def forget(session: Session, name: SinkArgument, seqs: Seqs = None, all_: All = False) -> None:
    """Delete named dead letters for good, or --all. The events stay in the log."""
    _check_seqs_or_all(seqs, all_=all_)
    with session.api(writes=True) as api:
        path = api_path("sinks", name, "dead-letters")
        if all_:
            forgotten = api.delete(path, all="true")["forgotten"]
        else:
            forgotten = sum(api.delete(path, seq=seq)["forgotten"] for seq in seqs or [])
    record = {"name": name, "forgotten": forgotten}
    session.emit_line(record, f"{name}: {_count_letters(forgotten)} let go.")


@sinks.command()
def rotate(
    session: Session,
    name: SinkArgument,
    finish: Annotated[bool, typer.Option("--finish", help="The old secret signs no more.")] = False,
) -> None:
    """Make a new secret for a webhook, shown once. The old one signs too, until --finish."""
    with session.api(writes=True) as api:
        path = api_path("sinks", name, "rotate-secret")
        sink = api.post(path, {}, finish="true" if finish else None)
    line = "only the new secret signs from now on." if finish else "both secrets sign now."
    session.emit_line(sink, f"{name}: {line}")
    _show_secret_once(session, sink)


def parse_options(words: list[str] | None) -> dict[str, Any]:
    """Parse `url=https://… timeout_sec=5 raw=false` into options; `KEY=` is null."""
    return {name: _parse_option(text) for name, text in split_key_values(words or [])}


def _parse_option(text: str) -> Any:
    """Options are simple values: a JSON object or list stays the text that it is."""
    if not text:
        return None
    value = parse_json_or_text(text)
    return text if isinstance(value, dict | list) else value


def _event_filter(
    api: Api, types: list[str] | None, feeds: list[str] | None, categories: list[str] | None
) -> dict[str, list[str]]:
    """Build the filter from the options that were used; feeds by their ids."""
    fields = {
        "types": types,
        "feeds": [lookup_feed(api, feed)["id"] for feed in feeds or []],
        "categories": categories,
    }
    return {name: values for name, values in fields.items() if values}


def _set_enabled(session: Session, name: str, *, enabled: bool) -> None:
    with session.api(writes=True) as api:
        changed = api.patch(api_path("sinks", name), {"enabled": enabled})
    session.emit_line(changed, f"{changed['name']}: {changed['state']}.")


def _check_seqs_or_all(seqs: list[int] | None, *, all_: bool) -> None:
    if bool(seqs) == all_:
        raise BadInput("Name the events, or say --all.")


def _count_letters(count: int) -> str:
    return format_count(count, "dead letter", "dead letters")


def _show_secret_once(session: Session, sink: Record) -> None:
    """Print the secret; with --json it is in the record already."""
    if sink.get("secret") and not session.as_json:
        session.note("Its signing secret; it is not shown again:")
        session.out.print(sink["secret"], markup=False)
