"""Feed readers in one process: `python -m bench.personal.crowd CONNECTIONS`.

Each line of input is one run: where, how long, what status is right, and a file with the requests.
Answers with one line: how many were answered, in how many seconds, with how many bytes of body.
"""

import asyncio
import json
import sys
import time
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, cast

from headwater.entrypoints.server.event_loop import new_event_loop


@dataclass(slots=True)
class Run:
    """What all connections of a run share. `requests` go round and round."""

    requests: "cycle[bytes]"
    status: bytes
    until: float
    answered: int = 0
    body_bytes: int = 0
    ended: float = 0.0


class Reader(asyncio.Protocol):
    """One connection: the next question when the last one is answered, whole."""

    def __init__(self, run: Run, over: asyncio.Future[None]) -> None:
        self._run, self._over = run, over
        self._head, self._missing = b"", -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(next(self._run.requests))

    def data_received(self, data: bytes) -> None:
        if self._missing < 0:
            data = self._headed(self._head + data)
            if self._missing < 0:
                return
        self._missing -= len(data)
        if self._missing == 0:
            self._answered()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._over.done():
            self._over.set_exception(ConnectionError("the server hung up"))

    def _headed(self, data: bytes) -> bytes:
        """What came after the head."""
        head, found, rest = data.partition(b"\r\n\r\n")
        if not found:
            self._head = data
            return b""
        if head[9:12] != self._run.status and not self._over.done():
            self._over.set_exception(RuntimeError(f"{self._run.status!r} was due, but: {head!r}"))
        self._missing = _length(head)
        self._run.body_bytes += self._missing
        self._head = b""
        return rest

    def _answered(self) -> None:
        run = self._run
        run.answered += 1
        self._missing = -1
        run.ended = time.monotonic()
        if run.ended < run.until:
            self._transport.write(next(run.requests))
        elif not self._over.done():
            self._over.set_result(None)
            self._transport.close()


def _length(head: bytes) -> int:
    """304 has none."""
    _, found, rest = head.lower().partition(b"content-length: ")
    return int(rest.partition(b"\r\n")[0]) if found else 0


async def ran(said: dict[str, Any], requests: list[bytes], connections: int) -> dict[str, float]:
    loop, began = asyncio.get_running_loop(), time.monotonic()
    run = Run(cycle(requests), str(said["status"]).encode(), began + said["seconds"])
    ends: list[asyncio.Future[None]] = []
    for _ in range(connections):
        over: asyncio.Future[None] = loop.create_future()
        ends.append(over)
        await loop.create_connection(partial(Reader, run, over), "127.0.0.1", said["port"])
    await asyncio.gather(*ends)
    return {
        "answered": run.answered,
        "seconds": run.ended - began,
        "body_bytes": run.body_bytes,
    }


def main() -> None:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        for line in sys.stdin:
            said = json.loads(line)
            requests = [each.encode() for each in json.loads(Path(said["file"]).read_bytes())]
            found = runner.run(ran(said, requests, int(sys.argv[1])))
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
