"""A site that answers exactly the bytes a test gives it, however wrong they are.

    async with Site(b"HTTP/1.1 200 OK\\r\\n\\r\\nhello") as site:      # the connection then closes
        site.url("/feed.xml")
        site.requests                                             # every request head, as sent
        site.connections                                          # how often somebody came

An answer may also be an async function that gets the `Talk` and does what it likes; the last
answer is repeated for ever. `trusted(names)` makes a certificate for TLS sites.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from headwater.web.address_gate import AddressPolicy, build_address_policy
from headwater.web.http_client import CurlWeb
from headwater.web.limits import WebLimits

LOOPBACK = build_address_policy(["127.0.0.0/8", "::1"])


@dataclass(slots=True)
class Talk:
    """One request being answered."""

    head: bytes
    writer: asyncio.StreamWriter

    async def say(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)
        await self.writer.drain()

    async def say_for_ever(self, piece: bytes, every: float = 0.0) -> None:
        while True:
            await self.say(piece)
            await asyncio.sleep(every)

    async def stay_silent(self) -> None:
        await asyncio.Event().wait()


Answer = bytes | Callable[[Talk], Awaitable[None]]


class Site:
    def __init__(
        self,
        *answers: Answer,
        address: str = "127.0.0.1",
        keep_alive: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.answers = list(answers)
        self.address, self.port = address, 0
        self.requests: list[bytes] = []
        self.connections = 0
        self._keep_alive, self._tls = keep_alive, tls
        self._talks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._was_asked = asyncio.Event()

    def url(self, path: str = "/", host: str | None = None) -> str:
        place = host or (f"[{self.address}]" if ":" in self.address else self.address)
        return f"http{'s' if self._tls else ''}://{place}:{self.port}{path}"

    @property
    def paths(self) -> list[str]:
        return [head.split(b" ")[1].decode() for head in self.requests]

    def header(self, name: str, request: int = -1) -> str | None:
        """What a request said under that name."""
        for line in self.requests[request].decode("latin-1").split("\r\n")[1:]:
            field, _, value = line.partition(": ")
            if field.lower() == name.lower():
                return value
        return None

    async def asked(self, times: int = 1) -> None:
        """Returns once so many requests have come."""
        while len(self.requests) < times:
            self._was_asked.clear()
            await self._was_asked.wait()

    async def hang_up(self) -> None:
        """Ends every conversation."""
        for talk in tuple(self._talks):
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._meet, self.address, 0, backlog=1024, ssl=self._tls
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        trouble: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        await self.hang_up()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        self.connections += 1
        try:
            await self._talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the visitor left, or the test is over
        finally:
            self._talks.discard(task)
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            self.requests.append(head)
            self._was_asked.set()
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            talk = Talk(head, writer)
            if isinstance(answer, bytes):
                await talk.say(answer)
            else:
                await answer(talk)
            if not self._keep_alive:
                return


@asynccontextmanager
async def a_web(
    limits: WebLimits | None = None,
    policy: AddressPolicy = LOOPBACK,
    resolve: tuple[str, ...] = (),
) -> AsyncIterator[CurlWeb]:
    web = CurlWeb(limits or WebLimits(), policy, resolve=resolve)
    try:
        yield web
    finally:
        await web.close()


def response(
    status: str = "200 OK", *fields: str, body: bytes = b"", length: int | None = None
) -> bytes:
    """A well-formed answer; `length` lies about the body's."""
    size = len(body) if length is None else length
    lines = [f"HTTP/1.1 {status}", *fields, f"Content-Length: {size}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def redirect(location: str, status: str = "302 Found") -> bytes:
    return response(status, f"Location: {location}")


def certificate(folder: Path, *names: str, days: int = 2) -> tuple[ssl.SSLContext, str]:
    """A server context with a self-signed certificate for these names, and its file to trust."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test site")])
    ends = datetime.now(UTC) + timedelta(days=days)
    written = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(ends - timedelta(days=5))
        .not_valid_after(ends)
        .add_extension(x509.SubjectAlternativeName([_name(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    trusted, both = folder / "trusted.pem", folder / "server.pem"
    trusted.write_bytes(written)
    both.write_bytes(secret + written)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return context, str(trusted)


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
