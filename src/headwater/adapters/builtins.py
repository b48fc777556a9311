"""Fetchers that live in this process: our own, and those that installed packages bring along."""

import re
from collections.abc import Collection, Iterable
from importlib.metadata import EntryPoint, entry_points

from headwater.subscribe.builtin import BUILTINS, Builtin
from headwater.telemetry.log import logger

GROUP = "headwater.fetchers"

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")

log = logger("builtins")


class _LeftOut(Exception):
    """Why a plug-in cannot be one of our fetchers."""


def load_builtins(found: Iterable[EntryPoint] | None = None) -> tuple[Builtin, ...]:
    """Ours first. A plug-in that is broken is told of and left out: it must not stop a start."""
    loaded = {builtin.name: builtin for builtin in BUILTINS}
    for point in entry_points(group=GROUP) if found is None else found:
        try:
            builtin = _loaded(point, taken=loaded.keys())
        except _LeftOut as why:
            place = f"{point.name} = {point.value}"
            log.warning("fetcher_left_out", entry_point=place, detail=str(why))
        else:
            loaded[builtin.name] = builtin
    return tuple(loaded.values())


def _loaded(point: EntryPoint, taken: Collection[str]) -> Builtin:
    try:
        builtin = point.load()
    except Exception as trouble:
        # Somebody else's code runs here: anything may come.
        raise _LeftOut(f"{type(trouble).__name__}: {trouble}") from trouble
    if not isinstance(builtin, Builtin):
        raise _LeftOut("it is not a headwater.subscribe.builtin.Builtin")
    if not _NAME.fullmatch(builtin.name):
        raise _LeftOut("its name is not a lower-case word")
    if builtin.name in taken:
        raise _LeftOut(f"the name {builtin.name} is taken")
    return builtin
