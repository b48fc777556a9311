"""Open files: raise their limit, and make the table of open files large enough."""

import fcntl
import os
import resource

from headwater.entrypoints.server.binding import MOST_OPEN_FILES

READY_PLACES = 4_096


def raise_open_file_limit() -> None:
    """Raise the limit; call this before there are threads.

    The usual soft limit of 1,024 is too low. And the table of open files starts small: Linux makes
    it larger at 64, 256, 512 … files. When threads share the table, all of them stand still for ten
    to twenty milliseconds each time; with one thread that costs nothing.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    if soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    last = min(READY_PLACES, max(soft, limit)) - 1
    end, other = os.pipe()
    try:
        os.close(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, last))
    finally:
        os.close(end)
        os.close(other)
