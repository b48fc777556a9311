"""A sink into a JetStream stream of NATS: bursts of messages, taken once acknowledged."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from headwater.events.event_json import WireEvent
from headwater.sinks.kinds.broker import batches
from headwater.sinks.kinds.nats_connection import (
    OUT_OF_TURN,
    TOO_LARGE,
    NatsConnection,
    NatsConnectionFailed,
    NatsRefusal,
    PendingAck,
)
from headwater.sinks.ports import DeliveryResult

BURST_BYTES = 1024 * 1024
BURST_EVENTS = 256
"""Limits of a burst, which is sent before the first acknowledgement is waited for."""

_HEADER_ROOM = 512
"""The largest size of a message's header."""


class NatsSink:
    """Delivers in order, whatever happens: see `_send_burst`."""

    def __init__(self, options: Mapping[str, Any], secrets: Mapping[str, str]) -> None:
        self._servers: list[str] = options["url"].split(",")
        self._subject: str = options["subject"]
        self._stream: str = options["stream"]
        self._window: float = options["duplicate_window_sec"]
        self._timeout: float = options["timeout_sec"]
        self._secrets = dict(secrets)
        self._connection: NatsConnection | None = None
        self._is_shared = False

    async def deliver(self, events: Sequence[WireEvent], *, replay: int) -> DeliveryResult:
        """A broken connection is made again once; a second break is the result."""
        if not events:
            return DeliveryResult(0)
        taken, refusal = await self._deliver(events, replay)
        if refusal is not None and refusal.is_lost:
            added, refusal = await self._deliver(events[taken:], replay)
            taken += added
        if refusal is None:
            return DeliveryResult(taken)
        return DeliveryResult(taken, refusal.code, refusal.detail, about=refusal.about)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _deliver(
        self, events: Sequence[WireEvent], replay: int
    ) -> tuple[int, NatsRefusal | None]:
        taken, refusal = 0, None
        try:
            connection = await self._connect()
            while taken < len(events) and refusal is None:
                most = 1 if self._is_shared else BURST_EVENTS
                burst = next(batches(events[taken:], most_bytes=BURST_BYTES, most=most))
                added, refusal = await self._send_burst(connection, burst, replay)
                taken += added
                if refusal is not None and refusal.code == OUT_OF_TURN and len(burst) > 1:
                    self._is_shared, refusal = True, None
        except NatsConnectionFailed as failed:
            refusal = failed.refusal
        if refusal is not None and refusal.about == "sink":
            await self.close()
        return taken, refusal

    async def _connect(self) -> NatsConnection:
        if self._connection is not None and self._connection.is_open:
            return self._connection
        await self.close()
        connection = self._connection = await NatsConnection.connect(
            self._servers, self._secrets, self._timeout
        )
        self._is_shared = False
        await connection.make_stream(self._stream, [f"{self._subject}.>"], self._window)
        return connection

    async def _send_burst(
        self, connection: NatsConnection, events: Sequence[WireEvent], replay: int
    ) -> tuple[int, NatsRefusal | None]:
        """How many events are in the stream, and why the next one is not.

        A message is accepted only directly after the one before it. So when one is refused, the
        server refuses those after it too, and none of them overtakes it. That works while nobody
        else writes to the stream; if somebody does, events are sent one by one.
        """
        answers: list[PendingAck] = []
        before: str | None = None
        refusal: NatsRefusal | None = None
        for event in events:
            if len(event.body) + _HEADER_ROOM > connection.max_payload:
                detail = f"{len(event.body)} bytes, the server takes {connection.max_payload}"
                refusal = NatsRefusal(TOO_LARGE, detail)
                break
            headers = self._headers(event, replay, before)
            answers.append(
                await connection.send(f"{self._subject}.{event.type}", event.body, headers)
            )
            before = headers["Nats-Msg-Id"]
        if answers:
            await asyncio.wait(answers, timeout=self._timeout)
        for place, answer in enumerate(answers):
            if not answer.done():
                return place, NatsRefusal("timeout", "no acknowledgement came in time")
            if (verdict := answer.result()) is not None:
                return place, verdict
        return len(answers), refusal

    def _headers(self, event: WireEvent, replay: int, before: str | None) -> dict[str, str]:
        name = f"{event.event_id}:r{replay}" if replay else event.event_id
        headers = {
            "Nats-Msg-Id": name,
            "Nats-Expected-Stream": self._stream,
            "Headwater-Seq": str(event.seq),
        }
        return headers if before is None else headers | {"Nats-Expected-Last-Msg-Id": before}
