"""Errors that only HTTP knows, and the one envelope that every error becomes."""

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
    """For pages that people open in a browser: the browser asks them for a token."""


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
    """The Host header names another host: DNS rebinding, or a proxy that is not in the settings."""

    code = "misdirected_request"
    status = 421


class RateLimited(HeadwaterError):
    """Facts: `retry_after_sec`."""

    code = "rate_limited"
    status = 429


class FeedsUnavailable(HeadwaterError):
    """The store of readers and items cannot be reached. Facts: `retry_after_sec`."""

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
    """The answer for an error: its class has the code and the status; its facts are added."""
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
    """A browser asks its user only on pages of ours: no other request opens a login window."""
    if isinstance(trouble, LoginNeeded):
        return 'Basic realm="Headwater"'
    return 'Bearer realm="headwater"'


def status_response(status: int, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to an error of Starlette's own router, without its text."""
    code, message = _BY_STATUS.get(status, (f"http_{status}", "The request was refused."))
    return envelope_response(status, code, message, message, {}, headers or {})


def field_errors_response(problems: Sequence[Any]) -> Response:
    """FastAPI's own list of bad fields, bounded, and without an echo of their values."""
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
    """The name of a field that a caller made up may be as long as a body."""
    return part[:LONGEST_NAME] if isinstance(part, str) else part


def internal_error_response() -> Response:
    """The caller learns nothing of the cause: that is in the log."""
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
    envelope: Envelope = dict(facts) | {
        "error": code,
        "message": message,
        "detail": detail,
        "status_code": status,
    }
    body = orjson.dumps(envelope, default=str)
    return Response(body, status, headers=dict(headers), media_type="application/json")


def _database_error_response(trouble: DatabaseError) -> Response:
    """The driver's own text is not sent: it may name hosts and hold SQL."""
    facts = dict(trouble.facts)
    place = facts.pop("place", "The database")
    problem = "cannot be reached" if trouble.code == "connection_error" else "refused"
    message = f"{place} {problem}. Try again in a moment."
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
