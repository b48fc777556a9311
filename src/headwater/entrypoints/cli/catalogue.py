"""The catalogue of commands: where each one is; its module is loaded when it is called."""

from collections.abc import Iterator, MutableMapping
from typing import Any

import typer
from typer.main import get_group

from headwater.entrypoints.lazy_import import lazy_import

PANELS: dict[str, dict[str, str]] = {
    "Run it": {"run": "system.run:run", "serve": "system.run:serve", "work": "system.run:work"},
    "Feeds": {
        "add": "feeds:add",
        "list": "feeds:list_feeds",
        "show": "feeds:show",
        "refetch": "feeds:refetch",
        "pause": "feeds:pause",
        "resume": "feeds:resume",
        "set": "feeds:set_values",
        "remove": "feeds:remove",
        "visits": "feeds:visits",
        "schedule": "feeds:schedule",
        "stats": "system.service_levels:stats",
        "opml": "opml:opml",
    },
    "Entries": {
        "entries": "entries:entries",
        "watch": "entries:watch",
        "raw": "entries:raw",
        "parse": "parse:parse_one",
        "diff": "entries:diff",
        "reparse": "entries:reparse",
        "export": "export:export",
    },
    "Who fetches what": {
        "subscribe": "subscriptions.subscriptions:subscribe",
        "unsubscribe": "subscriptions.subscriptions:unsubscribe",
        "subscriptions": "subscriptions.subscriptions:subscriptions",
        "fetchers": "subscriptions.fetchers:fetchers",
        "conflicts": "subscriptions.conflicts:conflicts",
        "groups": "subscriptions.groups:groups",
    },
    "Upkeep": {
        "doctor": "system.doctor:doctor",
        "slo": "system.service_levels:slo",
        "migrate": "system.migrate:migrate",
        "settings": "system.migrate:settings",
        "tokens": "system.tokens:tokens",
    },
    "Telling others": {"sinks": "sinks:sinks", "events": "events:events"},
    "Personal feeds": {"readers": "readers:readers"},
    "Releases": {
        "track": "anime.trackings:track",
        "releases": "anime.releases:releases",
        "downloads": "anime.downloads:downloads",
    },
}
"""Command or family of commands, by the panel of the help that shows it."""

COMMAND_CLASSES = {"run": "system.run:ServeCommand", "serve": "system.run:ServeCommand"}
"""Commands that read their words in a way of their own."""

_PLACES = {name: (panel, at) for panel, places in PANELS.items() for name, at in places.items()}


class LazyCommands(MutableMapping[str, Any]):
    """Commands by name. All names are known from the start; what they stand for is made late."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            panel, place = _PLACES[name]
            self._made[name] = _command(name, panel, place)
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**_PLACES, **self._made})

    def __len__(self) -> int:
        return len({**_PLACES, **self._made})


def _command(name: str, panel: str, place: str) -> Any:
    """Made by Typer inside a program of its own, which has this command alone."""
    found = _import_command(place)
    alone = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name, rich_help_panel=panel)
    else:
        kind = _import_command(COMMAND_CLASSES[name]) if name in COMMAND_CLASSES else None
        alone.command(name, cls=kind, rich_help_panel=panel)(found)
    return get_group(alone).commands[name]


def _import_command(place: str) -> Any:
    return lazy_import(f"headwater.entrypoints.cli.{place}")
