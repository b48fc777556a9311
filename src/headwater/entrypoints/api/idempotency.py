"""Idempotency-Key: the same request twice has one effect, also when a crash came between."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from headwater.core import idempotency_rows
from headwater.core.engine import Engine
from headwater.core.idempotency import (
    LONGEST_KEY,
    Answered,
    Attempt,
    DoneBefore,
    InProgress,
    Mismatch,
    attempt_of,
)
from headwater.entrypoints.api.errors import BadRequest, IdempotencyInProgress, IdempotencyMismatch

LEASE_MARGIN = timedelta(seconds=60)
"""What a request may take beside its fetch before it counts as dead."""


JSON = "application/json"

KEY_PARAMETER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "However often a request is sent with the same key, it has one effect.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY},
}
"""How every POST describes it."""

REPLAYED = {"idempotent-replayed": "true"}


class JsonWritable(Protocol):
    """A pydantic model, or what speaks like one."""

    def model_dump_json(self) -> str: ...


@dataclass(frozen=True, slots=True)
class RouteAnswer:
    """An answer before it is bytes. `kept` is what a repeated request gets, where that differs.

    One that `is_told_anew` is not kept at all, for it holds secrets or nothing worth keeping: then
    the effect must remember a resource, and a repeated request is told of that.
    """

    status: int
    record: JsonWritable
    location: str | None = None
    kept: JsonWritable | None = None
    is_told_anew: bool = False


Effect = Callable[[bytes | None], Awaitable[str]]
"""Does it, remembering the resource under the key it is given; the resource's name."""
MakeAnswer = Callable[[str], Awaitable[RouteAnswer]]
"""The answer about a resource, as often as wanted."""


async def answer_idempotently(
    request: Request,
    engine: Engine,
    effect: Effect,
    tell: MakeAnswer,
    tell_again: MakeAnswer | None = None,
    *,
    media_type: str = JSON,
) -> Response:
    """`tell_again` answers for an effect whose first answer was lost in a crash. `media_type` is
    what every record of this route is written in."""
    key = _key_of(request)
    if key is None:
        return _response(await tell(await effect(None)), media_type, {})
    attempt = attempt_of(
        key,
        request.scope["credential"].name,
        request.method,
        "?".join(filter(None, (request.url.path, request.url.query))),
        await request.body(),
    )
    before = await _earlier_attempt(engine, attempt)
    if isinstance(before, Answered):
        return _replayed(before, media_type)
    if isinstance(before, DoneBefore):
        told, replayed = await (tell_again or tell)(before.resource), REPLAYED
    else:
        told, replayed = await _run_effect(engine, attempt, effect, tell), {}
    if not told.is_told_anew:
        await _remember(engine, attempt, told)
    return _response(told, media_type, replayed)


async def answer_without_effect(
    request: Request, engine: Engine, look: Callable[[], Awaitable[JsonWritable]]
) -> Response:
    """For what changes nothing: asked again with its key it is answered anew, as things are now."""
    found: list[JsonWritable] = []

    async def effect(key: bytes | None) -> str:
        found.append(await look())
        if key is not None:
            async with engine.database.write() as tx:
                await idempotency_rows.set_key_resource(tx, key, request.url.path)
        return request.url.path

    async def tell(_: str) -> RouteAnswer:
        return RouteAnswer(200, found[0] if found else await look(), is_told_anew=True)

    return await answer_idempotently(request, engine, effect, tell)


async def _earlier_attempt(engine: Engine, attempt: Attempt) -> Answered | DoneBefore | None:
    lease = timedelta(seconds=engine.fetch.deadline) + LEASE_MARGIN
    async with engine.database.write() as tx:
        standing = await idempotency_rows.claim_key(tx, attempt, engine.clock.now(), lease)
    if isinstance(standing, Mismatch):
        raise IdempotencyMismatch("This Idempotency-Key was used for another request.")
    if isinstance(standing, InProgress):
        raise IdempotencyInProgress(
            "The same request is being answered right now.",
            retry_after_sec=min(standing.seconds_left, 5.0),
        )
    return standing if isinstance(standing, Answered | DoneBefore) else None


async def _run_effect(
    engine: Engine, attempt: Attempt, effect: Effect, tell: MakeAnswer
) -> RouteAnswer:
    try:
        resource = await effect(attempt.key_hash)
    except Exception:
        # No effect, or one that is remembered: only an unused key is free again.
        async with engine.database.write() as tx:
            await idempotency_rows.release_key(tx, attempt.key_hash)
        raise
    return await tell(resource)


async def _remember(engine: Engine, attempt: Attempt, told: RouteAnswer) -> None:
    kept = (told.kept or told.record).model_dump_json()
    async with engine.database.write() as tx:
        await idempotency_rows.set_key_answer(
            tx, attempt.key_hash, told.status, kept, told.location
        )


def _replayed(before: Answered, media_type: str) -> Response:
    headers = dict(REPLAYED)
    if before.location is not None:
        headers["location"] = before.location
    return Response(before.body, before.status, headers, media_type=media_type)


def _response(told: RouteAnswer, media_type: str, replayed: Mapping[str, str]) -> Response:
    headers = dict(replayed)
    if told.location is not None:
        headers["location"] = told.location
    body = told.record.model_dump_json()
    return Response(body, told.status, headers, media_type=media_type)


def _key_of(request: Request) -> str | None:
    given = request.headers.getlist("idempotency-key")
    if not given:
        return None
    if len(given) > 1 or not 0 < len(given[0]) <= LONGEST_KEY or not given[0].isprintable():
        raise BadRequest(f"The Idempotency-Key must be one text of 1 to {LONGEST_KEY} characters.")
    return given[0]
