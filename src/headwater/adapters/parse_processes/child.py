"""The child process that parses: jobs come by one socket, replies go out by another."""

import importlib
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, cast

if sys.platform != "win32":
    import resource

JobReader = Callable[[bytes, bytes], bytes]

JOB = struct.Struct("!II")
"""Before each job: the length of its JSON header and of its body."""

REPLY = struct.Struct("!BI")
"""Before each reply: its kind and its length."""

READY, READ, RAISED, OUT_OF_MEMORY, CANNOT_START = range(5)

_MOST_DETAIL = 500


def main(arguments: list[str]) -> int:
    """Run the process. Arguments: `MODULE:FUNCTION JOBS_FD REPLIES_FD CPU_SECONDS MEMORY_BYTES
    NICENESS`, from the parent."""
    reader_name, *numbers = arguments
    jobs_fd, replies_fd, cpu_seconds, memory_bytes, niceness = map(int, numbers)
    # Ctrl-C and the stop of a service reach this process too; its parent ends it in time.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with (
        socket.socket(fileno=replies_fd) as replies,
        socket.socket(fileno=jobs_fd) as incoming,
        incoming.makefile("rb", buffering=1 << 18) as jobs,
    ):
        try:
            os.nice(niceness)
            reader = _load_reader(reader_name)
            _limit("RLIMIT_CORE", 0)
            _limit("RLIMIT_AS", memory_bytes)
        except Exception as error:  # noqa: BLE001 -- the parent gets it and reports it
            _reply(replies, CANNOT_START, _in_words(error))
            return 1
        _reply(replies, READY, b"")
        return _answer_all(replies, cast("BinaryIO", jobs), reader, cpu_seconds)


def _answer_all(replies: socket.socket, jobs: BinaryIO, reader: JobReader, cpu_seconds: int) -> int:
    """Answer jobs until the parent closes its end."""
    while len(header := jobs.read(JOB.size)) == JOB.size:
        job_length, body_length = JOB.unpack(header)
        job, body = jobs.read(job_length), jobs.read(body_length)
        if len(job) + len(body) < job_length + body_length:
            break
        _allow_more_cpu(cpu_seconds)
        try:
            payload = reader(job, body)
        except MemoryError:
            # This process is in no safe state any more: reply and make room for a fresh one.
            _reply(replies, OUT_OF_MEMORY, b"")
            return 1
        except Exception as error:  # noqa: BLE001 -- the error of one document is reported, not fatal
            _reply(replies, RAISED, _in_words(error))
        else:
            _reply(replies, READ, payload)
    return 0


def _reply(replies: socket.socket, kind: int, payload: bytes) -> None:
    """Send it in one packet when it fits. The next read notices when the parent is gone."""
    with suppress(BrokenPipeError, ConnectionResetError):
        replies.sendall(REPLY.pack(kind, len(payload)) + payload)


def _load_reader(reader_name: str) -> JobReader:
    module, _, function = reader_name.partition(":")
    reader: JobReader = getattr(importlib.import_module(module), function)
    return reader


def _limit(name: str, most: int) -> None:
    """Lower a limit for good. Not every system has every limit, or accepts it."""
    kind = getattr(resource, name, None) if sys.platform != "win32" else None
    if kind is None:
        return
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (most, most))


def _allow_more_cpu(seconds: int) -> None:
    """Move the soft limit: it counts from the start of the process, our budget per document."""
    if sys.platform == "win32":
        return
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    limit = int(time.process_time()) + 1 + seconds
    soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _in_words(error: Exception) -> bytes:
    return f"{type(error).__name__}: {error}"[:_MOST_DETAIL].encode("utf-8", "replace")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
