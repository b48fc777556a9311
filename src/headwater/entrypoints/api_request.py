"""A request to the API and its answer, for callers that go over HTTP or call the app in process."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

import orjson

from headwater import __version__
from headwater.core.errors import BadSettings

Query = Mapping[str, str | int | None]


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
    """One request to the API. `body` is JSON already."""

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
        return f"{self.path}?{self.query_string}" if self.query_string else self.path


class ApiConnection(Protocol):
    """A connection to the API: over HTTP, or to the app in this process."""

    is_service: bool
    where: str

    def ask(self, request: ApiRequest) -> ApiResponse: ...

    def close(self) -> None: ...


def all_headers(request: ApiRequest, token: str | None) -> dict[str, str]:
    headers = {"accept": "application/json", "user-agent": f"headwater-cli/{__version__}"}
    if request.body:
        headers["content-type"] = "application/json"
    if token:
        headers["authorization"] = f"Bearer {_check_token(token)}"
    return headers | {name.lower(): value for name, value in request.headers.items()}


def _check_token(token: str) -> str:
    """A file with line ends of another system leaves a CR behind. No message repeats the token."""
    plain = token.strip()
    if not plain.isprintable():
        raise BadSettings("The token (HEADWATER_TOKEN) has a line break or a control character.")
    if not plain.isascii():
        raise BadSettings("The token (HEADWATER_TOKEN) has a character that is not plain ASCII.")
    return plain
