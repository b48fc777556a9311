"""Who reads titles: Headwater, and other readers where they are installed."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from headwater.anime.title import read_title

MAIN = "Headwater"


class Contender(NamedTuple):
    name: str
    read: Callable[[str], Any]


def _anitomy_ng() -> Callable[[str], Any]:
    parse: Callable[[str], Any] = import_module("anitomy_ng").parse
    return parse


def _guessit() -> Callable[[str], Any]:
    guess = import_module("guessit").guessit
    return lambda title: guess(title, {"type": "episode"})


_OTHERS = {"anitomy_ng": _anitomy_ng, "guessit": _guessit}


def contenders() -> list[Contender]:
    """Headwater first, then whoever is installed."""
    others = [Contender(name, make()) for name, make in _OTHERS.items() if find_spec(name)]
    return [Contender(MAIN, read_title), *others]
