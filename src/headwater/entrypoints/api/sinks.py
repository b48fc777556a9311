"""Sinks over HTTP: who is told of events, how far they are, and telling them again."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from headwater import sinks
from headwater.announce.sinks import queries
from headwater.entrypoints.api.asking import REFUSALS, At, Cursor, Limit, told
from headwater.entrypoints.api.cursors import cursor, numbers_of
from headwater.entrypoints.api.models import NothingIn
from headwater.entrypoints.api.once import Told, once
from headwater.entrypoints.api.sink_models import (
    LARGEST_SEQ,
    MOST_LETTERS,
    NewSinkIn,
    ReplayIn,
    RetryIn,
    RotateIn,
    SinkChanges,
)
from headwater.entrypoints.api.sink_records import (
    AskedRecord,
    DeadLetterPage,
    DeadLetterRecord,
    ForgottenRecord,
    RemovedRecord,
    SecretSinkRecord,
    SinkPage,
    SinkRecord,
    TriedRecord,
)
from headwater.errors import BadInput

router = APIRouter(tags=["sinks"], responses=REFUSALS)

Seq = Annotated[int, Query(ge=1, le=LARGEST_SEQ)]


@router.get("/sinks", response_model=SinkPage)
async def list_sinks(
    at: At, limit: Limit = None, cursor_: Annotated[Cursor, Query(alias="cursor")] = None
) -> Response:
    """In the order they were made."""
    size = at.page_size(limit)
    (after,) = numbers_of(cursor_, "sinks", 1) if cursor_ else (0,)
    async with at.engine.database.read() as view:
        every = await queries.standings(view)
    found = sorted((e for e in every if e.sink.id > after), key=lambda each: each.sink.id)
    more = cursor("sinks", found[size - 1].sink.id) if len(found) > size else None
    return told(SinkPage(sinks=[SinkRecord.of(each) for each in found[:size]], next_cursor=more))


@router.post("/sinks", response_model=SecretSinkRecord, status_code=201)
async def make_sink(body: NewSinkIn, request: Request, at: At) -> Response:
    """A webhook's secret is made unless you give one; it is in this answer and nowhere else."""
    shown: list[str | None] = []

    async def effect(key: bytes | None) -> str:
        made = await sinks.create(
            at.engine, body.wish(), most=at.settings.sinks_max, idempotency=key
        )
        shown.append(made.secret)
        return made.sink.name

    async def tell(name: str) -> Told:
        return await _with_secret(at, name, shown[0] if shown else None, status=201)

    return await once(request, at.engine, effect, tell)


@router.get("/sinks/{name}", response_model=SinkRecord)
async def show_sink(name: str, at: At) -> Response:
    """One sink."""
    return told(SinkRecord.of(await sinks.standing(at.engine, name)))


@router.patch("/sinks/{name}", response_model=SinkRecord)
async def change_sink(name: str, body: SinkChanges, at: At) -> Response:
    """Only what is named changes; it goes on from where it was. Enabling one that was stopped
    starts it again."""
    await sinks.change(at.engine, name, body.changes())
    return told(SinkRecord.of(await sinks.standing(at.engine, name)))


@router.delete("/sinks/{name}", response_model=RemovedRecord)
async def remove_sink(name: str, at: At) -> Response:
    """With its cursor and its dead letters. What it was told stays where it is."""
    gone = await sinks.remove(at.engine, name)
    return told(RemovedRecord(name=gone.name, kind=gone.kind, cursor=gone.cursor))


@router.post("/sinks/{name}/replay", response_model=SinkRecord)
async def replay_to_sink(name: str, body: ReplayIn, request: Request, at: At) -> Response:
    """Everything from there on is delivered once more, with the same ids. Nothing that was not
    delivered yet is left out."""

    async def effect(key: bytes | None) -> str:
        return (await sinks.replay(at.engine, name, body.start, idempotency=key)).name

    async def tell(known: str) -> Told:
        return Told(200, SinkRecord.of(await sinks.standing(at.engine, known)))

    return await once(request, at.engine, effect, tell)


@router.post("/sinks/{name}/test", response_model=TriedRecord)
async def test_sink(name: str, request: Request, at: At, body: NothingIn | None = None) -> Response:
    """One signed message of the type `test` to a webhook, now. It is in no log."""
    results: list[TriedRecord] = []

    async def effect(_: bytes | None) -> str:
        # A second message after a crash does no harm, so the key is not tied to the first.
        results.append(TriedRecord.of(name, await sinks.try_out(at.engine, name)))
        return name

    async def tell(_: str) -> Told:
        return Told(200, results[0])

    return await once(request, at.engine, effect, tell)


@router.post("/sinks/{name}/rotate-secret", response_model=SecretSinkRecord)
async def rotate_secret(
    name: str,
    request: Request,
    at: At,
    body: RotateIn | None = None,
    finish: Annotated[bool, Query(description="The former secret signs no more.")] = False,
) -> Response:
    """A new secret for a webhook, shown once; the former one signs too until `finish`."""
    shown: list[str | None] = []
    own = None if body is None else body.secret
    if finish and own is not None:
        raise BadInput("Finishing makes no new secret.", field="secret")

    async def effect(key: bytes | None) -> str:
        if finish:
            await sinks.finish_rotation(at.engine, name, idempotency=key)
        else:
            made = await sinks.rotate_secret(at.engine, name, own, idempotency=key)
            shown.append(made.secret)
        return name

    async def tell(known: str) -> Told:
        return await _with_secret(at, known, shown[0] if shown else None)

    return await once(request, at.engine, effect, tell)


@router.get("/sinks/{name}/dead-letters", response_model=DeadLetterPage)
async def list_dead_letters(
    name: str,
    at: At,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Events it would not take, and why."""
    size = at.page_size(limit)
    (after,) = numbers_of(cursor_, "dead letters", 1) if cursor_ else (0,)
    sink = (await sinks.standing(at.engine, name)).sink
    async with at.engine.database.read() as view:
        found = await queries.dead_letters(view, sink.id, after=after, limit=size + 1)
    more = cursor("dead letters", found[size - 1].seq) if len(found) > size else None
    letters = [DeadLetterRecord.of(each) for each in found[:size]]
    return told(DeadLetterPage(name=sink.name, dead_letters=letters, next_cursor=more))


@router.post("/sinks/{name}/dead-letters/retry", response_model=AskedRecord)
async def retry_dead_letters(name: str, body: RetryIn, request: Request, at: At) -> Response:
    """They are tried before anything else, as soon as the sink is delivered to."""

    async def effect(key: bytes | None) -> str:
        return str(await sinks.retry_dead(at.engine, name, body.seqs, idempotency=key))

    async def tell(asked: str) -> Told:
        return Told(200, AskedRecord(name=name, asked=int(asked)))

    return await once(request, at.engine, effect, tell)


@router.delete("/sinks/{name}/dead-letters", response_model=ForgottenRecord)
async def forget_dead_letters(
    name: str,
    at: At,
    seq: Annotated[list[Seq] | None, Query(description="Only these; may be repeated.")] = None,
    all: Annotated[bool, Query(description="All of them.")] = False,
) -> Response:
    """They are not tried again. The events themselves stay in the log."""
    if (not seq) != all or len(seq or ()) > MOST_LETTERS:
        raise BadInput(f"Name each seq (at most {MOST_LETTERS}), or say all=true.", field="seq")
    forgotten = await sinks.forget_dead(at.engine, name, None if all else seq)
    return told(ForgottenRecord(name=name, forgotten=forgotten))


async def _with_secret(at: At, name: str, secret: str | None, status: int = 200) -> Told:
    """The secret is in the first answer only; what is kept for a repeated one has none."""
    silent = SecretSinkRecord.silent(await sinks.standing(at.engine, name))
    shown = silent.model_copy(update={"secret": secret})
    where = f"/sinks/{name}" if status == 201 else None
    return Told(status, shown, location=where, kept=silent)
