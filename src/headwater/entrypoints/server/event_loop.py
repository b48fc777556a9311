"""The event loop of the process: uvloop, where it is installed."""

import asyncio
from collections.abc import Callable

new_event_loop: Callable[[], asyncio.AbstractEventLoop]

try:
    from uvloop import new_event_loop
except ImportError:  # not built for every platform
    from asyncio import new_event_loop

__all__ = ["new_event_loop"]
