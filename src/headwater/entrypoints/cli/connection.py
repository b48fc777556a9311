"""The connection of a command: to the running service, or to the same app in this process."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from headwater.entrypoints.api_request import ApiConnection
from headwater.entrypoints.cli.http_connection import HttpConnection
from headwater.entrypoints.lazy_import import lazy_import
from headwater.entrypoints.server.data_folder import (
    POLL_SECONDS,
    DataFolderInUse,
    ServiceNotice,
    is_locked,
    lock_owner,
    running_service,
)
from headwater.settings import Settings

STARTING_SECONDS = 60.0
"""How long a service that has just started may take to publish its URL."""


@contextmanager
def open_connection(
    settings: Settings, *, url: str | None, token: str | None, what: str, writes: bool
) -> Iterator[ApiConnection]:
    """Connect over HTTP when a service is named or found; else in process, under its locks."""
    with ExitStack() as stack:
        notice = None if url else _service_of(settings)
        service_url = url or (notice.url if notice else None)
        if service_url is None:
            yield _open_in_process_or_http(stack, settings, token=token, what=what, writes=writes)
        else:
            yield stack.enter_context(closing(HttpConnection(service_url, token)))


def _open_in_process_or_http(
    stack: ExitStack, settings: Settings, *, token: str | None, what: str, writes: bool
) -> ApiConnection:
    """Open the app here. If a service starts before we have the locks, connect to that service.

    The app is loaded only when it is needed, as that takes a second.
    """
    open_in_process = lazy_import("headwater.entrypoints.cli.in_process_service:open_in_process")
    try:
        in_process: ApiConnection = stack.enter_context(
            open_in_process(settings, token=token, what=what, writes=writes)
        )
    except DataFolderInUse:
        notice = _service_of(settings)
        if notice is None:
            raise
        return stack.enter_context(closing(HttpConnection(notice.url, token)))
    return in_process


def _service_of(settings: Settings) -> ServiceNotice | None:
    deadline = time.monotonic() + STARTING_SECONDS
    while (notice := running_service(settings.data_dir)) is None:
        owner = lock_owner(settings.data_dir, "serve")
        is_service = owner is not None and owner.is_service
        is_starting = is_service and is_locked(settings.data_dir, "serve")
        if not is_starting or time.monotonic() >= deadline:
            return None
        time.sleep(POLL_SECONDS)
    return notice
