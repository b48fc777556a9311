"""Records of sinks: what callers send about them, and what they get."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, model_validator

from headwater.core.values.keep import KEEP
from headwater.core.values.url import redacted
from headwater.entrypoints.api.errors import BadMoment
from headwater.entrypoints.api.idempotency import ShownOnce
from headwater.entrypoints.api.models import Strict, each_once, parse_moment
from headwater.entrypoints.api.records import Moment, NounRecord, Record
from headwater.events.event_filter import EventFilter, parse_event_filter
from headwater.sinks.sink import (
    BEGINNING,
    END,
    NAME,
    SinkDefinition,
    SinkDefinitionPatch,
    SinkStatus,
    StartPosition,
)
from headwater.sinks.sink_commands import SinkTestResult

MOST_DEAD_LETTERS = 500
"""Dead letters that one request may name."""
LARGEST_SEQ = 2**63 - 1


def _parse_start(value: object) -> object:
    """A number is that of the first event to deliver; a time is the moment of the first one."""
    if value == "beginning":
        return BEGINNING
    if type(value) is int and 0 <= value <= LARGEST_SEQ:
        return StartPosition(seq=value)
    try:
        if not isinstance(value, str):
            raise BadMoment("not a text")
        return StartPosition(moment=parse_moment(value, "from"))
    except BadMoment as trouble:
        raise ValueError(
            "must be a number, an RFC 3339 time with a zone, or beginning"
        ) from trouble


SinkName = Annotated[
    str, Field(pattern=f"^{NAME}$", description="Letters, digits, `_`, `-` and `.`; 64 at most.")
]
Kind = Annotated[str, Field(min_length=1, max_length=64)]
OptionName = Annotated[str, Field(min_length=1, max_length=64)]
Options = Annotated[
    dict[OptionName, str | StrictInt | StrictBool | float | None], Field(max_length=32)
]
Secret = Annotated[str, Field(min_length=1, max_length=8_192)]
Attempts = Annotated[
    StrictInt,
    Field(ge=1, le=1_000_000, description="Tries before an event dies; null: it never does."),
]
From = Annotated[
    StartPosition,
    BeforeValidator(_parse_start, json_schema_input_type=int | str),
    Field(alias="from", description="A number, an RFC 3339 time, or `beginning`."),
]
Seq = Annotated[StrictInt, Field(ge=1, le=LARGEST_SEQ)]


class EventFilterIn(Strict):
    """Which events; an empty list means all."""

    types: Annotated[list[str], Field(max_length=64)] = Field(default=[])
    feeds: Annotated[list[str], Field(max_length=1_000)] = Field(default=[])
    categories: Annotated[list[str], Field(max_length=100)] = Field(default=[])

    def event_filter(self) -> EventFilter:
        return parse_event_filter(self.types, self.feeds, self.categories)

    def patch(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(values) for name, values in self.named_fields().items()}


class NewSinkIn(Strict):
    """A sink. Without `from` it gets the events from now on."""

    name: SinkName
    kind: Kind
    options: Options = Field(default={})
    secrets: Annotated[dict[OptionName, Secret], Field(max_length=16)] = Field({}, repr=False)
    wanted: EventFilterIn = EventFilterIn()
    enabled: StrictBool = True
    max_attempts: Attempts | None = None
    start: From = END

    def definition(self) -> SinkDefinition:
        return SinkDefinition(
            name=self.name,
            kind=self.kind,
            options=self.options,
            secrets=self.secrets,
            wanted=self.wanted.event_filter(),
            enabled=self.enabled,
            max_attempts=self.max_attempts if "max_attempts" in self.model_fields_set else KEEP,
            start=self.start,
        )


class SinkChanges(Strict):
    """Only what is named changes; null goes back to the default, or takes a secret away."""

    options: Options = Field(default={})
    secrets: Annotated[dict[OptionName, Secret | None], Field(max_length=16)] = Field(
        {}, repr=False
    )
    wanted: EventFilterIn = EventFilterIn()
    enabled: StrictBool = True
    max_attempts: Attempts | None = None

    def patch(self) -> SinkDefinitionPatch:
        return SinkDefinitionPatch(**{**self.named_fields(), "wanted": self.wanted.patch()})


class ReplayIn(Strict):
    start: From


class RetryIn(Strict):
    """Those that are named, or all of them."""

    seqs: (
        Annotated[
            list[Seq], Field(min_length=1, max_length=MOST_DEAD_LETTERS), each_once("one event")
        ]
        | None
    ) = None
    all: StrictBool = False

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.seqs is None) != self.all:
            raise ValueError("name the seqs, or say all")
        return self


class RotateIn(Strict):
    secret: Secret | None = Field(
        None, repr=False, description="Your own `whsec_…`; without it one is made and shown once."
    )


class EventFilterRecord(NounRecord):
    """Empty: all."""

    types: list[str]
    feeds: list[str]
    categories: list[str]


def _without_secrets(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: redacted(value) if isinstance(value, str) else value
        for name, value in options.items()
    }


class SinkRecord(NounRecord):
    """`lag` counts the events after `cursor`, also those it does not want. URLs are without the
    secrets in them."""

    name: str
    kind: str
    origin: Literal["api", "settings"]
    options: Annotated[dict[str, Any], BeforeValidator(_without_secrets)]
    has_secrets: bool
    wanted: EventFilterRecord
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
    def of_status(cls, status: SinkStatus, **more: Any) -> Self:
        sink = status.sink
        return cls.of(
            sink,
            has_secrets=sink.secrets is not None,
            lag=status.lag,
            dead_letters=status.dead_letters,
            next_try_at=sink.next_try_at if sink.state == "waiting" else None,
            **more,
        )


class SinkPage(Record):
    sinks: list[SinkRecord]
    next_cursor: str | None


class SecretSinkRecord(SinkRecord):
    """A sink with a secret that was just made."""

    secret: Annotated[str | None, ShownOnce] = Field(
        description="Signs what a webhook gets (`whsec_…`). Shown once; null when you gave it."
    )


class RemovedSinkRecord(NounRecord):
    name: str
    kind: str
    cursor: int


class SinkTestRecord(Record):
    """The answer of a webhook to the test message `event_id`; `error` says why it refused it."""

    name: str
    event_id: str
    delivered: bool
    error: str | None
    detail: str | None

    @classmethod
    def of(cls, name: str, test: SinkTestResult) -> "SinkTestRecord":
        result = test.receipt
        return cls(
            name=name,
            event_id=test.event_id,
            delivered=result.trouble is None,
            error=result.trouble,
            detail=result.detail or None,
        )


class DeadLetterRecord(NounRecord):
    seq: int
    event_id: str
    type: str
    attempts: int
    error: str
    detail: str
    died_at: Moment
    retry_asked: bool


class DeadLetterPage(Record):
    """By their number in the log."""

    name: str
    dead_letters: list[DeadLetterRecord]
    next_cursor: str | None


class DeadLetterRetryRecord(Record):
    name: str
    asked: int


class ForgottenDeadLettersRecord(Record):
    name: str
    forgotten: int
