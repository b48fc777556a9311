"""Room for many sockets: how many files may be open, and a table that has places for them."""

import fcntl
import os
import resource

from headwater.entrypoints.server.binding import MOST_OPEN_FILES

READY_PLACES = 4_096


def raise_open_file_limit() -> None:
    """To be called before there are threads.

    The usual soft limit of 1,024 is too few. And the table of open files starts small: Linux makes
    it larger at 64, 256, 512 … of them, and where threads share it everybody stands still for ten
    to twenty milliseconds each time. With one thread, that costs nothing.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    last = min(READY_PLACES, max(soft, wanted)) - 1
    end, other = os.pipe()
    try:
        os.close(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, last))
    finally:
        os.close(end)
        os.close(other)
