"""Sinks over HTTP: who is told of events, how far they are, and telling them again."""

from typing import Annotated, Any, Literal, Self

from fastapi import Query
from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, model_validator
from starlette.responses import Response

from headwater.core.errors import BadInput
from headwater.core.values.keep import KEEP
from headwater.core.values.url import redacted
from headwater.entrypoints.api.dependencies import (
    App,
    Cursor,
    Limit,
    RouteContext,
    json_response,
)
from headwater.entrypoints.api.errors import BadMoment
from headwater.entrypoints.api.idempotency import IdempotencyKey, ShownOnce
from headwater.entrypoints.api.models import NothingIn, Strict, parse_moment
from headwater.entrypoints.api.paging import cursor, decode_cursor
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router
from headwater.events.event_filter import EventFilter, parse_event_filter
from headwater.sinks import sink_commands, sink_rows
from headwater.sinks.sink import (
    BEGINNING,
    END,
    NAME,
    DeadLetter,
    SinkDefinition,
    SinkDefinitionPatch,
    SinkStatus,
    StartPosition,
)
from headwater.sinks.sink_commands import SinkTestResult

MOST_DEAD_LETTERS = 500
"""Dead letters that one request may name."""
LARGEST_SEQ = 2**63 - 1


def _parse_start(given: object) -> object:
    """A number is the first event to be told; a time, the moment from which on."""
    if given == "beginning":
        return BEGINNING
    if type(given) is int and 0 <= given <= LARGEST_SEQ:
        return StartPosition(seq=given)
    try:
        if not isinstance(given, str):
            raise BadMoment("not a text")
        return StartPosition(moment=parse_moment(given, "from"))
    except BadMoment as trouble:
        raise ValueError(
            "must be a number, an RFC 3339 time with a zone, or beginning"
        ) from trouble


def _each_once(seqs: list[int]) -> list[int]:
    if len(set(seqs)) != len(seqs):
        raise ValueError("must not name one event twice")
    return seqs


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

    def wanted(self) -> EventFilter:
        return parse_event_filter(self.types, self.feeds, self.categories)

    def said(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(getattr(self, name)) for name in sorted(self.model_fields_set)}


class NewSinkIn(Strict):
    """A sink. Without `from` it is told of what happens from now on."""

    name: SinkName
    kind: Kind
    options: Options = Field(default={})
    secrets: Annotated[dict[OptionName, Secret], Field(max_length=16)] = Field({}, repr=False)
    wanted: EventFilterIn = EventFilterIn()
    enabled: StrictBool = True
    max_attempts: Attempts | None = None
    start: From = END

    def wish(self) -> SinkDefinition:
        return SinkDefinition(
            name=self.name,
            kind=self.kind,
            options=self.options,
            secrets=self.secrets,
            wanted=self.wanted.wanted(),
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

    def changes(self) -> SinkDefinitionPatch:
        said: dict[str, Any] = {
            name: getattr(self, name) for name in self.model_fields_set - {"wanted"}
        }
        return SinkDefinitionPatch(**said, wanted=self.wanted.said())


class ReplayIn(Strict):
    start: From


class RetryIn(Strict):
    """Those that are named, or all of them."""

    seqs: (
        Annotated[
            list[Seq], Field(min_length=1, max_length=MOST_DEAD_LETTERS), AfterValidator(_each_once)
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


class EventFilterRecord(Record):
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
    def of(cls, standing: SinkStatus) -> "SinkRecord":
        return cls(**cls.fields_of(standing))

    @staticmethod
    def fields_of(standing: SinkStatus) -> dict[str, Any]:
        sink = standing.sink
        wanted = sink.wanted
        same = (
            "name kind origin enabled state stopped max_attempts cursor delivered replays failures"
            " attempts failing_since last_delivered_at last_error last_detail created_at updated_at"
        )
        return {name: getattr(sink, name) for name in same.split()} | {
            "options": {name: _without_secret(value) for name, value in sink.options.items()},
            "has_secrets": sink.secrets is not None,
            "wanted": EventFilterRecord(
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

    secret: Annotated[str | None, ShownOnce] = Field(
        description="Signs what a webhook gets (`whsec_…`). Shown once; null when you gave it."
    )

    @classmethod
    def of(cls, standing: SinkStatus) -> "SecretSinkRecord":
        return cls.with_secret(standing, None)

    @classmethod
    def with_secret(cls, standing: SinkStatus, secret: str | None) -> "SecretSinkRecord":
        return cls(**cls.fields_of(standing), secret=secret)


class RemovedSinkRecord(Record):
    name: str
    kind: str
    cursor: int


class SinkTestRecord(Record):
    """What a webhook said to the test message `event_id`; `error` says why it did not take it."""

    name: str
    event_id: str
    delivered: bool
    error: str | None
    detail: str | None

    @classmethod
    def of(cls, name: str, tried: SinkTestResult) -> "SinkTestRecord":
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


class DeadLetterRetryRecord(Record):
    name: str
    asked: int


class ForgottenDeadLettersRecord(Record):
    name: str
    forgotten: int


def _without_secret(value: Any) -> Any:
    return redacted(value) if isinstance(value, str) else value


router = Router(tags=["sinks"])
SeqFilter = Annotated[int, Query(ge=1, le=LARGEST_SEQ)]


@router.get("/sinks", right="read", response_model=SinkPage)
async def list_sinks(
    at: RouteContext, limit: Limit = None, cursor_: Annotated[Cursor, Query(alias="cursor")] = None
) -> Response:
    """In the order they were made."""
    size = at.page_size(limit)
    (after,) = decode_cursor(cursor_, "sinks", 1) if cursor_ else (0,)
    async with at.database.read() as view:
        every = await sink_rows.list_sink_statuses(view)
    found = sorted((e for e in every if e.sink.id > after), key=lambda each: each.sink.id)
    more = cursor("sinks", found[size - 1].sink.id) if len(found) > size else None
    return json_response(
        SinkPage(sinks=[SinkRecord.of(each) for each in found[:size]], next_cursor=more)
    )


@router.get("/sinks/{name}", right="read")
async def show_sink(name: str, app: App) -> SinkRecord:
    """One sink."""
    return SinkRecord.of(await sink_commands.get_sink_status(app.database, name))


async def show_sink_without_secret(name: str, app: App) -> SecretSinkRecord:
    """The secret was in the answer that was lost."""
    return SecretSinkRecord.of(await sink_commands.get_sink_status(app.database, name))


@router.post(
    "/sinks",
    right="admin",
    status_code=201,
    location="/sinks/{name}",
    again=show_sink_without_secret,
)
async def make_sink(body: NewSinkIn, app: App, key: IdempotencyKey) -> SecretSinkRecord:
    """A webhook's secret is made unless you give one; it is in this answer and nowhere else."""
    created = await sink_commands.create_sink(
        app.sinks, body.wish(), most=app.settings.sinks_max, idempotency=key
    )
    status = await sink_commands.get_sink_status(app.database, created.sink.name)
    return SecretSinkRecord.with_secret(status, created.secret)


@router.patch("/sinks/{name}", right="admin", response_model=SinkRecord)
async def change_sink(name: str, body: SinkChanges, at: RouteContext) -> Response:
    """Only what is named changes; it goes on from where it was. Enabling one that was stopped
    starts it again."""
    await sink_commands.change_sink(at.sinks, name, body.changes())
    return json_response(SinkRecord.of(await sink_commands.get_sink_status(at.database, name)))


@router.delete("/sinks/{name}", right="admin", response_model=RemovedSinkRecord)
async def remove_sink(name: str, at: RouteContext) -> Response:
    """With its cursor and its dead letters. What it was told stays where it is."""
    gone = await sink_commands.remove_sink(at.sinks, name)
    return json_response(RemovedSinkRecord(name=gone.name, kind=gone.kind, cursor=gone.cursor))


@router.post("/sinks/{name}/replay", right="admin", again=show_sink)
async def replay_to_sink(name: str, body: ReplayIn, app: App, key: IdempotencyKey) -> SinkRecord:
    """Everything from there on is delivered once more, with the same ids. Nothing that was not
    delivered yet is left out."""
    sink = await sink_commands.replay_sink(app.database, name, body.start, idempotency=key)
    return SinkRecord.of(await sink_commands.get_sink_status(app.database, sink.name))


@router.post("/sinks/{name}/test", right="admin")
async def test_sink(name: str, app: App, body: NothingIn | None = None) -> SinkTestRecord:
    """One signed message of the type `test` to a webhook, now. It is in no log."""
    # A second message after a crash does no harm, so the effect is not tied to the request's key.
    return SinkTestRecord.of(name, await sink_commands.send_test_event(app.sinks, name))


@router.post("/sinks/{name}/rotate-secret", right="admin", again=show_sink_without_secret)
async def rotate_secret(
    name: str,
    app: App,
    key: IdempotencyKey,
    body: RotateIn | None = None,
    finish: Annotated[bool, Query(description="The former secret signs no more.")] = False,
) -> SecretSinkRecord:
    """A new secret for a webhook, shown once; the former one signs too until `finish`."""
    own = None if body is None else body.secret
    if finish and own is not None:
        raise BadInput("Finishing makes no new secret.", field="secret")
    secret: str | None = None
    if finish:
        await sink_commands.finish_rotation(app.sinks, name, idempotency=key)
    else:
        rotated = await sink_commands.rotate_secret(app.sinks, name, own, idempotency=key)
        secret = rotated.secret
    status = await sink_commands.get_sink_status(app.database, name)
    return SecretSinkRecord.with_secret(status, secret)


@router.get("/sinks/{name}/dead-letters", right="read", response_model=DeadLetterPage)
async def list_dead_letters(
    name: str,
    at: RouteContext,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Events it would not take, and why."""
    size = at.page_size(limit)
    (after,) = decode_cursor(cursor_, "dead letters", 1) if cursor_ else (0,)
    sink = (await sink_commands.get_sink_status(at.database, name)).sink
    async with at.database.read() as view:
        found = await sink_rows.list_dead_letters(view, sink.id, after=after, limit=size + 1)
    more = cursor("dead letters", found[size - 1].seq) if len(found) > size else None
    letters = [DeadLetterRecord.of(each) for each in found[:size]]
    return json_response(DeadLetterPage(name=sink.name, dead_letters=letters, next_cursor=more))


async def show_retry(asked: str, name: str) -> DeadLetterRetryRecord:
    """The answer to a retry that was asked for already."""
    return DeadLetterRetryRecord(name=name, asked=int(asked))


@router.post("/sinks/{name}/dead-letters/retry", right="admin", again=show_retry)
async def retry_dead_letters(
    name: str, body: RetryIn, app: App, key: IdempotencyKey
) -> DeadLetterRetryRecord:
    """They are tried before anything else, as soon as the sink is delivered to."""
    asked = await sink_commands.retry_dead_letters(app.database, name, body.seqs, idempotency=key)
    return DeadLetterRetryRecord(name=name, asked=asked)


@router.delete(
    "/sinks/{name}/dead-letters", right="admin", response_model=ForgottenDeadLettersRecord
)
async def forget_dead_letters(
    name: str,
    at: RouteContext,
    seq: Annotated[
        list[SeqFilter] | None, Query(description="Only these; may be repeated.")
    ] = None,
    all: Annotated[bool, Query(description="All of them.")] = False,
) -> Response:
    """They are not tried again. The events themselves stay in the log."""
    if (not seq) != all or len(seq or ()) > MOST_DEAD_LETTERS:
        raise BadInput(
            f"Name each seq (at most {MOST_DEAD_LETTERS}), or say all=true.", field="seq"
        )
    forgotten = await sink_commands.delete_dead_letters(at.database, name, None if all else seq)
    return json_response(ForgottenDeadLettersRecord(name=name, forgotten=forgotten))
