"""A transfer: one reusable libcurl handle with its request and the answer received so far."""

import asyncio
import os
import re
import socket
from collections.abc import Sequence
from functools import lru_cache
from time import monotonic

import pycurl

from headwater.core.errors import BadInput
from headwater.core.values.response import Headers, HttpAnswer
from headwater.core.values.url import UrlParts
from headwater.web.address_gate import AddressPolicy, blocked_reason
from headwater.web.limits import WebLimits

_TOO_LARGE = 100  # CURLE_TOO_LARGE, which pycurl does not name
_HTTP2_STREAM = 92
_HTTP3 = 95
_QUIC_CONNECT = 96
_CODES: dict[int, str] = {
    pycurl.E_COULDNT_RESOLVE_HOST: "dns_error",
    pycurl.E_COULDNT_CONNECT: "connect_error",
    _QUIC_CONNECT: "connect_error",
    pycurl.E_OPERATION_TIMEDOUT: "timeout",
    pycurl.E_PARTIAL_FILE: "incomplete_body",
    pycurl.E_FILESIZE_EXCEEDED: "body_too_large",
    pycurl.E_GOT_NOTHING: "connection_lost",
    pycurl.E_RECV_ERROR: "connection_lost",
    pycurl.E_SEND_ERROR: "connection_lost",
    pycurl.E_FTP_WEIRD_SERVER_REPLY: "bad_http",
    pycurl.E_UNSUPPORTED_PROTOCOL: "bad_http",
    pycurl.E_HTTP2: "bad_http",
    _HTTP2_STREAM: "bad_http",
    _HTTP3: "bad_http",
    _TOO_LARGE: "headers_too_large",
    pycurl.E_URL_MALFORMAT: "bad_url",
    pycurl.E_SSL_CONNECT_ERROR: "tls_error",
    pycurl.E_PEER_FAILED_VERIFICATION: "tls_error",
    pycurl.E_SSL_CACERT: "tls_error",
    pycurl.E_SSL_CERTPROBLEM: "tls_error",
    pycurl.E_SSL_CIPHER: "tls_error",
    pycurl.E_SSL_CACERT_BADFILE: "tls_error",
    pycurl.E_SSL_CRL_BADFILE: "tls_error",
    pycurl.E_SSL_ISSUER_ERROR: "tls_error",
    pycurl.E_SSL_INVALIDCERTSTATUS: "tls_error",
    pycurl.E_SSL_SHUTDOWN_FAILED: "tls_error",
}
_CODES_ABOUT_BODY = frozenset({"connection_lost", "bad_http"})


def trouble_code(number: int, *, has_status: bool) -> str:
    """Our code for a libcurl error. Once the headers came, the body is missing."""
    code = _CODES.get(number, "network_error")
    return "incomplete_body" if has_status and code in _CODES_ABOUT_BODY else code


_STOP = -1
_NO_SOCKET: int = pycurl.SOCKET_BAD
_SOCKET_OK: int = pycurl.SOCKOPT_OK
_REDIRECT = "redirect"
_UNKNOWN = -1
_BREAK = re.compile(r"[\r\n\0]")

_USUAL_FIELDS = frozenset({"User-Agent", "Accept", "Accept-Encoding"})
"""These fields are the same in each request and hold no secret: their lines are cached."""


class _LentSocket(socket.SocketType):
    """A socket lent to libcurl. libcurl duplicates it, and ours is closed right after that."""

    __slots__ = ()

    def __del__(self) -> None:
        self.close()


class Transfer:
    """A libcurl handle that serves one request after another.

    The callbacks are set once. A request sets only its URL, headers, deadline and TLS choice.
    """

    future: asyncio.Future[HttpAnswer] | None
    stopped: str | None
    status: int
    _blocked: str | None
    _socketless: str | None
    _dialled_at: float | None
    _header_bytes: int
    _received: int
    _body: bytearray

    def __init__(
        self, limits: WebLimits, policy: AddressPolicy, ca_file: str, resolve: Sequence[str]
    ) -> None:
        self._limits, self._policy = limits, policy
        self._verify_tls, self._is_post = True, False
        self._resolve, self._led_to = tuple(resolve), ""
        self.easy = pycurl.Curl()
        self._set_up(ca_file, resolve)
        self.forget()

    def begin(
        self,
        url: str,
        parts: UrlParts,
        headers: Headers,
        lines: list[bytes],
        deadline: float,
        verify_tls: bool,
    ) -> None:
        self.url, self._host, self._is_tls = url, parts.host, parts.scheme == "https"
        self._port, self.sent = parts.port, (("Host", _host_field(parts)), *headers)
        self.asked_at = self.started = self.heard_at = monotonic()
        easy = self.easy
        easy.setopt(pycurl.URL, parts.target)
        easy.setopt(pycurl.HTTPHEADER, lines)
        easy.setopt(pycurl.TIMEOUT_MS, max(1, int(deadline * 1000)))
        if verify_tls is not self._verify_tls:
            self._verify_tls = verify_tls
            easy.setopt(pycurl.SSL_VERIFYPEER, int(verify_tls))
            easy.setopt(pycurl.SSL_VERIFYHOST, 2 if verify_tls else 0)

    def lead_to(self, parts: UrlParts, addresses: Sequence[str]) -> None:
        """Tell libcurl the addresses of the name, so that it looks up nothing. It forgets the
        name of the request before."""
        if not addresses and not self._led_to:
            return
        # libcurl knows a name that ends with a dot both with and without the dot.
        spelling = parts.origin.partition("://")[2].partition(":")[0]
        names = [f"{name}:{parts.port}" for name in dict.fromkeys((parts.host, spelling))]
        listed = ",".join(f"[{each}]" if ":" in each else each for each in addresses)
        old = [f"-{name}" for name in self._led_to.split()]
        new = [f"{name}:{listed}" for name in names] if addresses else []
        self._led_to = " ".join(names) if addresses else ""
        self.easy.setopt(pycurl.RESOLVE, [*self._resolve, *old, *new])

    def carry(self, body: bytes | None) -> None:
        """Set the body of a POST; None makes the request a GET again."""
        if body is not None:
            self._is_post = True
            self.easy.setopt(pycurl.POST, 1)
            self.easy.setopt(pycurl.POSTFIELDS, body)
        elif self._is_post:
            self._is_post = False
            self.easy.setopt(pycurl.POSTFIELDS, b"")
            self.easy.setopt(pycurl.HTTPGET, 1)

    def answer(self, number: int, message: str) -> HttpAnswer:
        """The answer, once libcurl is done (0 is success) or was stopped."""
        error, detail = self._trouble(number, message)
        status = self.status if self._has_status else None
        body = b"" if self.stopped == _REDIRECT else bytes(self._body)
        fields, elapsed = _parse_headers(self._lines), monotonic() - self.asked_at
        address = self.easy.getinfo(pycurl.PRIMARY_IP) or None
        return HttpAnswer(
            self.url, status, self.sent, fields, body, elapsed, address, error, detail
        )

    def overdue(self, now: float) -> str | None:
        """The smaller time limit that this transfer has exceeded by now, in words, or None."""
        limits = self._limits
        if self._header_bytes:
            received = self._header_bytes + len(self._body)
            if received != self._received:  # since the last look
                self._received, self.heard_at = received, now
            return _exceeded(now - self.heard_at, limits.idle, "nothing more came")
        if ready := self.easy.getinfo(pycurl.PRETRANSFER_TIME):
            return _exceeded(now - self.started - ready, limits.first_byte, "no first byte")
        if self._dialled_at is None and self._is_tls and _is_connected(self._fd):
            self._dialled_at = now  # libcurl itself reports a connection only when TLS is done too
        if self._dialled_at is not None:
            return _exceeded(now - self._dialled_at, limits.tls, "no TLS handshake")
        waiting_for = "no connection" if self._fd >= 0 else "no address for the host name"
        return _exceeded(now - self.started, limits.connect, waiting_for)

    def close(self) -> None:
        self.easy.close()

    def forget(self) -> None:
        """Forget the last request, its body above all: a handle may be idle for long."""
        self.future = None
        self.stopped = None
        self._stop_detail = ""
        self._blocked = self._socketless = None
        self._fd = -1
        self._dialled_at = None
        self.status = _UNKNOWN
        self._is_in_fields = self._headers_done = False
        self._header_bytes = self._interim = self._received = 0
        self._lines: list[bytes] = []
        # One buffer, not a list: a body that comes byte by byte would make an object for each byte.
        self._body = bytearray()

    def _trouble(self, number: int, message: str) -> tuple[str | None, str]:
        if self.stopped == _REDIRECT:
            return None, ""
        if self.stopped is not None:
            return self.stopped, self._stop_detail
        if number == pycurl.E_OK:
            return None, ""
        if self._blocked is not None and not self._header_bytes:
            return "blocked_address", self._blocked
        if self._socketless is not None and self._fd < 0:
            return "network_error", self._socketless
        printable = "".join(letter if letter.isprintable() else "?" for letter in message)
        return trouble_code(number, has_status=self._has_status), printable

    @property
    def _has_status(self) -> bool:
        return self._headers_done and self.status >= 100

    def stop(self, code: str, detail: str) -> int:
        self.stopped, self._stop_detail = code, detail
        return _STOP

    def _on_header(self, line: bytes) -> int | None:
        size, limits = len(line), self._limits
        self._header_bytes += size
        if self._header_bytes > limits.header_bytes or size > limits.header_line:
            return self.stop("headers_too_large", "a header line or all headers are too long")
        if size < 3 and line in (b"\r\n", b"\n"):
            return self._on_headers_end()
        if self._is_in_fields:
            self._lines.append(line)
            if len(self._lines) > limits.header_fields:
                return self.stop("headers_too_large", f"more than {limits.header_fields} fields")
        elif not self._headers_done:  # otherwise a trailer: we use none, but its bytes count
            self.status = _status_of(line)
            self._is_in_fields = True
        return None

    def _on_headers_end(self) -> int | None:
        self._is_in_fields = False
        if 100 <= self.status < 200:
            self._interim += 1
            self.status, self._lines = _UNKNOWN, []
            if self._interim > self._limits.interim_answers:
                return self.stop("too_many_interim", f"{self._interim} interim answers")
            return None
        self._headers_done = True
        # The body of a redirect is never read, not even waited for.
        if 300 <= self.status < 400 and self.status != 304 and not self._ends_here():
            return self.stop(_REDIRECT, "")
        return None

    def _on_body(self, chunk: bytes) -> int | None:
        limit = self._limits.body_bytes
        if not self._body and (self._announced_bytes() or 0) > limit:
            return self.stop("body_too_large", f"more than {limit} bytes are announced")
        room = limit - len(self._body)
        self._body += chunk[:room]
        if len(chunk) > room:
            return self.stop("body_too_large", f"more than {limit} bytes came")
        return None

    def _ends_here(self) -> bool:
        """Whether there is no body. A body in chunks has no length, whatever is announced."""
        names = {line.partition(b":")[0].lower() for line in self._lines}
        return self._announced_bytes() == 0 and b"transfer-encoding" not in names

    def _announced_bytes(self) -> int | None:
        for line in self._lines:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                digits = value.strip()
                return int(digits[:20]) if digits.isdigit() else None
        return None

    def _on_socket(
        self, purpose: int, target: tuple[int, int, int, tuple[str, int]]
    ) -> "int | _LentSocket":
        """The gate: no socket exists before the very address it would dial has been checked."""
        family, kind, protocol, address = target
        if family not in (socket.AF_INET, socket.AF_INET6):
            self._blocked = "only IPv4 and IPv6 are dialled"
            return _NO_SOCKET
        reason = blocked_reason(address[0], address[1], self._host, self._policy)
        if reason is not None:
            self._blocked = reason
            return _NO_SOCKET
        try:
            return _LentSocket(family, kind, protocol)
        except OSError as trouble:  # no descriptors left, or no such family here
            # Not the end yet: the name may have an address of a family that we do have.
            self._socketless = f"no socket: {trouble.strerror}"
            return _NO_SOCKET

    def _on_socket_opened(self, fd: int, purpose: int) -> int:
        self._fd = fd
        return _SOCKET_OK

    def _set_up(self, ca_file: str, resolve: Sequence[str]) -> None:
        limits = self._limits
        for option, value in (
            (pycurl.HEADERFUNCTION, self._on_header),
            (pycurl.WRITEFUNCTION, self._on_body),
            (pycurl.OPENSOCKETFUNCTION, self._on_socket),
            (pycurl.SOCKOPTFUNCTION, self._on_socket_opened),
            (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
            (pycurl.FOLLOWLOCATION, 0),
            (pycurl.USERAGENT, ""),  # pycurl would name itself
            (pycurl.PROXY, ""),
            (pycurl.NOPROXY, "*"),
            (pycurl.NETRC, pycurl.NETRC_IGNORED),
            (pycurl.HTTP09_ALLOWED, 0),
            (pycurl.HTTP_CONTENT_DECODING, 0),
            (pycurl.PATH_AS_IS, 1),
            (pycurl.NOSIGNAL, 1),
            (pycurl.DNS_CACHE_TIMEOUT, 0),
            (pycurl.BUFFERSIZE, 64 * 1024),
            (pycurl.CONNECTTIMEOUT_MS, int((limits.connect + limits.tls) * 1000)),
            (pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2),
            (pycurl.CAINFO, ca_file),
        ):
            self.easy.setopt(option, value)
        if resolve:
            self.easy.setopt(pycurl.RESOLVE, list(resolve))


def _is_connected(fd: int) -> bool:
    """Whether a socket of libcurl's has reached its peer. We look through a copy of it."""
    if fd < 0:
        return False
    try:
        with socket.socket(fileno=os.dup(fd)) as copy:
            copy.getpeername()
    except OSError:
        return False
    return True


def _host_field(parts: UrlParts) -> str:
    return parts.origin.partition("://")[2]


def header_lines(headers: Headers, *, has_body: bool = False) -> list[bytes]:
    """The request's header lines for libcurl, and empty ones for fields that it would add."""
    lines, accepts = [], False
    for name, value in headers:
        if name in _USUAL_FIELDS:
            lines.append(_cached_header_line(name, value))
            accepts = accepts or name == "Accept"
        else:
            lines.append(_header_line(name, value))
            accepts = accepts or name.lower() == "accept"
    if not accepts:
        lines.append(b"Accept:")
    if has_body:
        lines.append(b"Expect:")  # libcurl would first ask whether a large body is welcome
    return lines


def _header_line(name: str, value: str) -> bytes:
    """libcurl wants a field with an empty value as `Name;`."""
    line = f"{name}: {value}" if value else f"{name};"
    if _BREAK.search(line):
        raise BadInput("a request header has a line break in it")
    return line.encode("latin-1")


_cached_header_line = lru_cache(maxsize=64)(_header_line)


def _parse_headers(lines: list[bytes]) -> Headers:
    fields: list[tuple[str, str]] = []
    for line in lines:
        text = line.decode("latin-1")
        if text[0] in " \t" and fields:  # an obsolete folded line continues the line before
            name, value = fields[-1]
            fields[-1] = (name, f"{value} {text.strip()}")
            continue
        name, _, value = text.partition(":")
        fields.append((name.strip(), value.strip()))
    return tuple(fields)


def _status_of(line: bytes) -> int:
    digits = line.partition(b" ")[2][:3]
    return int(digits) if digits.isdigit() else 0


def _exceeded(waited: float, limit: float, missing: str) -> str | None:
    return f"{missing} within {limit:g} s" if waited > limit else None
