"""What may go wrong between a program and Headwater, each kind with its own name."""

from collections.abc import Mapping
from typing import Any

import orjson

from headwater.core.errors import HeadwaterError

_ENVELOPE = frozenset({"error", "message", "detail", "status_code"})
_TEMPORARY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
LONGEST_RETRY_AFTER = 3_600.0


class Refusal(HeadwaterError):
    """Headwater said no: its code, its status and its facts."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        facts = {str(name): value for name, value in said.items() if name not in _ENVELOPE}
        super().__init__(str(said.get("message", "no reason was given")), **facts)
        self.code = str(said.get("error", "unknown"))
        status = said.get("status_code", 0)
        self.status = status if isinstance(status, int) else 0

    @property
    def may_pass(self) -> bool:
        """The same question may be answered a while later."""
        return self.status in _TEMPORARY_STATUSES

    @property
    def retry_after(self) -> float:
        """How many seconds Headwater asked to be left alone; 0.0 when it did not say."""
        said = self.facts.get("retry_after_sec")
        if isinstance(said, bool) or not isinstance(said, int | float) or not said > 0:
            return 0.0
        return min(float(said), LONGEST_RETRY_AFTER)


class Unreachable(HeadwaterError):
    """No answer from Headwater, or an answer that broke off; try again in a while."""

    code = "service_unreachable"
    status = 503


class Garbled(Unreachable):
    """What came makes no sense: damaged on its way, or made up. The connection is given up."""

    code = "garbled_answer"
    status = 502


class Unexpected(HeadwaterError):
    """Somebody answers there, but not as Headwater would: trying again will not help."""

    code = "unexpected_answer"
    status = 502


class LogReset(HeadwaterError):
    """The log ends before the number we have: it was restored from an older backup.

    Numbers after `last_seq` will be given to other events. Nothing says which of those you had.
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
    """From an answer of 400 or more. A proxy on the way has words of its own: what may pass is a
    refusal in anybody's words, all else only in Headwater's."""
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        said = None
    facts = {**said} if isinstance(said, dict) else {}
    if "error" not in facts and status not in _TEMPORARY_STATUSES:
        return Unexpected(f"The answer is {status}, and not in Headwater's words.", answered=status)
    facts["status_code"] = status
    if retry_after is not None and retry_after.isascii() and retry_after.isdigit():
        facts.setdefault("retry_after_sec", int(retry_after[:9]))
    return Refusal(facts)
