"""One connection to a NATS server: messages go out in order, and each is answered or it ends.

It never reconnects by itself. A client that does so sends its buffered messages again first, and
messages that were lost in between would then arrive after them.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import orjson
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoServersError, SecureConnWantedError
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import APIError, NotFoundError, ServiceUnavailableError

from headwater.sinks.kinds.broker import error_text

NATS_TROUBLE = (NatsError, OSError, TimeoutError, ValueError)
"""The errors of the client. It raises ValueError for an answer that is not JSON."""

_BUFFER_BYTES = 128 * 1024 * 1024
"""More than one burst and one message of any size NATS allows: publishing never waits."""

_CLOSES_WITHIN = 2.0
_NO_RESPONDERS = "503"
_CONNECTION_LOST = "connection_lost"

OUT_OF_TURN = "out_of_turn"
TOO_LARGE = "event_too_large"
_BY_NUMBER = {
    10023: "stream_full",
    10028: "stream_full",
    10039: "jetstream_unavailable",
    10047: "stream_full",
    10054: TOO_LARGE,
    10059: "no_stream",
    10060: "wrong_stream",
    10070: OUT_OF_TURN,
    10076: "jetstream_unavailable",
    10077: "stream_full",
    10097: TOO_LARGE,
    10109: "stream_sealed",
}


@dataclass(frozen=True, slots=True)
class NatsRefusal:
    """The reason why a message was not taken."""

    code: str
    detail: str = ""

    @property
    def about(self) -> Literal["sink", "event"]:
        return "event" if self.code == TOO_LARGE else "sink"

    @property
    def is_lost(self) -> bool:
        """The connection broke; a new one may work."""
        return self.code == _CONNECTION_LOST


class NatsConnectionFailed(Exception):
    """There is no connection, or it cannot be used."""

    def __init__(self, refusal: NatsRefusal) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal


PendingAck = asyncio.Future[NatsRefusal | None]
"""None when the message is safe in the stream."""


class NatsConnection:
    """A connection, open from `connect` to `close`, or until the server closes it."""

    def __init__(self, client: "_StrictClient") -> None:
        self._client = client
        self._waiting: dict[str, PendingAck] = {}
        self._inbox, self._sent = client.new_inbox(), 0

    @classmethod
    async def connect(
        cls, servers: Sequence[str], credentials: Mapping[str, str], seconds: float
    ) -> "NatsConnection":
        """Connect to the first server that accepts us; NatsConnectionFailed says why none did."""
        refusal = NatsRefusal("connect_error")
        for server in servers:
            client = _StrictClient(tls_only=server.startswith("tls://"))
            try:
                async with asyncio.timeout(seconds):
                    await client.begin(server, credentials, seconds)
                    connection = cls(client)
                    await connection._listen()
                return connection
            except NATS_TROUBLE as trouble:
                refusal = _refusal_to_connect(trouble, client.last_trouble)
                await client.end()
        raise NatsConnectionFailed(refusal)

    @property
    def is_open(self) -> bool:
        return self._client.is_connected

    @property
    def max_payload(self) -> int:
        """Bytes of a message with its header."""
        return self._client.max_payload

    async def make_stream(
        self, name: str, subjects: Sequence[str], duplicate_window: float
    ) -> None:
        """Make the stream if there is none; one that exists stays as its owner made it."""
        manager = self._client.jsm()
        try:
            try:
                await manager.stream_info(name)
            except NotFoundError:
                await manager.add_stream(
                    StreamConfig(
                        name=name,
                        subjects=list(subjects),
                        description="Events of Headwater",
                        storage=StorageType.FILE,
                        retention=RetentionPolicy.LIMITS,
                        discard=DiscardPolicy.OLD,
                        duplicate_window=duplicate_window,
                    )
                )
        except ServiceUnavailableError as trouble:
            raise NatsConnectionFailed(
                NatsRefusal("jetstream_unavailable", error_text(trouble))
            ) from trouble
        except APIError as trouble:
            raise NatsConnectionFailed(
                _refused(trouble.err_code, trouble.description or "")
            ) from trouble
        except NATS_TROUBLE as trouble:
            raise NatsConnectionFailed(self._lost(error_text(trouble))) from trouble

    async def send(self, subject: str, body: bytes, headers: Mapping[str, str]) -> PendingAck:
        """Send a message. The answer comes later; the caller limits its wait."""
        answer: PendingAck = asyncio.get_running_loop().create_future()
        self._sent += 1
        mark = str(self._sent)
        self._waiting[mark] = answer
        answer.add_done_callback(lambda _: self._waiting.pop(mark, None))
        try:
            await self._client.publish(subject, body, f"{self._inbox}.{mark}", dict(headers))
        except NATS_TROUBLE as trouble:
            _set_answer(answer, self._lost(error_text(trouble)))
        return answer

    async def close(self) -> None:
        await self._client.end()

    async def _listen(self) -> None:
        self._client.when_lost = self._give_up
        await self._client.subscribe(f"{self._inbox}.*", cb=self._on_answer)

    async def _on_answer(self, message: Msg) -> None:
        answer = self._waiting.get(message.subject.rpartition(".")[2])
        if answer is not None:
            _set_answer(answer, _parse_ack(message))

    def _give_up(self, refusal: NatsRefusal) -> None:
        for answer in list(self._waiting.values()):
            _set_answer(answer, refusal)

    def _lost(self, why: str) -> NatsRefusal:
        last = self._client.last_trouble
        return NatsRefusal(_CONNECTION_LOST, why if last is None else f"{why} ({error_text(last)})")


class _StrictClient(Client):
    """Keeps its errors for us instead of logging them, and never falls back from TLS."""

    def __init__(self, *, tls_only: bool) -> None:
        super().__init__()
        self._tls_only = tls_only
        self.last_trouble: Exception | None = None
        self.when_lost: Callable[[NatsRefusal], None] | None = None

    async def begin(self, server: str, credentials: Mapping[str, str], seconds: float) -> None:
        await self.connect(
            servers=[server],
            name="headwater",
            error_cb=self._note,
            closed_cb=self._on_close,
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=seconds,  # type: ignore[arg-type]
            pending_size=_BUFFER_BYTES,
            user=credentials.get("user"),
            password=credentials.get("password"),
            token=credentials.get("token"),
        )

    async def end(self) -> None:
        """Close, within a limit: a server that does not read any more must not hold us."""
        with suppress(*NATS_TROUBLE):
            await asyncio.wait_for(self.close(), _CLOSES_WITHIN)

    def _connect_command(self) -> bytes:
        """Refuse plain text for tls://: the client would fall back to it, and send the password."""
        if self._tls_only and not self._server_info.get("tls_required"):
            raise SecureConnWantedError
        return super()._connect_command()

    async def _note(self, trouble: Exception) -> None:
        self.last_trouble = trouble
        if self.when_lost is not None and "permissions violation" in str(trouble).lower():
            self.when_lost(NatsRefusal("no_permission", error_text(trouble)))

    async def _on_close(self) -> None:
        if self.when_lost is not None:
            last = self.last_error or self.last_trouble
            self.when_lost(
                NatsRefusal(_CONNECTION_LOST, error_text(last) if last else "it was closed")
            )


def _set_answer(answer: PendingAck, verdict: NatsRefusal | None) -> None:
    if not answer.done():
        answer.set_result(verdict)


def _parse_ack(message: Msg) -> NatsRefusal | None:
    if message.headers and message.headers.get("Status") == _NO_RESPONDERS:
        return NatsRefusal("no_stream", "no stream takes this subject")
    try:
        answer = orjson.loads(message.data)
    except orjson.JSONDecodeError:
        return NatsRefusal("bad_answer", "the acknowledgement is not JSON")
    match answer:
        case {"error": {"err_code": int(number), "description": str(words)}}:
            return _refused(number, words)
        case {"seq": int(seq)} if seq > 0:
            return None
    return NatsRefusal("bad_answer", "the acknowledgement names no message")


def _refused(number: int | None, words: str) -> NatsRefusal:
    return NatsRefusal(_BY_NUMBER.get(number or 0, "nats_error"), f"{words} ({number})")


def _refusal_to_connect(trouble: Exception, noted: Exception | None) -> NatsRefusal:
    """`NoServersError` has no reason; the error that was noted before it has."""
    cause = noted if noted is not None and isinstance(trouble, NoServersError) else trouble
    words = error_text(cause)
    if "authorization" in words.lower() or "authentication" in words.lower():
        return NatsRefusal("auth_failed", words)
    if isinstance(cause, TimeoutError):
        return NatsRefusal("timeout", words)
    if isinstance(cause, SecureConnWantedError):
        return NatsRefusal("tls_error", "tls:// was asked for, and the server does not offer it")
    return NatsRefusal("connect_error", words)
