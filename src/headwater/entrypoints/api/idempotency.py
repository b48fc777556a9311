"""Idempotency-Key: the same request sent twice has one effect, also with a crash in between.

A handler of a POST is wrapped here. It is an ordinary function; where its effect is a row of the
database, it writes down the key in the same transaction (`key: IdempotencyKey`).
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

import orjson
from fastapi import Depends
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from headwater.core import idempotency_rows
from headwater.core.idempotency import (
    LONGEST_KEY,
    Answered,
    Attempt,
    DoneBefore,
    InProgress,
    Mismatch,
    attempt_of,
)
from headwater.core.ports import Database
from headwater.entrypoints.api.errors import BadRequest, IdempotencyInProgress, IdempotencyMismatch
from headwater.entrypoints.api.route_view import Handle
from headwater.wiring.services import Services

LEASE_MARGIN = timedelta(seconds=60)
"""The time that a request may take beside its fetch before it counts as dead."""

KEY_PARAMETER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "However often a request is sent with the same key, it has one effect.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY},
}
"""The description of the header in OpenAPI, the same for every POST."""

JSON = "application/json"
REPLAYED = {"idempotent-replayed": "true"}


class ShownOnce:
    """Marks a field of a record that only the first answer shows, such as a token:
    `token: Annotated[str | None, ShownOnce]`. In the answer that is remembered it is null."""


def shown_once_fields(response_model: Any) -> frozenset[str]:
    if not (isinstance(response_model, type) and issubclass(response_model, BaseModel)):
        return frozenset()
    fields = response_model.model_fields.items()
    return frozenset(name for name, field in fields if ShownOnce in field.metadata)


def _key_hash_of(request: Request) -> bytes | None:
    key_hash: bytes | None = request.scope.get("idempotency_key")
    return key_hash


IdempotencyKey = Annotated[bytes | None, Depends(_key_hash_of)]
"""The hash of the request's key; None where the caller sent none. Give it to the command that has
the effect: it writes down the effect's resource under the key, in the effect's own transaction."""


def keep_no_answer(request: Request) -> None:
    """Answer the same request anew next time, as `keep=False` does for all requests of a route."""
    request.scope["keeps_answer"] = False


@dataclass(frozen=True, slots=True)
class IdempotentHandler:
    """Answers a request once, and the same request with the same key as it was answered then.

    The handlers hold no connection to the database when they end: one is needed to remember the
    answer. `again` answers for an effect whose first answer was lost in a crash, or is not kept.
    It finds the effect's resource among the parameters of the path, under the name `resource`.
    """

    handle: Handle
    again: Handle
    resource: str
    keep: bool = True
    shown_once: frozenset[str] = frozenset()
    media_type: str = JSON

    async def __call__(self, request: Request) -> Response:
        key = _key_of(request)
        if key is None:
            return await self.handle(request)
        services: Services = request.app.state.context.services
        database = services.database
        attempt = attempt_of(
            key,
            request.scope["credential"].name,
            request.method,
            "?".join(filter(None, (request.url.path, request.url.query))),
            await request.body(),
        )
        earlier = await _earlier_attempt(services, attempt)
        if isinstance(earlier, Answered):
            return self._replay(earlier)
        request.scope["keeps_answer"] = self.keep
        if isinstance(earlier, DoneBefore):
            request.scope["path_params"] = {**request.path_params, self.resource: earlier.resource}
            response = await self.again(request)
            response.headers.update(REPLAYED)
        else:
            response = await self._answer_first(request, database, attempt)
        if request.scope["keeps_answer"]:
            await self._remember(database, attempt, response)
        elif earlier is None:
            async with database.write() as tx:
                await idempotency_rows.mark_key_used(tx, attempt.key_hash, request.url.path)
        return response

    async def _answer_first(
        self, request: Request, database: Database, attempt: Attempt
    ) -> Response:
        request.scope["idempotency_key"] = attempt.key_hash
        try:
            return await self.handle(request)
        except Exception:
            # There was no effect, or its resource is under the key. Only an unused key is released.
            async with database.write() as tx:
                await idempotency_rows.release_key(tx, attempt.key_hash)
            raise

    async def _remember(self, database: Database, attempt: Attempt, response: Response) -> None:
        body, location = self._body_to_keep(response), response.headers.get("location")
        async with database.write() as tx:
            await idempotency_rows.set_key_answer(
                tx, attempt.key_hash, response.status_code, body, location
            )

    def _body_to_keep(self, response: Response) -> str:
        body = bytes(response.body)
        if self.shown_once:
            body = orjson.dumps(orjson.loads(body) | dict.fromkeys(self.shown_once))
        return body.decode()

    def _replay(self, earlier: Answered) -> Response:
        location = {} if earlier.location is None else {"location": earlier.location}
        return Response(
            earlier.body, earlier.status, {**REPLAYED, **location}, media_type=self.media_type
        )


async def _earlier_attempt(services: Services, attempt: Attempt) -> Answered | DoneBefore | None:
    lease = timedelta(seconds=services.feeds.fetcher.policy.deadline) + LEASE_MARGIN
    async with services.database.write() as tx:
        state = await idempotency_rows.claim_key(tx, attempt, tx.now, lease)
    if isinstance(state, Mismatch):
        raise IdempotencyMismatch("This Idempotency-Key was used for another request.")
    if isinstance(state, InProgress):
        raise IdempotencyInProgress(
            "The same request is being answered right now.",
            retry_after_sec=min(state.seconds_left, 5.0),
        )
    return state if isinstance(state, Answered | DoneBefore) else None


def _key_of(request: Request) -> str | None:
    keys = request.headers.getlist("idempotency-key")
    if not keys:
        return None
    if len(keys) > 1 or not 0 < len(keys[0]) <= LONGEST_KEY or not keys[0].isprintable():
        raise BadRequest(f"The Idempotency-Key must be one text of 1 to {LONGEST_KEY} characters.")
    return keys[0]
