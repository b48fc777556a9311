"""The catalogue of commands: in which module each one is, and under which heading of the help."""

from typing import Any

from headwater.entrypoints.lazy_import import lazy_module

AREAS = {
    "system.run": ("Run it", "run serve work"),
    "feeds": (
        "Feeds",
        "add list show refetch pause resume set remove visits schedule stats",
    ),
    "opml": ("Feeds", "opml"),
    "entries": ("Entries", "entries watch raw"),
    "parse": ("Entries", "parse"),
    "reparse": ("Entries", "diff reparse"),
    "export": ("Entries", "export"),
    "subscriptions.subscriptions": (
        "Who fetches what",
        "subscribe unsubscribe subscriptions",
    ),
    "subscriptions.fetchers": ("Who fetches what", "fetchers"),
    "subscriptions.conflicts": ("Who fetches what", "conflicts"),
    "subscriptions.groups": ("Who fetches what", "groups"),
    "system.doctor": ("Upkeep", "doctor"),
    "system.service_levels": ("Upkeep", "slo"),
    "system.migrate": ("Upkeep", "migrate"),
    "system.settings": ("Upkeep", "settings"),
    "system.tokens": ("Upkeep", "tokens"),
    "sinks": ("Telling others", "sinks"),
    "events": ("Telling others", "events"),
    "readers": ("Personal feeds", "readers"),
    "anime.trackings": ("Releases", "track"),
    "anime.releases": ("Releases", "releases"),
    "anime.downloads": ("Releases", "downloads"),
}
"""For each module its heading and the names of its commands, in the order of the help."""

_MODULES = {name: module for module, (_, names) in AREAS.items() for name in names.split()}
COMMANDS = tuple(_MODULES)


def load_command(name: str) -> Any:
    """Import the module of a command, and make the command."""
    module = _MODULES[name]
    command = lazy_module(f"headwater.entrypoints.cli.{module}").commands.get(name)
    command.rich_help_panel = AREAS[module][0]
    return command
