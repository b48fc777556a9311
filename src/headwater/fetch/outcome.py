"""What a visit met, as values matched to the end: Fetched, Unchanged, Throttled, Gone, Failed."""

from dataclasses import dataclass

from headwater.values.response import Exchange, Validators


@dataclass(frozen=True, slots=True)
class Fetched:
    """A complete 2xx body. `moved_to` is set when every hop on the way was permanent (301/308)."""

    exchange: Exchange
    validators: Validators
    fresh_for: float | None = None
    moved_to: str | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A 304 to a conditional request. Validators stay as they were."""

    exchange: Exchange
    fresh_for: float | None = None
    moved_to: str | None = None


@dataclass(frozen=True, slots=True)
class Throttled:
    """429 or 503: the host asks for rest. `retry_after` in seconds when it said how long."""

    exchange: Exchange
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """410."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Failed:
    """Everything else: `code` is stable and documented, `detail` is for people.

    A body that came with the failure (an error page, a cut-off document) is in the exchange and
    is archived; `truncated` says that it is not whole. `retry_after` in seconds when the answer
    said how long to stay away, whatever its status.
    """

    exchange: Exchange
    code: str
    detail: str
    truncated: bool = False
    retry_after: float | None = None


Outcome = Fetched | Unchanged | Throttled | Gone | Failed
