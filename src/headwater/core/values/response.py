"""An HTTP response: the answer as served, the redirects before it, and its errors."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

Headers = tuple[tuple[str, str], ...]
"""Header fields in wire order, names as received; secrets already redacted where marked so."""


@dataclass(frozen=True, slots=True)
class Validators:
    """ETag and Last-Modified of one response, byte for byte; never a mix of two responses."""

    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class Hop:
    """One redirect that was followed. `address` is the address of the host that redirected."""

    url: str
    status: int
    location: str
    address: str | None = field(default=None, compare=False)


class HttpAnswer(NamedTuple):
    """The answer to one request to one URL (no redirect followed), from the Web port.

    `error` is None for a complete answer; otherwise a code such as `timeout`, `dns_error`,
    `blocked_address`, `connect_error`, `tls_error`, `incomplete_body`, `body_too_large`,
    `bad_http`. An answer may have a status and part of a body *and* an error.
    """

    url: str
    status: int | None
    request_headers: Headers
    response_headers: Headers
    body: bytes
    elapsed: float
    address: str | None = None
    error: str | None = None
    error_detail: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A whole visit on the wire: the last answer and the redirects that led to it."""

    asked_url: str
    started_at: datetime
    answer: HttpAnswer
    hops: tuple[Hop, ...] = field(default=())

    @property
    def final_url(self) -> str:
        return self.answer.url

    @property
    def own_address(self) -> str | None:
        """The address of the host of the asked URL, wherever its redirects led."""
        return self.hops[0].address if self.hops else self.answer.address


def header(headers: Headers, name: str) -> str | None:
    """The last value of a header field, or None."""
    lower_name = name.lower()
    last = None
    for field_name, value in headers:
        if field_name.lower() == lower_name:
            last = value
    return last
