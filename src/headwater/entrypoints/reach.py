"""Who answers a command: the service that is running, or the same app in this process."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from headwater.entrypoints.late import late
from headwater.entrypoints.lock import (
    GLANCE_SECONDS,
    InUse,
    Notice,
    holder,
    is_held,
    running_service,
)
from headwater.entrypoints.transport import Caller, OverHttp
from headwater.settings import Settings

STARTING_SECONDS = 60.0
"""How long a service that has just been started may take to say where it is."""


@contextmanager
def caller_for(
    settings: Settings, *, url: str | None, token: str | None, what: str, writes: bool
) -> Iterator[Caller]:
    """Over HTTP when a service is known or found; in process, under its locks, when not."""
    with ExitStack() as stack:
        notice = None if url else _service_of(settings)
        where = url or (notice.url if notice else None)
        if where is None:
            yield _alone_unless_started_now(stack, settings, token=token, what=what, writes=writes)
        else:
            yield stack.enter_context(closing(OverHttp(where, token)))


def _alone_unless_started_now(
    stack: ExitStack, settings: Settings, *, token: str | None, what: str, writes: bool
) -> Caller:
    """A service may start between our look and our locks: then it is the one to ask."""
    alone = late("headwater.entrypoints.alone:alone")
    try:
        here: Caller = stack.enter_context(alone(settings, token=token, what=what, writes=writes))
    except InUse:
        notice = _service_of(settings)
        if notice is None:
            raise
        return stack.enter_context(closing(OverHttp(notice.url, token)))
    return here


def _service_of(settings: Settings) -> Notice | None:
    deadline = time.monotonic() + STARTING_SECONDS
    while (notice := running_service(settings.data_dir)) is None:
        who = holder(settings.data_dir, "serve")
        starting = who is not None and who.is_service and is_held(settings.data_dir, "serve")
        if not starting or time.monotonic() >= deadline:
            return None
        time.sleep(GLANCE_SECONDS)
    return notice
