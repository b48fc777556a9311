"""What lies in the sinks themselves: a Redis stream, a NATS stream, folders of lines.

Read with nothing of Headwater's code. Each is read on from where the last look ended, and from its
very beginning after `begin_again`.
"""

from pathlib import Path
from typing import Any, cast

import nats
import orjson
import zstandard
from nats.js.api import ConsumerConfig, DeliverPolicy
from nats.js.client import JetStreamContext
from nats.js.errors import NotFoundError
from redis.asyncio import Redis

from tests.crash.receivers import Got, Heard

PAGE = 1_000
ANSWERS_WITHIN = 10.0


class RedisShelf:
    def __init__(self, url: str, stream: str) -> None:
        self._url, self._stream = url, stream
        self.begin_again()

    def begin_again(self) -> None:
        self._heard, self._last = Heard(), b""

    async def heard(self) -> Heard:
        async with Redis.from_url(self._url) as client:
            while True:
                start = b"(" + self._last if self._last else b"-"
                rows = cast(Any, await client.xrange(self._stream, start, "+", count=PAGE))
                for place, fields in rows:
                    assert fields[b"replay"] == b"0"
                    self._heard.got.append(Got(fields[b"id"].decode(), fields[b"body"]))
                    self._last = place
                if len(rows) < PAGE:
                    return self._heard


class NatsShelf:
    def __init__(self, url: str, stream: str) -> None:
        self._url, self._stream = url, stream
        self.begin_again()

    def begin_again(self) -> None:
        self._heard, self._next = Heard(), 1

    async def heard(self) -> Heard:
        client = await nats.connect(self._url)
        try:
            last = (await client.jsm().stream_info(self._stream)).state.last_seq
            if last >= self._next:
                await self._read_to(client.jetstream(), last)
        except NotFoundError:
            assert self._next == 1, "the stream was there before"
        finally:
            await client.close()
        return self._heard

    async def _read_to(self, stream: JetStreamContext, last: int) -> None:
        reading = await stream.subscribe(
            ">",
            stream=self._stream,
            ordered_consumer=True,
            config=ConsumerConfig(
                deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=self._next
            ),
        )
        while self._next <= last:
            message = await reading.next_msg(ANSWERS_WITHIN)
            name = (message.headers or {})["Nats-Msg-Id"]
            self._heard.got.append(Got(name, message.data))
            self._next += 1


class Lines:
    """Files of NDJSON; in each of the two series events come in order."""

    def __init__(self, folder: Path, *, packed: bool = False) -> None:
        self._folder, self._packed = folder, packed
        self.begin_again()

    def begin_again(self) -> None:
        self._heard = Heard()
        self._read: dict[Path, int] = {}

    async def heard(self) -> Heard:
        """The end of a file may be torn until the sink is opened again; nothing before it may."""
        self._heard.torn.clear()
        for path in sorted(self._folder.glob(f"*/*.ndjson{'.zst' if self._packed else ''}")):
            self._read_on(path)
        return self._heard

    def _read_on(self, path: Path) -> None:
        start = self._read.get(path, 0)
        fresh = path.read_bytes()[start:]
        lines, whole = _unpacked(fresh) if self._packed else (fresh, fresh.rfind(b"\n") + 1)
        if whole < len(fresh):
            self._heard.torn.append(f"{path.name} ends with {fresh[whole:][:80]!r}")
        self._read[path] = start + whole
        for line in lines[: lines.rfind(b"\n") + 1].split(b"\n")[:-1]:
            try:
                name = str(orjson.loads(line)["id"])
            except (orjson.JSONDecodeError, KeyError, TypeError):
                self._heard.damaged.append(f"{path.name} has the line {line[:200]!r}")
            else:
                self._heard.got.append(Got(name, line, track=path.parent.name))


def _unpacked(packed: bytes) -> tuple[bytes, int]:
    """All whole frames, and where they end."""
    lines, end = b"", 0
    while end < len(packed):
        frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            batch = frame.decompress(packed[end:])
        except zstandard.ZstdError:
            break
        if not frame.eof:
            break
        lines += batch
        end = len(packed) - len(frame.unused_data)
    return lines, end
