"""Errors on the command line: exit codes with their meanings, and messages."""

import sys
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

import orjson

from headwater.core.errors import BadInput, HeadwaterError
from headwater.entrypoints.cli.terminal import make_printable
from headwater.feeds.schedule.durations import format_duration


class ExitCode(IntEnum):
    FINE = 0
    PROBLEMS = 1
    USAGE = 2
    REFUSED = 3
    NOT_FOUND = 4
    UNREACHABLE = 5
    UPSTREAM = 6
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.FINE: "fine",
    ExitCode.PROBLEMS: "done, with problems",
    ExitCode.USAGE: "wrong usage or bad input",
    ExitCode.REFUSED: "refused: already there, in use, not allowed",
    ExitCode.NOT_FOUND: "not found",
    ExitCode.UNREACHABLE: "the service or the database cannot be reached",
    ExitCode.UPSTREAM: "the feed's server did not give a document",
    ExitCode.INTERRUPTED: "interrupted",
}

_BY_ERROR = {
    "bad_settings": ExitCode.USAGE,
    "connection_error": ExitCode.UNREACHABLE,
    "database_error": ExitCode.UNREACHABLE,
    "unknown_schema": ExitCode.UNREACHABLE,
    "service_unreachable": ExitCode.UNREACHABLE,
    "unexpected_answer": ExitCode.UNREACHABLE,
    "fetch_failed": ExitCode.UPSTREAM,
}

_BY_STATUS = {
    400: ExitCode.USAGE,
    401: ExitCode.REFUSED,
    403: ExitCode.REFUSED,
    404: ExitCode.NOT_FOUND,
    409: ExitCode.REFUSED,
    410: ExitCode.NOT_FOUND,
    413: ExitCode.USAGE,
    415: ExitCode.USAGE,
    421: ExitCode.REFUSED,
    422: ExitCode.USAGE,
    429: ExitCode.REFUSED,
    502: ExitCode.UPSTREAM,
    503: ExitCode.UNREACHABLE,
    504: ExitCode.UPSTREAM,
}


class ApiError(HeadwaterError):
    """The API refused. The whole envelope is kept."""

    def __init__(self, status: int, envelope: dict[str, Any]) -> None:
        super().__init__(_message(envelope, status))
        self.code = str(envelope.get("error") or "error")
        self.status = status
        self.facts = {
            name: value
            for name, value in envelope.items()
            if name not in {"error", "message", "detail", "status_code"}
        }
        self.envelope = envelope


class NotText(BadInput):
    """Bytes that are no text: a shell passes all that was typed or read."""

    def __init__(self) -> None:
        super().__init__("What was given is not text in UTF-8.")


def exit_code_of(trouble: HeadwaterError) -> ExitCode:
    by_code = _BY_ERROR.get(trouble.code)
    return by_code or _BY_STATUS.get(trouble.status, ExitCode.PROBLEMS)


def print_error(trouble: HeadwaterError, *, as_json: bool) -> None:
    """Print it on stderr, so that stdout holds records and nothing else."""
    if as_json:
        print(orjson.dumps(envelope_of(trouble), default=str).decode(), file=sys.stderr)
        return
    print(f"headwater: {make_printable(trouble.message)}", file=sys.stderr)
    for hint in _hints(trouble):
        print(f"  {hint}", file=sys.stderr)


def envelope_of(trouble: HeadwaterError) -> dict[str, Any]:
    if isinstance(trouble, ApiError):
        return trouble.envelope
    return {
        "error": trouble.code,
        "message": trouble.message,
        "detail": trouble.message,
        "status_code": trouble.status,
        **trouble.facts,
    }


_HINTS = {
    "unauthorized": "Give a token: HEADWATER_TOKEN=… headwater …",
    "forbidden": "This token's scope does not reach that far; use the admin token.",
    "blocked_address": "An address of your own network can be allowed with"
    " HEADWATER_ALLOW_ADDRESSES=host:port (or a CIDR).",
    "connection_error": "Run `headwater doctor` to see what is wrong.",
    "database_error": "Run `headwater doctor` to see what is wrong.",
}


def _hints(trouble: HeadwaterError) -> Iterator[str]:
    if trouble.code in _HINTS:
        yield _HINTS[trouble.code]
    wait = trouble.facts.get("retry_after_sec")
    if isinstance(wait, int | float):
        yield f"Try again in {format_duration(max(1, wait))}."


def _message(envelope: dict[str, Any], status: int) -> str:
    """Return the message of the API; for a bad request the wrong fields and the reasons."""
    detail = envelope.get("detail")
    if isinstance(detail, list):
        return "; ".join(_field(problem) for problem in detail) or f"status {status}"
    return str(envelope.get("message") or detail or f"status {status}")


def _field(problem: Any) -> str:
    if not isinstance(problem, dict):
        return str(problem)
    where = [str(part) for part in problem.get("loc", ()) if part not in {"body", "query", "path"}]
    return f"{'.'.join(where)}: {problem.get('msg')}" if where else str(problem.get("msg"))
