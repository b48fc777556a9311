"""The session: one run of one command, with its settings, its API and its output."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TextIO, TypeVar, TypeVarTuple
from uuid import uuid4

import orjson
import typer
from rich.console import Console, RenderableType

from headwater.core.errors import BadInput
from headwater.entrypoints.api_request import ApiConnection, ApiRequest, ApiResponse, Query
from headwater.entrypoints.cli.connection import open_connection
from headwater.entrypoints.cli.errors import ApiError, NotText
from headwater.entrypoints.cli.render import safe_text
from headwater.entrypoints.cli.terminal import one_line
from headwater.settings import Settings, load_settings

PAGE = 500
PIPE_WIDTH = 240
MOST_WAITS = 60
LONGEST_WAIT = 60.0
"""The longest pause in seconds after the API refused because of too many requests."""

NO_SERVICE_NOTE = (
    "No service is running: nothing will be visited until you start one with `headwater run`."
)

T = TypeVar("T")
Further = TypeVarTuple("Further")


@dataclass
class Session:
    """One run of a command. It opens only what the command needs."""

    data_dir: Path | None = None
    url: str | None = None
    command: str = "headwater"
    as_json: bool = False
    out: Console = field(default_factory=lambda: _console(sys.stdout))
    err: Console = field(default_factory=lambda: _console(sys.stderr))

    @cached_property
    def settings(self) -> Settings:
        return load_settings(data_dir=self.data_dir)

    @property
    def token(self) -> str | None:
        return os.environ.get("HEADWATER_TOKEN") or self.settings.admin_secret

    @property
    def elsewhere(self) -> str | None:
        """The service that the user named, if any."""
        return self.url or os.environ.get("HEADWATER_URL") or None

    @contextmanager
    def api(self, *, writes: bool = False) -> Iterator["Api"]:
        """Open the API. Without a service a command that `writes` holds the locks meanwhile."""
        with open_connection(
            self.settings,
            url=self.elsewhere,
            token=self.token,
            what=self.command,
            writes=writes,
        ) as connection:
            yield Api(connection, writes=writes)

    def emit(
        self,
        record: T,
        show: Callable[[T, *Further], RenderableType],
        *further: *Further,
        empty: str | None = None,
    ) -> None:
        """Print a record as JSON, or as `show` renders it for people, or `empty` for none."""
        if self.as_json:
            self.print_json(record)
        elif not record and empty is not None:
            self.out.print(safe_text(empty))
        else:
            self.out.print(show(record, *further))

    def emit_line(self, record: Any, line: str, most: int = 500) -> None:
        """Print a record: as JSON, or as one sentence for people."""
        self.emit(record, lambda _: safe_text(line, most))

    def print_json(self, record: Any) -> None:
        """Print one document, readable by programs and (indented) by people."""
        print(orjson.dumps(record, option=orjson.OPT_INDENT_2).decode())

    def print_line(self, record: Any) -> None:
        """Print one record of a stream (NDJSON)."""
        print(orjson.dumps(record).decode(), flush=True)

    def note(self, text: str) -> None:
        """Print a remark on stderr, beside the records."""
        if not self.as_json:
            self.err.print(text, markup=False)

    def confirm(
        self,
        question: str,
        *,
        yes: bool,
        needs: str | None = None,
        default: bool = False,
        about: RenderableType | None = None,
    ) -> None:
        """Ask the user, and end the command when the answer is no.

        When nobody can be asked, `needs` is the error; without it the command goes on.
        """
        if yes:
            return
        if sys.stdin.isatty():
            if about is not None:
                self.err.print(about)
            typer.confirm(question, default=default, abort=True, err=True)
        elif needs is not None:
            raise BadInput(needs)


def _console(stream: TextIO) -> Console:
    """Make a console. A pipe has no width: its lines are not cut to eighty columns."""
    is_pipe = not stream.isatty() and "COLUMNS" not in os.environ
    return Console(file=stream, highlight=False, width=PIPE_WIDTH if is_pipe else None)


class Api:
    """The API for commands. A refusal is raised as ApiError with its envelope."""

    def __init__(self, connection: ApiConnection, *, writes: bool = False) -> None:
        self._connection = connection
        self._writes = writes

    @property
    def is_service(self) -> bool:
        return self._connection.is_service

    @property
    def where(self) -> str:
        return self._connection.where

    def get(self, path: str, **query: str | int | None) -> Any:
        return decode_record(self.ask(ApiRequest("GET", path, query)))

    def post(self, path: str, body: Mapping[str, Any], **query: str | int | None) -> Any:
        return self._send("POST", path, body, query, {"idempotency-key": str(uuid4())})

    def preview(self, path: str, body: Mapping[str, Any]) -> Any:
        """POST a request that changes nothing: the API answers what it would do."""
        headers = {"idempotency-key": str(uuid4())}
        return decode_record(self._answer(_json_request("POST", path, body, {}, headers)))

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._send("PATCH", path, body, {}, {})

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._send("PUT", path, body, {}, {})

    def delete(self, path: str, **query: str | int | None) -> Any:
        return decode_record(self.ask(ApiRequest("DELETE", path, query)))

    def pages(self, path: str, key: str, **query: str | int | None) -> Iterator[dict[str, Any]]:
        """Yield every record of a listing, page after page."""
        cursor: str | None = None
        query.setdefault("limit", PAGE)
        while True:
            reply = self.ask(ApiRequest("GET", path, {**query, "cursor": cursor}))
            page = decode_record(reply)
            if not isinstance(page.get(key), list):  # it is JSON, but of another service
                raise ApiError(reply.status, _foreign_answer_envelope(reply))
            yield from page[key]
            cursor = page.get("next_cursor")
            if not cursor:
                return

    def first(
        self, path: str, key: str, limit: int, **query: str | int | None
    ) -> list[dict[str, Any]]:
        """Return the first records of a listing."""
        pages = self.pages(path, key, **query, limit=min(limit, PAGE))
        return list(islice(pages, limit))

    def patiently(self, request: Callable[[], T], *, gave_up: str) -> T:
        """Repeat a request that comes too often, as in a long import: wait as the API says."""
        for _ in range(MOST_WAITS):
            try:
                return request()
            except ApiError as refusal:
                if refusal.code != "rate_limited":
                    raise
                time.sleep(min(LONGEST_WAIT, float(refusal.facts.get("retry_after_sec") or 1)))
        raise BadInput(gave_up)

    def ask(self, request: ApiRequest) -> ApiResponse:
        if not self._writes and request.method != "GET":
            # The request would write without the locks of the data folder.
            raise AssertionError(f"{request.method} {request.path} needs session.api(writes=True)")
        return self._answer(request)

    def _answer(self, request: ApiRequest) -> ApiResponse:
        reply = self._connection.ask(request)
        if reply.status >= 300:  # the API itself never redirects
            raise ApiError(reply.status, _envelope(reply))
        return reply

    def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any],
        query: Query,
        headers: Mapping[str, str],
    ) -> Any:
        return decode_record(self.ask(_json_request(method, path, body, query, headers)))


def _json_request(
    method: str, path: str, body: Mapping[str, Any], query: Query, headers: Mapping[str, str]
) -> ApiRequest:
    try:
        return ApiRequest(method, path, query, orjson.dumps(body), headers)
    except orjson.JSONEncodeError as trouble:
        raise NotText from trouble


def decode_record(reply: ApiResponse) -> Any:
    """Return the JSON object of an answer. Another program than Headwater may have answered."""
    record = _object_in(reply)
    if record is None:
        raise ApiError(reply.status, _foreign_answer_envelope(reply))
    return record


def _envelope(reply: ApiResponse) -> dict[str, Any]:
    """Read the error envelope. Make one for an answer that is not ours, as the page of a proxy."""
    envelope = _object_in(reply)
    if envelope is None or not isinstance(envelope.get("error"), str) or "message" not in envelope:
        return _foreign_answer_envelope(reply)
    return envelope


def _object_in(reply: ApiResponse) -> dict[str, Any] | None:
    """Read a JSON object, which every answer of the API is."""
    try:
        record = reply.record
    except orjson.JSONDecodeError:
        return None
    return record if isinstance(record, dict) else None


def _foreign_answer_envelope(reply: ApiResponse) -> dict[str, Any]:
    text = one_line(reply.body[:200].decode("utf-8", "replace"))
    location = reply.headers.get("location")
    redirect = f" It points to {one_line(location)}." if location else ""
    return {
        "error": "unexpected_answer",
        "message": "Something else than Headwater answered, there or on the way:"
        f" {reply.status}, {text or 'nothing'}.{redirect}",
        "detail": text,
        "status_code": reply.status,
    }
