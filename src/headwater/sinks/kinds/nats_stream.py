"""A JetStream stream of NATS as a sink: published in bursts, taken when it was acknowledged."""

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
"""How much is on its way before the first acknowledgement is waited for."""

_HEADER_ROOM = 512
"""What the header takes of a message, at most."""


class NatsSink:
    """In order, whatever happens: see `_burst` for how."""

    def __init__(self, options: Mapping[str, Any], secrets: Mapping[str, str]) -> None:
        self._servers: list[str] = options["url"].split(",")
        self._subject: str = options["subject"]
        self._stream: str = options["stream"]
        self._window: float = options["duplicate_window_sec"]
        self._timeout: float = options["timeout_sec"]
        self._secrets = dict(secrets)
        self._link: NatsConnection | None = None
        self._is_shared = False

    async def deliver(self, parcels: Sequence[WireEvent], *, replay: int) -> DeliveryResult:
        """A link that broke is made anew once; a second break is told."""
        if not parcels:
            return DeliveryResult(0)
        taken, refusal = await self._deliver(parcels, replay)
        if refusal is not None and refusal.is_lost:
            more, refusal = await self._deliver(parcels[taken:], replay)
            taken += more
        if refusal is None:
            return DeliveryResult(taken)
        return DeliveryResult(taken, refusal.code, refusal.detail, about=refusal.about)

    async def close(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    async def _deliver(
        self, parcels: Sequence[WireEvent], replay: int
    ) -> tuple[int, NatsRefusal | None]:
        taken, refusal = 0, None
        try:
            link = await self._linked()
            while taken < len(parcels) and refusal is None:
                most = 1 if self._is_shared else BURST_EVENTS
                burst = next(batches(parcels[taken:], most_bytes=BURST_BYTES, most=most))
                more, refusal = await self._burst(link, burst, replay)
                taken += more
                if refusal is not None and refusal.code == OUT_OF_TURN and len(burst) > 1:
                    self._is_shared, refusal = True, None
        except NatsConnectionFailed as failed:
            refusal = failed.refusal
        if refusal is not None and refusal.about == "sink":
            await self.close()
        return taken, refusal

    async def _linked(self) -> NatsConnection:
        if self._link is not None and self._link.is_open:
            return self._link
        await self.close()
        link = self._link = await NatsConnection.connect(
            self._servers, self._secrets, self._timeout
        )
        self._is_shared = False
        await link.make_stream(self._stream, [f"{self._subject}.>"], self._window)
        return link

    async def _burst(
        self, link: NatsConnection, parcels: Sequence[WireEvent], replay: int
    ) -> tuple[int, NatsRefusal | None]:
        """How many of them are in the stream, and why the next one is not.

        Each message is accepted only behind the one before it. So when one is refused, the server
        refuses those after it too, and none of them can get in before its time. That works while
        nobody else writes to the stream; if somebody does, they are sent one by one.
        """
        answers: list[PendingAck] = []
        before: str | None = None
        refusal: NatsRefusal | None = None
        for parcel in parcels:
            if len(parcel.body) + _HEADER_ROOM > link.max_payload:
                words = f"{len(parcel.body)} bytes, the server takes {link.max_payload}"
                refusal = NatsRefusal(TOO_LARGE, words)
                break
            headers = self._headers(parcel, replay, before)
            answers.append(await link.send(f"{self._subject}.{parcel.type}", parcel.body, headers))
            before = headers["Nats-Msg-Id"]
        if answers:
            await asyncio.wait(answers, timeout=self._timeout)
        for place, answer in enumerate(answers):
            if not answer.done():
                return place, NatsRefusal("timeout", "no acknowledgement came in time")
            if (verdict := answer.result()) is not None:
                return place, verdict
        return len(answers), refusal

    def _headers(self, parcel: WireEvent, replay: int, before: str | None) -> dict[str, str]:
        name = f"{parcel.event_id}:r{replay}" if replay else parcel.event_id
        headers = {
            "Nats-Msg-Id": name,
            "Nats-Expected-Stream": self._stream,
            "Headwater-Seq": str(parcel.seq),
        }
        return headers if before is None else headers | {"Nats-Expected-Last-Msg-Id": before}
