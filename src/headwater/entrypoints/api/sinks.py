"""Sinks over HTTP: who gets events, how far each has come, and delivering events again."""

from operator import attrgetter
from typing import Annotated

from fastapi import Query

from headwater.core.errors import BadInput
from headwater.entrypoints.api.dependencies import App, View
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.models import NothingIn
from headwater.entrypoints.api.paging import Page, paging
from headwater.entrypoints.api.router import Router
from headwater.entrypoints.api.sink_records import (
    LARGEST_SEQ,
    MOST_DEAD_LETTERS,
    DeadLetterPage,
    DeadLetterRecord,
    DeadLetterRetryRecord,
    ForgottenDeadLettersRecord,
    NewSinkIn,
    RemovedSinkRecord,
    ReplayIn,
    RetryIn,
    RotateIn,
    SecretSinkRecord,
    SinkChanges,
    SinkPage,
    SinkRecord,
    SinkTestRecord,
)
from headwater.sinks import sink_commands, sink_rows

router = Router(tags=["sinks"])
SeqFilter = Annotated[int, Query(ge=1, le=LARGEST_SEQ)]


@router.get("/sinks", right="read")
async def list_sinks(view: View, page: Annotated[Page, paging("sinks")]) -> SinkPage:
    """In the order they were made."""
    statuses = await sink_rows.list_sink_statuses(view)
    after = [status for status in statuses if status.sink.id > page.after]
    shown, next_cursor = page.cut(
        sorted(after, key=lambda status: status.sink.id), key=lambda status: status.sink.id
    )
    sinks = [SinkRecord.of_status(status) for status in shown]
    return SinkPage(sinks=sinks, next_cursor=next_cursor)


@router.get("/sinks/{name}", right="read")
async def show_sink(name: str, app: App) -> SinkRecord:
    """One sink."""
    return SinkRecord.of_status(await sink_commands.get_sink_status(app.database, name))


async def show_sink_without_secret(name: str, app: App) -> SecretSinkRecord:
    """The secret was in the answer that was lost."""
    status = await sink_commands.get_sink_status(app.database, name)
    return SecretSinkRecord.of_status(status, secret=None)


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
        app.sinks, body.definition(), most=app.settings.sinks_max, idempotency=key
    )
    status = await sink_commands.get_sink_status(app.database, created.sink.name)
    return SecretSinkRecord.of_status(status, secret=created.secret)


@router.patch("/sinks/{name}", right="admin")
async def change_sink(name: str, body: SinkChanges, app: App) -> SinkRecord:
    """Only what is named changes; it goes on from where it was. Enabling one that was stopped
    starts it again."""
    await sink_commands.change_sink(app.sinks, name, body.patch())
    return SinkRecord.of_status(await sink_commands.get_sink_status(app.database, name))


@router.delete("/sinks/{name}", right="admin")
async def remove_sink(name: str, app: App) -> RemovedSinkRecord:
    """With its cursor and its dead letters. Events that it took stay with their receiver."""
    return RemovedSinkRecord.of(await sink_commands.remove_sink(app.sinks, name))


@router.post("/sinks/{name}/replay", right="admin", again=show_sink)
async def replay_to_sink(name: str, body: ReplayIn, app: App, key: IdempotencyKey) -> SinkRecord:
    """Everything from there on is delivered once more, with the same ids. Nothing that was not
    delivered yet is left out."""
    sink = await sink_commands.replay_sink(app.database, name, body.start, idempotency=key)
    return SinkRecord.of_status(await sink_commands.get_sink_status(app.database, sink.name))


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
    own_secret = None if body is None else body.secret
    if finish and own_secret is not None:
        raise BadInput("Finishing makes no new secret.", field="secret")
    secret: str | None = None
    if finish:
        await sink_commands.finish_rotation(app.sinks, name, idempotency=key)
    else:
        rotated = await sink_commands.rotate_secret(app.sinks, name, own_secret, idempotency=key)
        secret = rotated.secret
    status = await sink_commands.get_sink_status(app.database, name)
    return SecretSinkRecord.of_status(status, secret=secret)


@router.get("/sinks/{name}/dead-letters", right="read")
async def list_dead_letters(
    name: str, app: App, page: Annotated[Page, paging("dead letters")]
) -> DeadLetterPage:
    """Events it would not take, and why."""
    sink = (await sink_commands.get_sink_status(app.database, name)).sink
    async with app.database.read() as view:
        letters = await sink_rows.list_dead_letters(
            view, sink.id, after=page.after, limit=page.size + 1
        )
    shown, next_cursor = page.cut(letters, key=attrgetter("seq"))
    return DeadLetterPage(
        name=sink.name,
        dead_letters=[DeadLetterRecord.of(letter) for letter in shown],
        next_cursor=next_cursor,
    )


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


@router.delete("/sinks/{name}/dead-letters", right="admin")
async def forget_dead_letters(
    name: str,
    app: App,
    seq: Annotated[
        list[SeqFilter] | None, Query(description="Only these; may be repeated.")
    ] = None,
    all: Annotated[bool, Query(description="All of them.")] = False,
) -> ForgottenDeadLettersRecord:
    """They are not tried again. The events themselves stay in the log."""
    if (not seq) != all or len(seq or ()) > MOST_DEAD_LETTERS:
        raise BadInput(
            f"Name each seq (at most {MOST_DEAD_LETTERS}), or say all=true.", field="seq"
        )
    forgotten = await sink_commands.delete_dead_letters(app.database, name, None if all else seq)
    return ForgottenDeadLettersRecord(name=name, forgotten=forgotten)
