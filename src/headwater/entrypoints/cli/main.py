"""The command line: which commands there are, and in which groups they are shown."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from headwater import __version__
from headwater.entrypoints.cli import (
    adding,
    doctor,
    entries,
    feeds,
    history,
    levels,
    opml,
    parsing,
    rereading,
    running,
    subscriptions,
    upkeep,
)
from headwater.entrypoints.cli.conflicts import conflicts
from headwater.entrypoints.cli.downloads import downloads
from headwater.entrypoints.cli.events import events
from headwater.entrypoints.cli.exits import MEANINGS, exit_code_of, tell
from headwater.entrypoints.cli.export import export
from headwater.entrypoints.cli.fetchers import fetchers
from headwater.entrypoints.cli.groups import groups
from headwater.entrypoints.cli.readers import readers
from headwater.entrypoints.cli.releases import releases
from headwater.entrypoints.cli.session import Session
from headwater.entrypoints.cli.sinks import sinks
from headwater.entrypoints.cli.tokens import tokens
from headwater.entrypoints.cli.track import track
from headwater.errors import HeadwaterError

ANYWHERE = ("--data-dir", "--url")
"""Options of `headwater` itself that may also stand after the command's name."""


class Commands(TyperGroup):
    """Turns expected trouble into a plain line and an exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _to_the_front(args))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except HeadwaterError as trouble:
            session = ctx.obj if isinstance(ctx.obj, Session) else Session()
            tell(trouble, as_json=session.as_json)
            raise typer.Exit(exit_code_of(trouble)) from trouble


EPILOG = "Exit codes: " + " · ".join(f"{int(code)} {words}" for code, words in MEANINGS.items())

app = typer.Typer(
    cls=Commands,
    name="headwater",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"headwater {__version__}")
        raise typer.Exit


@app.callback()
def headwater(
    ctx: typer.Context,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            help="Where its data is. [HEADWATER_DATA_DIR, else ./data]", show_default=False
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="A service elsewhere. [HEADWATER_URL, with HEADWATER_TOKEN]"),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version.")
    ] = False,
) -> None:
    """Headwater follows feeds: politely, exactly, and it says why."""
    ctx.obj = Session(data_dir=data_dir, url=url)


_GROUPS: dict[str, dict[str, Callable[..., None]]] = {
    "Run it": {"run": running.run, "serve": running.serve, "work": running.work},
    "Feeds": {
        "add": adding.add,
        "list": feeds.list_feeds,
        "show": feeds.show,
        "refetch": feeds.refetch,
        "pause": feeds.pause,
        "resume": feeds.resume,
        "set": feeds.set_values,
        "remove": feeds.remove,
        "visits": feeds.visits,
        "schedule": history.schedule,
        "stats": levels.stats,
    },
    "Entries": {
        "entries": entries.entries,
        "watch": entries.watch,
        "raw": history.raw,
        "parse": parsing.parse_one,
        "diff": rereading.diff,
        "reparse": rereading.reparse,
    },
    "Who fetches what": {
        "subscribe": subscriptions.subscribe,
        "unsubscribe": subscriptions.unsubscribe,
    },
    "Upkeep": {
        "doctor": doctor.doctor,
        "slo": levels.slo,
        "migrate": upkeep.migrate,
        "settings": upkeep.settings,
    },
}

for _group, _commands in _GROUPS.items():
    for _name, _command in _commands.items():
        app.command(_name, cls=running.KINDS.get(_name), rich_help_panel=_group)(_command)
app.add_typer(opml.opml, name="opml", rich_help_panel="Feeds")
app.add_typer(export, name="export", rich_help_panel="Entries")
for _name, _family in (
    ("subscriptions", subscriptions.subscriptions),
    ("fetchers", fetchers),
    ("conflicts", conflicts),
    ("groups", groups),
):
    app.add_typer(_family, name=_name, rich_help_panel="Who fetches what")
for _name, _family in (("sinks", sinks), ("events", events)):
    app.add_typer(_family, name=_name, rich_help_panel="Telling others")
app.add_typer(readers, name="readers", rich_help_panel="Personal feeds")
app.add_typer(track, name="track", rich_help_panel="Releases")
app.add_typer(releases, name="releases", rich_help_panel="Releases")
app.add_typer(downloads, name="downloads", rich_help_panel="Releases")
app.add_typer(tokens, name="tokens", rich_help_panel="Upkeep")


def main() -> None:
    app(prog_name="headwater")


def _to_the_front(args: list[str]) -> list[str]:
    front: list[str] = []
    rest: list[str] = []
    waiting = iter(args)
    for word in waiting:
        if word == "--":
            return [*front, *rest, word, *waiting]
        if word in ANYWHERE:
            front += [word, *([value] if (value := next(waiting, None)) is not None else [])]
        elif word.startswith(tuple(f"{name}=" for name in ANYWHERE)):
            front.append(word)
        else:
            rest.append(word)
    return front + rest


if __name__ == "__main__":
    main()
