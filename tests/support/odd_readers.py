"""Readers as a parse process may meet them: the job says what shall happen to its process."""

import ctypes
import os
import time
from collections.abc import Callable

ENVIRONMENT = sorted(os.environ)


def read_oddly(job: bytes, body: bytes) -> bytes:
    """Anything that names no trouble is answered with what came in."""
    trouble = TROUBLES.get(job)
    return trouble() if trouble else job + b"|" + body


def _segfault() -> bytes:
    return ctypes.string_at(0)


def _exit() -> bytes:
    os._exit(7)


def _hang() -> bytes:
    time.sleep(3600)
    return b""


def _spin() -> bytes:
    while True:
        pass


def _eat() -> bytes:
    return b"x" * (1 << 40)


def _raise() -> bytes:
    raise ValueError("what a strange document")


TROUBLES: dict[bytes, Callable[[], bytes]] = {
    b"segfault": _segfault,
    b"exit": _exit,
    b"hang": _hang,
    b"spin": _spin,
    b"eat": _eat,
    b"raise": _raise,
    b"who": lambda: b"%d" % os.getpid(),
    b"nice": lambda: b"%d" % os.nice(0),
    b"environment": lambda: ",".join(ENVIRONMENT).encode(),
    b"files": lambda: ",".join(os.listdir("/proc/self/fd")).encode(),
}
