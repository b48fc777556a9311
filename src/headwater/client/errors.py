"""Errors between a program and Headwater: refused, unreachable, garbled, unexpected, log reset."""

from collections.abc import Mapping
from typing import Any

import orjson

from headwater.core.errors import HeadwaterError

_ENVELOPE = frozenset({"error", "message", "detail", "status_code"})
_TEMPORARY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
LONGEST_RETRY_AFTER = 3_600.0


class Refusal(HeadwaterError):
    """Headwater refused a request. `code`, `status` and `facts` are those of its answer."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        facts = {str(name): value for name, value in said.items() if name not in _ENVELOPE}
        super().__init__(str(said.get("message", "no reason was given")), **facts)
        self.code = str(said.get("error", "unknown"))
        status = said.get("status_code", 0)
        self.status = status if isinstance(status, int) else 0

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in _TEMPORARY_STATUSES

    @property
    def retry_after(self) -> float:
        """The seconds that Headwater asked to wait; 0.0 when it did not ask."""
        seconds = self.facts.get("retry_after_sec")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
            return 0.0
        return min(float(seconds), LONGEST_RETRY_AFTER)


class Unreachable(HeadwaterError):
    """Headwater did not answer, or its answer broke off. Try again later."""

    code = "service_unreachable"
    status = 503


class Garbled(Unreachable):
    """The answer makes no sense: it was damaged on its way, or forged. The connection is closed."""

    code = "garbled_answer"
    status = 502


class Unexpected(HeadwaterError):
    """Somebody answered, but not as Headwater would. Trying again will not help."""

    code = "unexpected_answer"
    status = 502


class LogReset(HeadwaterError):
    """The log ends before the number we have: it was restored from an older backup.

    Other events will get the numbers after `last_seq`. Nobody can tell which of those you had.
    """

    code = "log_reset"
    status = 409

    def __init__(self, last_seq: int) -> None:
        super().__init__(
            f"The event log ends at {last_seq}, before the number this reader has: it was"
            " restored from an older backup.",
            last_seq=last_seq,
        )
        self.last_seq = last_seq


def error_of_response(
    status: int, body: bytes, retry_after: str | None = None
) -> Refusal | Unexpected:
    """The error of an answer of 400 or more. A proxy on the way answers in its own format: a status
    that may pass is a Refusal in any format, other statuses only in Headwater's."""
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        answer = None
    facts = {**answer} if isinstance(answer, dict) else {}
    if "error" not in facts and status not in _TEMPORARY_STATUSES:
        return Unexpected(f"The answer is {status}, and not in Headwater's words.", answered=status)
    facts["status_code"] = status
    if retry_after is not None and retry_after.isascii() and retry_after.isdigit():
        facts.setdefault("retry_after_sec", int(retry_after[:9]))
    return Refusal(facts)
