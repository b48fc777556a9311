"""What only HTTP can do wrong, and how every error becomes one envelope."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from starlette.responses import Response

from headwater.core.errors import (
    BadInput,
    ConflictError,
    DatabaseError,
    HeadwaterError,
    Unauthorized,
)
from headwater.entrypoints.api.records import Record

RETRY_DATABASE_SECONDS = 5
MOST_PROBLEMS = 20
LONGEST_NAME = 100
Envelope = dict[str, Any]


class BadCursor(BadInput):
    code = "bad_cursor"


class BadMoment(BadInput):
    code = "bad_moment"


class BadBody(BadInput):
    """Facts: `detail`, a list as FastAPI makes it."""

    code = "validation_error"


class LoginNeeded(Unauthorized):
    """Where people come with a browser: it asks them for a token."""


class BadRequest(HeadwaterError):
    code = "bad_request"
    status = 400


class MethodNotAllowed(HeadwaterError):
    """Facts: `allowed`."""

    code = "method_not_allowed"
    status = 405


class BodyTooLarge(HeadwaterError):
    code = "body_too_large"
    status = 413


class WrongMediaType(HeadwaterError):
    code = "unsupported_media_type"
    status = 415


class Misdirected(HeadwaterError):
    """The Host header names somebody else: DNS rebinding, or a proxy that nobody told us about."""

    code = "misdirected_request"
    status = 421


class RateLimited(HeadwaterError):
    """Facts: `retry_after_sec`."""

    code = "rate_limited"
    status = 429


class FeedsUnavailable(HeadwaterError):
    """Where readers and items are kept cannot be reached. Facts: `retry_after_sec`."""

    code = "connection_error"


class IdempotencyMismatch(BadInput):
    code = "idempotency_mismatch"


class IdempotencyInProgress(ConflictError):
    """Facts: `retry_after_sec`."""

    code = "idempotency_in_progress"


_BY_STATUS = {
    400: ("bad_request", "The request cannot be understood."),
    404: ("not_found", "There is nothing here."),
    405: ("method_not_allowed", "This method does not work here."),
}


def error_response(trouble: HeadwaterError) -> Response:
    """The one table: an error's own class says code and status; its facts go along."""
    if isinstance(trouble, DatabaseError):
        return _database_error_response(trouble)
    facts = dict(trouble.facts)
    detail = facts.pop("detail", trouble.message)
    headers: dict[str, str] = {}
    if "retry_after_sec" in facts:
        headers["retry-after"] = str(max(1, math.ceil(facts["retry_after_sec"])))
    if isinstance(trouble, MethodNotAllowed):
        headers["allow"] = ", ".join(facts["allowed"])
    if isinstance(trouble, Unauthorized):
        headers["www-authenticate"] = _challenge(trouble)
    return envelope_response(trouble.status, trouble.code, trouble.message, detail, facts, headers)


def _challenge(trouble: Unauthorized) -> str:
    """Only a browser that came by itself is asked: no request of a page opens a window."""
    if isinstance(trouble, LoginNeeded):
        return 'Basic realm="Headwater"'
    return 'Bearer realm="headwater"'


def status_response(status: int, headers: Mapping[str, str] | None = None) -> Response:
    """For what the router says by itself; its text is not passed on."""
    code, message = _BY_STATUS.get(status, (f"http_{status}", "The request was refused."))
    return envelope_response(status, code, message, message, {}, headers or {})


def field_errors_response(problems: Sequence[Any]) -> Response:
    """FastAPI's own list, bounded, and without the echo of what was sent."""
    detail = [
        {
            "type": problem["type"],
            "loc": [_short(part) for part in problem["loc"]],
            "msg": problem["msg"],
        }
        for problem in problems[:MOST_PROBLEMS]
    ]
    message = "The request has fields that do not work."
    return envelope_response(422, BadBody.code, message, detail, {}, {})


def _short(part: Any) -> Any:
    """A caller's own field name may be as long as a body."""
    return part[:LONGEST_NAME] if isinstance(part, str) else part


def internal_error_response() -> Response:
    """No word of what happened goes out: it is in the log."""
    message = "Something went wrong inside Headwater. Its log says what."
    return envelope_response(500, "internal_error", message, message, {}, {})


def envelope_response(
    status: int,
    code: str,
    message: str,
    detail: str | list[Any],
    facts: Mapping[str, Any],
    headers: Mapping[str, str],
) -> Response:
    said: Envelope = dict(facts) | {
        "error": code,
        "message": message,
        "detail": detail,
        "status_code": status,
    }
    body = orjson.dumps(said, default=str)
    return Response(body, status, headers=dict(headers), media_type="application/json")


def _database_error_response(trouble: DatabaseError) -> Response:
    """The driver's words stay inside: they may name hosts and hold SQL."""
    facts = dict(trouble.facts)
    place = facts.pop("place", "The database")
    what = "cannot be reached" if trouble.code == "connection_error" else "refused"
    message = f"{place} {what}. Try again in a moment."
    if failed := facts.pop("failed", None):
        message = f"{failed}: {message}"
    headers = {"retry-after": str(RETRY_DATABASE_SECONDS)}
    return envelope_response(500, trouble.code, message, message, facts, headers)


class Problem(Record):
    """Every error looks like this; more facts may stand beside."""

    error: str
    message: str
    detail: str | list[dict[str, Any]]
    status_code: int
