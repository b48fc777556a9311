"""One run of one command: its settings, its way to the API, where it prints."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TextIO
from uuid import uuid4

import orjson
from rich.console import Console

from headwater.entrypoints.cli.api_caller import ApiConnection, ApiRequest, ApiResponse, Query
from headwater.entrypoints.cli.connection import open_connection
from headwater.entrypoints.cli.errors import ApiError, NotText
from headwater.entrypoints.cli.terminal import one_line
from headwater.settings import Settings, load_settings

PAGE = 500
PIPE_WIDTH = 240


@dataclass
class Session:
    """Made before the command runs; what is not needed is not opened."""

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
        """The service that was named, if one was."""
        return self.url or os.environ.get("HEADWATER_URL") or None

    @contextmanager
    def api(self, *, writes: bool = False) -> Iterator["Api"]:
        with open_connection(
            self.settings,
            url=self.elsewhere,
            token=self.token,
            what=self.command,
            writes=writes,
        ) as caller:
            yield Api(caller)

    def print_json(self, record: Any) -> None:
        """One document, readable by programs and (indented) by people."""
        print(orjson.dumps(record, option=orjson.OPT_INDENT_2).decode())

    def print_line(self, record: Any) -> None:
        """One record of a stream (NDJSON)."""
        print(orjson.dumps(record).decode(), flush=True)

    def note(self, text: str) -> None:
        """A remark beside the records."""
        if not self.as_json:
            self.err.print(text, markup=False)


def _console(stream: TextIO) -> Console:
    """A pipe has no width: what goes into one is not cut to eighty columns."""
    is_pipe = not stream.isatty() and "COLUMNS" not in os.environ
    return Console(file=stream, highlight=False, width=PIPE_WIDTH if is_pipe else None)


class Api:
    """The API in the words of the command line; a refusal is raised with its envelope."""

    def __init__(self, caller: ApiConnection) -> None:
        self._caller = caller

    @property
    def is_service(self) -> bool:
        return self._caller.is_service

    @property
    def where(self) -> str:
        return self._caller.where

    def get(self, path: str, **query: str | int | None) -> Any:
        return decode_record(self.ask(ApiRequest("GET", path, query)))

    def post(self, path: str, body: Mapping[str, Any], **query: str | int | None) -> Any:
        return self._send("POST", path, body, query, {"idempotency-key": str(uuid4())})

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._send("PATCH", path, body, {}, {})

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._send("PUT", path, body, {}, {})

    def delete(self, path: str, **query: str | int | None) -> Any:
        return decode_record(self.ask(ApiRequest("DELETE", path, query)))

    def pages(self, path: str, key: str, **query: str | int | None) -> Iterator[dict[str, Any]]:
        """Every record of a listing, page after page."""
        cursor: str | None = None
        query.setdefault("limit", PAGE)
        while True:
            reply = self.ask(ApiRequest("GET", path, {**query, "cursor": cursor}))
            page = decode_record(reply)
            if not isinstance(page.get(key), list):  # JSON, and of another service
                raise ApiError(reply.status, _foreign_answer_envelope(reply))
            yield from page[key]
            cursor = page.get("next_cursor")
            if not cursor:
                return

    def some(
        self, path: str, key: str, limit: int, **query: str | int | None
    ) -> list[dict[str, Any]]:
        """The first records of a listing."""
        pages = self.pages(path, key, **query, limit=min(limit, PAGE))
        return list(islice(pages, limit))

    def ask(self, request: ApiRequest) -> ApiResponse:
        reply = self._caller.ask(request)
        if reply.status >= 300:  # the API itself sends nobody elsewhere
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
        try:
            written = orjson.dumps(body)
        except orjson.JSONEncodeError as trouble:
            raise NotText from trouble
        return decode_record(self.ask(ApiRequest(method, path, query, written, headers)))


def decode_record(reply: ApiResponse) -> Any:
    """What an answer says. Whoever answers where a service was expected may not be one."""
    said = _object_in(reply)
    if said is None:
        raise ApiError(reply.status, _foreign_answer_envelope(reply))
    return said


def _envelope(reply: ApiResponse) -> dict[str, Any]:
    """Also for an answer that is not ours: a proxy's page, or another service's own no."""
    said = _object_in(reply)
    if said is None or not isinstance(said.get("error"), str) or "message" not in said:
        return _foreign_answer_envelope(reply)
    return said


def _object_in(reply: ApiResponse) -> dict[str, Any] | None:
    """The API answers with a JSON object, always."""
    try:
        said = reply.record
    except orjson.JSONDecodeError:
        return None
    return said if isinstance(said, dict) else None


def _foreign_answer_envelope(reply: ApiResponse) -> dict[str, Any]:
    text = one_line(reply.body[:200].decode("utf-8", "replace"))
    elsewhere = reply.headers.get("location")
    points = f" It points to {one_line(elsewhere)}." if elsewhere else ""
    return {
        "error": "unexpected_answer",
        "message": "Something else than Headwater answered, there or on the way:"
        f" {reply.status}, {text or 'nothing'}.{points}",
        "detail": text,
        "status_code": reply.status,
    }
