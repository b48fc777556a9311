"""Import modules that take a second to load (the web framework, the database) when needed.

A command that only asks a running service starts five times faster this way.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def lazy_import(where: str) -> Any:
    """What `package.module:name` names."""
    module, _, name = where.partition(":")
    room = sys.modules.get(module)
    if room is None:
        with _without_garbage_collection():
            room = import_module(module)
    return getattr(room, name)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """What a room brings along stays to the end: looking through it for garbage finds none.

    A tenth of a start went into that. What is there afterwards is set aside, so that later looks
    pass it by too.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.enable()
