"""The HTTP connection of the command line to a running service."""

import http.client
import ssl
from urllib.parse import SplitResult, urlsplit

from headwater.core.errors import BadSettings, HeadwaterError
from headwater.entrypoints.api_request import ApiRequest, ApiResponse, all_headers

HTTP_SECONDS = 150.0
"""Longer than the longest regular answer: adding a feed fetches it first."""


class ServiceUnreachable(HeadwaterError):
    """No service answers at its URL."""

    code = "service_unreachable"
    status = 503


class HttpConnection:
    """One kept-alive connection to a service."""

    is_service = True

    def __init__(self, url: str, token: str | None, *, seconds: float = HTTP_SECONDS) -> None:
        self.where = url.rstrip("/")
        self._parts = _parse_service_url(url)
        self._token = token
        self._seconds = seconds
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, request: ApiRequest) -> ApiResponse:
        """Send a request. A connection that the service has closed meanwhile is opened again, once.

        That is safe for all our requests: those that create something have an Idempotency-Key.
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
        try:
            return self._once(request)
        except (OSError, http.client.HTTPException) as trouble:
            self.close()
            raise self._unreachable(trouble) from trouble

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

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
        reason = str(trouble) or type(trouble).__name__
        return ServiceUnreachable(
            f"No answer from Headwater at {self.where}: {reason}."
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
