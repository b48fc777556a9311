"""Which commands there are and where each is: a command's room is opened when it is called."""

from collections.abc import Iterator, MutableMapping
from typing import Any

import typer
from typer.main import get_group

from headwater.entrypoints.late import late

PANELS: dict[str, dict[str, str]] = {
    "Run it": {"run": "running:run", "serve": "running:serve", "work": "running:work"},
    "Feeds": {
        "add": "adding:add",
        "list": "feeds:list_feeds",
        "show": "feeds:show",
        "refetch": "feeds:refetch",
        "pause": "feeds:pause",
        "resume": "feeds:resume",
        "set": "feeds:set_values",
        "remove": "feeds:remove",
        "visits": "feeds:visits",
        "schedule": "history:schedule",
        "stats": "levels:stats",
        "opml": "opml:opml",
    },
    "Entries": {
        "entries": "entries:entries",
        "watch": "entries:watch",
        "raw": "history:raw",
        "parse": "parsing:parse_one",
        "diff": "rereading:diff",
        "reparse": "rereading:reparse",
        "export": "export:export",
    },
    "Who fetches what": {
        "subscribe": "subscriptions:subscribe",
        "unsubscribe": "subscriptions:unsubscribe",
        "subscriptions": "subscriptions:subscriptions",
        "fetchers": "fetchers:fetchers",
        "conflicts": "conflicts:conflicts",
        "groups": "groups:groups",
    },
    "Upkeep": {
        "doctor": "doctor:doctor",
        "slo": "levels:slo",
        "migrate": "upkeep:migrate",
        "settings": "upkeep:settings",
        "tokens": "tokens:tokens",
    },
    "Telling others": {"sinks": "sinks:sinks", "events": "events:events"},
    "Personal feeds": {"readers": "readers:readers"},
    "Releases": {
        "track": "track:track",
        "releases": "releases:releases",
        "downloads": "downloads:downloads",
    },
}
"""Command or family of commands, by the panel of the help that shows it."""

KINDS = {"run": "running:Serving", "serve": "running:Serving"}
"""Commands that read their words in a way of their own."""

_PLACES = {name: (panel, at) for panel, places in PANELS.items() for name, at in places.items()}


class Catalogue(MutableMapping[str, Any]):
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
    found = _at(place)
    alone = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name, rich_help_panel=panel)
    else:
        kind = _at(KINDS[name]) if name in KINDS else None
        alone.command(name, cls=kind, rich_help_panel=panel)(found)
    return get_group(alone).commands[name]


def _at(place: str) -> Any:
    return late(f"headwater.entrypoints.cli.{place}")
