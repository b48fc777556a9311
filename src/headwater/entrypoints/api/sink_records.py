"""Records of sinks: how far each has come and what is wrong with it; never a secret."""

from typing import Any, Literal

from pydantic import Field

from headwater.announce.sinks.sink import DeadLetter, Standing
from headwater.entrypoints.api.records import Moment, Record
from headwater.sinks import Tried
from headwater.values.url import redacted


class WantedRecord(Record):
    """Empty: all."""

    types: list[str]
    feeds: list[str]
    categories: list[str]


class SinkRecord(Record):
    """`lag` counts the events after `cursor`, also those it does not want. URLs are without the
    secrets in them."""

    name: str
    kind: str
    origin: Literal["api", "settings"]
    options: dict[str, Any]
    has_secrets: bool
    wanted: WantedRecord
    enabled: bool
    state: Literal["active", "waiting", "stopped", "disabled"]
    stopped: str | None = Field(description="Why it was stopped: `gone`, `failing_too_long`.")
    max_attempts: int | None
    cursor: int
    lag: int
    delivered: int
    last_delivered_at: Moment | None
    dead_letters: int
    replays: int
    failures: int = Field(description="In a row, since something was last delivered.")
    attempts: int = Field(description="Tries of the next event so far.")
    failing_since: Moment | None
    last_error: str | None
    last_detail: str | None
    next_try_at: Moment | None = Field(description="The end of the pause after a failure.")
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, standing: Standing) -> "SinkRecord":
        return cls(**cls.fields_of(standing))

    @staticmethod
    def fields_of(standing: Standing) -> dict[str, Any]:
        sink = standing.sink
        wanted = sink.wanted
        same = (
            "name kind origin enabled state stopped max_attempts cursor delivered replays failures"
            " attempts failing_since last_delivered_at last_error last_detail created_at updated_at"
        )
        return {name: getattr(sink, name) for name in same.split()} | {
            "options": {name: _shown(value) for name, value in sink.options.items()},
            "has_secrets": sink.secrets is not None,
            "wanted": WantedRecord(
                types=list(wanted.types),
                feeds=list(wanted.feeds),
                categories=list(wanted.categories),
            ),
            "lag": standing.lag,
            "dead_letters": standing.dead_letters,
            "next_try_at": sink.next_try_at if sink.state == "waiting" else None,
        }


class SinkPage(Record):
    sinks: list[SinkRecord]
    next_cursor: str | None


class SecretSinkRecord(SinkRecord):
    """A sink with a secret that was just made."""

    secret: str | None = Field(
        description="Signs what a webhook gets (`whsec_…`). Shown once; null when you gave it."
    )

    @classmethod
    def silent(cls, standing: Standing) -> "SecretSinkRecord":
        return cls(**cls.fields_of(standing), secret=None)


class RemovedRecord(Record):
    name: str
    kind: str
    cursor: int


class TriedRecord(Record):
    """What a webhook said to the test message `event_id`; `error` says why it did not take it."""

    name: str
    event_id: str
    delivered: bool
    error: str | None
    detail: str | None

    @classmethod
    def of(cls, name: str, tried: Tried) -> "TriedRecord":
        receipt = tried.receipt
        return cls(
            name=name,
            event_id=tried.event_id,
            delivered=receipt.trouble is None,
            error=receipt.trouble,
            detail=receipt.detail or None,
        )


class DeadLetterRecord(Record):
    seq: int
    event_id: str
    type: str
    attempts: int
    error: str
    detail: str
    died_at: Moment
    retry_asked: bool

    @classmethod
    def of(cls, letter: DeadLetter) -> "DeadLetterRecord":
        return cls(**{name: getattr(letter, name) for name in cls.model_fields})


class DeadLetterPage(Record):
    """By their number in the log."""

    name: str
    dead_letters: list[DeadLetterRecord]
    next_cursor: str | None


class AskedRecord(Record):
    name: str
    asked: int


class ForgottenRecord(Record):
    name: str
    forgotten: int


def _shown(value: Any) -> Any:
    return redacted(value) if isinstance(value, str) else value
