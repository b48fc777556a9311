"""How the command line speaks the API: questions, answers, and the way over HTTP."""

import http.client
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import SplitResult, urlencode, urlsplit

import orjson

from headwater import __version__
from headwater.core.errors import BadSettings, HeadwaterError

Query = Mapping[str, str | int | None]

HTTP_SECONDS = 150.0
"""Longer than the longest honest answer: adding a feed fetches it first."""


class ServiceUnreachable(HeadwaterError):
    """No answer from where the service should be."""

    code = "service_unreachable"
    status = 503


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """One answer of the API; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def record(self) -> Any:
        """The JSON of the body; None for an empty one."""
        return orjson.loads(self.body) if self.body else None


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One question to the API. `body` is JSON already."""

    method: str
    path: str
    query: Query = field(default_factory=dict)
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def query_string(self) -> str:
        return urlencode([(name, str(v)) for name, v in self.query.items() if v is not None])

    @property
    def target(self) -> str:
        asked = self.query_string
        return f"{self.path}?{asked}" if asked else self.path


class ApiConnection(Protocol):
    """Somebody who answers requests."""

    is_service: bool
    where: str

    def ask(self, request: ApiRequest) -> ApiResponse: ...

    def close(self) -> None: ...


def all_headers(request: ApiRequest, token: str | None) -> dict[str, str]:
    said = {"accept": "application/json", "user-agent": f"headwater-cli/{__version__}"}
    if request.body:
        said["content-type"] = "application/json"
    if token:
        said["authorization"] = f"Bearer {_check_token(token)}"
    return said | {name.lower(): value for name, value in request.headers.items()}


def _check_token(token: str) -> str:
    """Of a file with a line end of another system a CR is left over. Never said: the token."""
    plain = token.strip()
    if not plain.isprintable():
        raise BadSettings("The token (HEADWATER_TOKEN) has a line break or a control character.")
    if not plain.isascii():
        raise BadSettings("The token (HEADWATER_TOKEN) has a character that is not plain ASCII.")
    return plain


class HttpConnection:
    """A service somewhere, one kept-alive connection."""

    is_service = True

    def __init__(self, url: str, token: str | None, *, seconds: float = HTTP_SECONDS) -> None:
        self.where = url.rstrip("/")
        self._parts = _parse_service_url(url)
        self._token = token
        self._seconds = seconds
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, request: ApiRequest) -> ApiResponse:
        """A connection the service has closed meanwhile is opened again, once.

        That is safe for every request we make: those that create carry an Idempotency-Key.
        """
        was_used = self._connection is not None
        try:
            return self._once(request)
        except (http.client.RemoteDisconnected, ConnectionError) as trouble:
            self.close()
            if not was_used:
                raise self._unreachable(trouble) from trouble
        except (OSError, http.client.HTTPException) as trouble:
            self.close()
            raise self._unreachable(trouble) from trouble
        return self._again(request)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _again(self, request: ApiRequest) -> ApiResponse:
        try:
            return self._once(request)
        except (OSError, http.client.HTTPException) as trouble:
            self.close()
            raise self._unreachable(trouble) from trouble

    def _once(self, request: ApiRequest) -> ApiResponse:
        connection = self._connection or self._open()
        self._connection = connection
        connection.request(
            request.method,
            self._parts.path.rstrip("/") + request.target,
            body=request.body or None,
            headers=all_headers(request, self._token),
        )
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return ApiResponse(answer.status, headers, answer.read())

    def _open(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(
                host, port, timeout=self._seconds, context=ssl.create_default_context()
            )
        return http.client.HTTPConnection(host, port, timeout=self._seconds)

    def _unreachable(self, trouble: Exception) -> ServiceUnreachable:
        said = str(trouble) or type(trouble).__name__
        return ServiceUnreachable(
            f"No answer from Headwater at {self.where}: {said}."
            " Is it running there? Start it with `headwater run`.",
            url=self.where,
        )


def _parse_service_url(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port, (parts.hostname or "").encode("idna")
    except ValueError as trouble:
        raise BadSettings(f"{url} is not a service address: {trouble}") from trouble
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise BadSettings(f"{url} is not a service address; it begins with http:// or https://.")
    if not parts.path.isascii():
        raise BadSettings(f"{url} is not a service address; what is not ASCII is written with %.")
    return parts
