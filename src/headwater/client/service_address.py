"""The address of a Headwater service with its token, and requests to it as bytes."""

import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlencode, urlsplit

from headwater import __version__
from headwater.core.errors import BadSettings

EVENT_STREAM_TYPE = "text/event-stream"

Query = Iterable[tuple[str, str | int | None]]


@dataclass(frozen=True, slots=True)
class Patience:
    """The longest time for each step, in seconds, and the largest answer, in bytes.

    Headwater pings a quiet stream every 15 seconds: after `stream` seconds without a sign of life
    it is dead. After trouble a reader rests as long as the server asks for (3 seconds), twice as
    long each time, `longest_rest` at most. Each rest is shortened at random, by up to half.
    """

    connect: float = 10.0
    ask: float = 60.0
    stream: float = 45.0
    shortest_rest: float = 0.1
    longest_rest: float = 60.0
    save_every: float = 1.0
    most_bytes: int = 256 * 1024 * 1024
    longest_event: int = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """The address of one Headwater, and its token."""

    host: str
    port: int
    authority: str
    prefix: str
    tls: ssl.SSLContext | None
    agent: str
    token: str | None = field(repr=False)

    @classmethod
    def of(
        cls,
        url: str,
        token: str | None,
        *,
        tls: ssl.SSLContext | None = None,
        agent: str = "headwater-client",
    ) -> Self:
        """`tls` trusts private authorities; without it the system's own are trusted."""
        try:
            parts = urlsplit(url)
            port = parts.port
            (parts.hostname or "").encode("idna")
        except ValueError:
            raise BadSettings("Headwater's URL cannot be read.") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadSettings("Headwater's URL begins with http:// or https://.", url=url)
        if parts.username is not None or parts.query or parts.fragment:
            raise BadSettings("Headwater's URL has no user, no ? and no #; give the token apart.")
        secure = parts.scheme == "https"
        return cls(
            host=parts.hostname,
            port=port or (443 if secure else 80),
            authority=_check_sendable(parts.netloc, "URL"),
            prefix=_check_sendable(parts.path.rstrip("/"), "URL"),
            tls=(tls or ssl.create_default_context()) if secure else None,
            agent=f"{agent}/{__version__}",
            token=None if token is None else _check_sendable(token, "token"),
        )

    def request(
        self,
        method: str,
        path: str,
        query: Query = (),
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> bytes:
        """The whole request as bytes, for a connection of its own."""
        encoded = urlencode([(name, value) for name, value in query if value is not None])
        target = f"{self.prefix}{_check_sendable(path, 'path')}"
        if encoded:
            target += f"?{encoded}"
        fields = {
            "host": self.authority,
            "user-agent": self.agent,
            "accept": "application/json",
            "accept-encoding": "identity",
            "connection": "close",
        }
        if self.token is not None:
            fields["authorization"] = f"Bearer {self.token}"
        if body is not None:
            fields |= {"content-type": "application/json", "content-length": str(len(body))}
        for name, value in (headers or {}).items():
            fields[name] = _check_field(value, name)
        lines = [f"{method} {target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        return "\r\n".join([*lines, "", ""]).encode("ascii") + (body or b"")


def _check_field(value: str, name: str) -> str:
    """A line break in a header field could begin another one."""
    if not (value.isascii() and value.isprintable()):
        raise BadSettings(f"The header field {name} has a character that cannot be sent.")
    return value


def _check_sendable(text: str, what: str) -> str:
    """A line break or a space in a request could begin another one."""
    if not all("!" <= letter <= "~" for letter in text):
        raise BadSettings(f"The {what} has a letter in it that cannot be sent.")
    return text
