"""Idempotency-Key: the same request twice has one effect, also when a crash came between."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from headwater.access import store
from headwater.access.idempotency import (
    LONGEST_KEY,
    Answered,
    Attempt,
    Done,
    InProgress,
    Mismatch,
    attempt_of,
)
from headwater.engine import Engine
from headwater.entrypoints.api.refusals import (
    BadRequest,
    IdempotencyInProgress,
    IdempotencyMismatch,
)

SPARE = timedelta(seconds=60)
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


class Said(Protocol):
    """A pydantic model, or what speaks like one."""

    def model_dump_json(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Told:
    """An answer before it is bytes. `kept` is what a repeated request gets, where that differs.

    One that `is_told_anew` is not kept at all, for it holds secrets or nothing worth keeping: then
    the effect must remember a resource, and a repeated request is told of that.
    """

    status: int
    record: Said
    location: str | None = None
    kept: Said | None = None
    is_told_anew: bool = False


Effect = Callable[[bytes | None], Awaitable[str]]
"""Does it, remembering the resource under the key it is given; the resource's name."""
Tell = Callable[[str], Awaitable[Told]]
"""The answer about a resource, as often as wanted."""


async def once(
    request: Request,
    engine: Engine,
    effect: Effect,
    tell: Tell,
    tell_again: Tell | None = None,
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
    before = await _standing(engine, attempt)
    if isinstance(before, Answered):
        return _replayed(before, media_type)
    if isinstance(before, Done):
        told, replayed = await (tell_again or tell)(before.resource), REPLAYED
    else:
        told, replayed = await _done(engine, attempt, effect, tell), {}
    if not told.is_told_anew:
        await _remember(engine, attempt, told)
    return _response(told, media_type, replayed)


async def anew(request: Request, engine: Engine, look: Callable[[], Awaitable[Said]]) -> Response:
    """For what changes nothing: asked again with its key it is answered anew, as things are now."""
    found: list[Said] = []

    async def effect(key: bytes | None) -> str:
        found.append(await look())
        if key is not None:
            async with engine.database.write() as tx:
                await store.remember_resource(tx, key, request.url.path)
        return request.url.path

    async def tell(_: str) -> Told:
        return Told(200, found[0] if found else await look(), is_told_anew=True)

    return await once(request, engine, effect, tell)


async def _standing(engine: Engine, attempt: Attempt) -> Answered | Done | None:
    lease = timedelta(seconds=engine.fetch.deadline) + SPARE
    async with engine.database.write() as tx:
        standing = await store.begin(tx, attempt, engine.clock.now(), lease)
    if isinstance(standing, Mismatch):
        raise IdempotencyMismatch("This Idempotency-Key was used for another request.")
    if isinstance(standing, InProgress):
        raise IdempotencyInProgress(
            "The same request is being answered right now.",
            retry_after_sec=min(standing.seconds_left, 5.0),
        )
    return standing if isinstance(standing, Answered | Done) else None


async def _done(engine: Engine, attempt: Attempt, effect: Effect, tell: Tell) -> Told:
    try:
        resource = await effect(attempt.key_hash)
    except Exception:
        # No effect, or one that is remembered: only an unused key is free again.
        async with engine.database.write() as tx:
            await store.let_go(tx, attempt.key_hash)
        raise
    return await tell(resource)


async def _remember(engine: Engine, attempt: Attempt, told: Told) -> None:
    kept = (told.kept or told.record).model_dump_json()
    async with engine.database.write() as tx:
        await store.remember_answer(tx, attempt.key_hash, told.status, kept, told.location)


def _replayed(before: Answered, media_type: str) -> Response:
    headers = dict(REPLAYED)
    if before.location is not None:
        headers["location"] = before.location
    return Response(before.body, before.status, headers, media_type=media_type)


def _response(told: Told, media_type: str, replayed: Mapping[str, str]) -> Response:
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
