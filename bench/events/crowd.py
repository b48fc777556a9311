"""Many readers in one process: `python -m bench.events.crowd HOST PORT READERS`.

Says `{"connected": seconds}` when each has its first frame. Then each is to get one event more, and
it says `{"told": seconds}`, counted from the line of input that announces it. Stays connected
until its input ends.
"""

import asyncio
import json
import resource
import sys
import time

FIRST = b"retry: 3000"
ANY = b"\ndata: "


async def until(reader: asyncio.StreamReader, wanted: bytes) -> None:
    """As little as can be kept of what came: the reader's memory is not what is measured."""
    kept = b""
    while wanted not in kept:
        came = await reader.read(4_096)
        if not came:
            raise SystemExit(f"a stream ended; it said last: {kept!r}")
        kept = (kept + came)[-4_096:]


async def connected(host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(host, port, limit=4_096)
    writer.write(f"GET /events/stream HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    await until(reader, FIRST)
    return reader, writer


async def main() -> None:
    host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    began = time.monotonic()
    crowd: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    while len(crowd) < count:  # a few at a time: the backlog of a listening socket is short
        more = min(100, count - len(crowd))
        crowd += await asyncio.gather(*(connected(host, port) for _ in range(more)))
    print(json.dumps({"connected": time.monotonic() - began}), flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    began = time.monotonic()
    await asyncio.gather(*(until(reader, ANY) for reader, _ in crowd))
    print(json.dumps({"told": time.monotonic() - began}), flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
