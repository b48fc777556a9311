"""Load fetchers from plug-ins: installed packages bring them beside our built-in ones."""

import re
from collections.abc import Collection, Iterable
from importlib.metadata import EntryPoint, entry_points

from headwater.core.telemetry.log import get_logger
from headwater.subscriptions.fetchers.builtin import BUILTINS, BuiltinFetcher

GROUP = "headwater.fetchers"

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")

logger = get_logger("builtins")


class _LeftOut(Exception):
    """A plug-in cannot be used as a fetcher; its text says why."""


def load_builtins(points: Iterable[EntryPoint] | None = None) -> tuple[BuiltinFetcher, ...]:
    """Our fetchers first. A broken plug-in is logged and left out: it must not stop a start."""
    loaded = {builtin.name: builtin for builtin in BUILTINS}
    for point in entry_points(group=GROUP) if points is None else points:
        try:
            builtin = _load_plugin(point, taken=loaded.keys())
        except _LeftOut as why:
            place = f"{point.name} = {point.value}"
            logger.warning("fetcher_left_out", entry_point=place, detail=str(why))
        else:
            loaded[builtin.name] = builtin
    return tuple(loaded.values())


def _load_plugin(point: EntryPoint, taken: Collection[str]) -> BuiltinFetcher:
    try:
        builtin = point.load()
    except Exception as trouble:
        # Other people's code runs here: it may raise anything.
        raise _LeftOut(f"{type(trouble).__name__}: {trouble}") from trouble
    if not isinstance(builtin, BuiltinFetcher):
        raise _LeftOut("it is not a headwater.subscriptions.fetchers.builtin.BuiltinFetcher")
    if not _NAME.fullmatch(builtin.name):
        raise _LeftOut("its name is not a lower-case word")
    if builtin.name in taken:
        raise _LeftOut(f"the name {builtin.name} is taken")
    return builtin
