"""Sinks: other programs that are told of events. Make them, look after them, take them away."""

import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.table import Table
from rich.text import Text

from headwater.core.errors import BadInput
from headwater.core.values.instant import rfc3339
from headwater.entrypoints.cli.errors import ExitCode
from headwater.entrypoints.cli.lookup import api_path, lookup_feed
from headwater.entrypoints.cli.options import Json, Limit, Yes, local_now, session_of
from headwater.entrypoints.cli.render import Record, details_table, safe_text, state_text, table
from headwater.entrypoints.cli.session import Api, Session
from headwater.entrypoints.cli.subscriptions.subscriptions import read_json_object
from headwater.entrypoints.cli.times import local_time, parse_moment, relative_time
from headwater.feeds.schedule.durations import format_count
from headwater.wiring.kind_names import SINK_KINDS

_COLOURS = {"waiting": "yellow", "stopped": "red"}


def sinks_table(sinks: Iterable[Record], now: datetime) -> Table:
    made = table(
        "name", "kind", "state", "behind", "delivered", "dead", "last", "trouble", wide=("trouble",)
    )
    for each in sinks:
        made.add_row(
            safe_text(each["name"]),
            safe_text(each["kind"]),
            _state(each),
            f"{each['lag']:,}",
            f"{each['delivered']:,}",
            f"{each['dead_letters']:,}",
            relative_time(each["last_delivered_at"], now),
            safe_text(_trouble(each, now), 200),
        )
    return made


def sink_details(each: Record, now: datetime) -> Table:
    attempts = each["max_attempts"]
    return details_table(
        [
            ("sink", safe_text(each["name"])),
            ("kind", safe_text(each["kind"])),
            ("made by", _maker(each)),
            ("state", _state(each)),
            ("why stopped", safe_text(each["stopped"])),
            ("options", safe_text(_options_in_words(each["options"]), 2_000)),
            ("secrets", "held" if each["has_secrets"] else "none"),
            ("events", safe_text(event_filter_in_words(each["wanted"]), 2_000)),
            ("tries", "until it is taken" if attempts is None else f"{attempts:,} for each event"),
            ("has come to", f"{each['cursor']:,}"),
            ("behind", f"{each['lag']:,}"),
            ("delivered", f"{each['delivered']:,}"),
            ("last delivered", local_time(each["last_delivered_at"], now)),
            ("dead letters", f"{each['dead_letters']:,}"),
            ("replays", f"{each['replays']:,}"),
            ("failures in a row", f"{each['failures']:,}"),
            ("failing since", local_time(each["failing_since"], now)),
            ("last error", safe_text(_error(each))),
            ("next try", local_time(each["next_try_at"], now)),
            ("since", local_time(each["created_at"], now)),
        ]
    )


def _maker(each: Record) -> str:
    if each["kind"] == "personal":
        return "Headwater itself, for personal feeds"
    return "the settings" if each["origin"] == "settings" else "a person"


def event_filter_in_words(wanted: Record) -> str:
    said = [f"{name} {', '.join(chosen)}" for name, chosen in wanted.items() if chosen]
    return "; ".join(said) or "all"


def dead_letters_table(letters: Iterable[Record], now: datetime) -> Table:
    made = table("event", "type", "tries", "died", "error", "retry", wide=("error",))
    for each in letters:
        made.add_row(
            str(each["seq"]),
            safe_text(each["type"]),
            str(each["attempts"]),
            local_time(each["died_at"], now),
            safe_text(f"{each['error']}: {each['detail']}" if each["detail"] else each["error"]),
            "asked for" if each["retry_asked"] else "–",
        )
    return made


def _state(each: Record) -> Text:
    state = str(each["state"])
    return Text(state, style=_COLOURS[state]) if state in _COLOURS else state_text(state)


def _trouble(each: Record, now: datetime) -> str | None:
    """Only what is wrong now."""
    if each["stopped"]:
        return str(each["stopped"])
    if each["state"] != "waiting":
        return None
    again = (
        f"; tried again {relative_time(each['next_try_at'], now)}" if each["next_try_at"] else ""
    )
    return f"{_error(each)}{again}"


def _error(each: Record) -> str | None:
    error, detail = each["last_error"], each["last_detail"]
    return f"{error}: {detail}" if error and detail else error


def _options_in_words(options: Record) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())


sinks = typer.Typer(
    invoke_without_command=True,
    help="Other programs that are told of events.",
)
*_FIRST_KINDS, _LAST_KIND = SINK_KINDS
_KIND_NAMES = f"{', '.join(_FIRST_KINDS)} or {_LAST_KIND}."
SinkArgument = Annotated[str, typer.Argument(metavar="NAME", help="What the sink is called.")]
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


@sinks.callback()
def list_sinks(ctx: typer.Context, json: Json = False) -> None:
    """All sinks: their state and how far behind they are. See its commands for more."""
    if ctx.invoked_subcommand is not None:
        return
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = list(api.pages("/sinks", "sinks"))
    if json:
        session.print_json(found)
    elif found:
        session.out.print(sinks_table(found, local_now()))
    else:
        session.out.print(
            "No sinks. Make one: `headwater sinks add webhook NAME url=https://…`.", markup=False
        )


@sinks.command()
def add(
    ctx: typer.Context,
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
    json: Json = False,
) -> None:
    """Make a sink. It is told of what happens from now on, unless --from says otherwise."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        wanted = _event_filter(api, types, feeds, categories)
        said = {
            "name": name,
            "kind": kind,
            "options": {k: v for k, v in parse_options(options).items() if v is not None},
            "secrets": None if secrets is None else read_json_object(secrets),
            "wanted": wanted or None,
            "from": None if start == "end" else parse_start(start),
            "max_attempts": max_attempts,
            "enabled": not disabled,
        }
        made = api.post("/sinks", {key: value for key, value in said.items() if value is not None})
    _print_result(session, made, f"{made['name']}: {made['state']}, at event {made['cursor']:,}.")
    _show_once(session, made)


@sinks.command()
def show(ctx: typer.Context, name: SinkArgument, json: Json = False) -> None:
    """One sink with everything about it, but its secrets."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = api.get(api_path("sinks", name))
    if json:
        session.print_json(found)
    else:
        session.out.print(sink_details(found, local_now()))


@sinks.command("set")
def set_values(
    ctx: typer.Context,
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
    json: Json = False,
) -> None:
    """Change a sink's options, its secrets, or which events it gets."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        wanted = _event_filter(api, types, feeds, categories)
        if everything and wanted:
            raise BadInput("--everything goes with no --type, --feed or --category.")
        said: dict[str, Any] = {
            "options": parse_options(options) or None,
            "secrets": None if secrets is None else read_json_object(secrets),
            "wanted": {"types": [], "feeds": [], "categories": []} if everything else wanted,
            "max_attempts": max_attempts,
        }
        changes = {key: value for key, value in said.items() if value}
        if not changes:
            raise BadInput("Say what is to change: KEY=VALUE, or one of the options.")
        changed = api.patch(api_path("sinks", name), changes)
    _print_result(session, changed, f"{changed['name']}: changed.")


@sinks.command()
def enable(ctx: typer.Context, name: SinkArgument, json: Json = False) -> None:
    """Deliver again, from where it was; also after it was stopped."""
    _switch(ctx, name, enabled=True, json=json)


@sinks.command()
def disable(ctx: typer.Context, name: SinkArgument, json: Json = False) -> None:
    """Deliver nothing for now; how far it is stays known."""
    _switch(ctx, name, enabled=False, json=json)


@sinks.command()
def remove(ctx: typer.Context, name: SinkArgument, yes: Yes = False, json: Json = False) -> None:
    """Take a sink away, with its cursor and its dead letters. What it has been told stays there."""
    session = session_of(ctx, as_json=json)
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Remove the sink {name} and its dead letters?", abort=True, err=True)
    elif not yes:
        raise BadInput("Removing a sink needs --yes when nobody can be asked.")
    with session.api(writes=True) as api:
        gone = api.delete(api_path("sinks", name))
    _print_result(session, gone, f"{gone['name']}: removed.")


@sinks.command()
def test(ctx: typer.Context, name: SinkArgument, json: Json = False) -> None:
    """Send a signed test message to a webhook now, and show what it says to that."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        result = api.post(api_path("sinks", name, "test"), {})
    why = " ".join(filter(None, (result["error"], result["detail"])))
    said = "took it." if result["delivered"] else f"did not: {why}"
    _print_result(session, result, f"{name}: {said}")
    if not result["delivered"]:
        raise typer.Exit(ExitCode.PROBLEMS)


@sinks.command()
def dead(ctx: typer.Context, name: SinkArgument, limit: Limit = 50, json: Json = False) -> None:
    """Its dead letters: events it would not take, and why."""
    session = session_of(ctx, as_json=json)
    with session.api() as api:
        found = api.some(api_path("sinks", name, "dead-letters"), "dead_letters", limit)
    if json:
        session.print_json(found)
    elif found:
        session.out.print(dead_letters_table(found, local_now()))
    else:
        session.out.print(safe_text(f"{name} has no dead letters."))


@sinks.command()
def retry(
    ctx: typer.Context, name: SinkArgument, seqs: Seqs = None, all_: All = False, json: Json = False
) -> None:
    """Try dead letters once more: those that are named, or --all."""
    session = session_of(ctx, as_json=json)
    _check_seqs_or_all(seqs, all_=all_)
    with session.api(writes=True) as api:
        said = {"all": True} if all_ else {"seqs": seqs}
        done = api.post(api_path("sinks", name, "dead-letters", "retry"), said)
    _print_result(session, done, f"{name}: {_letters(done['asked'])} will be tried again.")


@sinks.command()
def forget(
    ctx: typer.Context, name: SinkArgument, seqs: Seqs = None, all_: All = False, json: Json = False
) -> None:
    """Let dead letters go for good: those that are named, or --all. The events stay in the log."""
    session = session_of(ctx, as_json=json)
    _check_seqs_or_all(seqs, all_=all_)
    with session.api(writes=True) as api:
        where = api_path("sinks", name, "dead-letters")
        if all_:
            forgotten = api.delete(where, all="true")["forgotten"]
        else:
            forgotten = sum(api.delete(where, seq=each)["forgotten"] for each in seqs or [])
    _print_result(
        session, {"name": name, "forgotten": forgotten}, f"{name}: {_letters(forgotten)} let go."
    )


@sinks.command()
def rotate(
    ctx: typer.Context,
    name: SinkArgument,
    finish: Annotated[bool, typer.Option("--finish", help="The old secret signs no more.")] = False,
    json: Json = False,
) -> None:
    """A new secret for a webhook, shown once. The old one signs too until you say --finish."""
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        where = api_path("sinks", name, "rotate-secret")
        turned = api.post(where, {}, finish="true" if finish else None)
    line = "only the new secret signs from now on." if finish else "both secrets sign now."
    _print_result(session, turned, f"{name}: {line}")
    _show_once(session, turned)


def parse_options(values: list[str] | None) -> dict[str, Any]:
    """`url=https://… timeout_sec=5 raw=false` → options; `KEY=` is null."""
    said: dict[str, Any] = {}
    for pair in values or []:
        name, mark, text = pair.partition("=")
        if not mark or not name:
            raise BadInput(f"{pair!r} is not KEY=VALUE.", given=pair)
        said[name] = _parse_option_value(text)
    return said


def parse_start(text: str) -> int | str:
    """`beginning`, a number, or a time as people write it."""
    if text == "beginning":
        return text
    if text.isascii() and text.isdigit():
        return int(text)
    return rfc3339(parse_moment(text, local_now()))


def _parse_option_value(text: str) -> Any:
    if not text:
        return None
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return text if isinstance(said, dict | list) else said


def _event_filter(
    api: Api, types: list[str] | None, feeds: list[str] | None, categories: list[str] | None
) -> dict[str, list[str]]:
    """Only what was said; feeds by their ids."""
    said = {
        "types": types,
        "feeds": [lookup_feed(api, each)["id"] for each in feeds or []],
        "categories": categories,
    }
    return {name: chosen for name, chosen in said.items() if chosen}


def _switch(ctx: typer.Context, name: str, *, enabled: bool, json: bool) -> None:
    session = session_of(ctx, as_json=json)
    with session.api(writes=True) as api:
        changed = api.patch(api_path("sinks", name), {"enabled": enabled})
    _print_result(session, changed, f"{changed['name']}: {changed['state']}.")


def _check_seqs_or_all(seqs: list[int] | None, *, all_: bool) -> None:
    if bool(seqs) == all_:
        raise BadInput("Name the events, or say --all.")


def _letters(count: int) -> str:
    return format_count(count, "dead letter", "dead letters")


def _show_once(session: Session, record: dict[str, Any]) -> None:
    """With --json it is in the record."""
    if record.get("secret") and not session.as_json:
        session.note("Its signing secret; it is not shown again:")
        session.out.print(record["secret"], markup=False)


def _print_result(session: Session, record: Any, line: str) -> None:
    if session.as_json:
        session.print_json(record)
    else:
        session.out.print(safe_text(line))
