"""Joining over HTTP: a service registers itself as a fetcher and gets what it needs to work."""

import secrets

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from headwater import joining
from headwater.access.tokens import SECRET_BYTES, token_text
from headwater.entrypoints.api.asking import REFUSALS, At
from headwater.entrypoints.api.failing import saying
from headwater.entrypoints.api.once import Told, once
from headwater.entrypoints.api.registry_models import RegisterIn
from headwater.entrypoints.api.registry_records import JoinedRecord
from headwater.subscribe.fetcher import Registration
from headwater.subscribe.fetchers import store

router = APIRouter(tags=["fetchers"], responses=REFUSALS)


@router.post(
    "/services/register",
    response_model=JoinedRecord,
    status_code=201,
    responses={200: {"model": JoinedRecord}},
)
async def register_service(body: RegisterIn, request: Request, at: At) -> Response:
    """201 the first time, with the fetcher's own token and signing key, shown once; 200 when it
    says the same or something newer of itself, without them unless `rotate` asks for new ones."""
    keys = joining.Keys(
        token=token_text(secrets.token_bytes(SECRET_BYTES)),
        signing_key=secrets.token_bytes(SECRET_BYTES),
    )
    caller = request.scope["credential"]
    done: list[joining.Joined] = []

    async def effect(key: bytes | None) -> str:
        with saying("Failed to register"):
            said, terms = _registration(body), _terms(at)
            joined = await joining.join(
                said, at.engine, caller, keys, terms, rotate=body.rotate, idempotency=key
            )
        done.append(joined)
        return str(joined.fetcher.id)

    async def tell(_: str) -> Told:
        return _told(done[0], keys)

    async def tell_again(fetcher_id: str) -> Told:
        async with at.engine.database.read() as view:
            fetcher = await store.fetcher(view, int(fetcher_id))
        return _told(joining.Joined(fetcher, is_new=False, has_keys=False), keys)

    return await once(request, at.engine, effect, tell, tell_again)


def _told(joined: joining.Joined, keys: joining.Keys) -> Told:
    """The secrets are in the first answer only; what is kept for a repeated one has none."""
    silent = JoinedRecord.silent(joined.fetcher)
    shown = keys.shown if joined.has_keys else {}
    return Told(
        201 if joined.is_new else 200,
        silent.model_copy(update=shown),
        location=f"/fetcher-modules/{joined.fetcher.id}",
        kept=silent,
    )


def _terms(at: At) -> joining.Terms:
    settings = at.settings
    return joining.Terms(settings.max_fetchers, settings.fetchers_start_disabled)


def _registration(body: RegisterIn) -> Registration:
    return Registration(
        name=body.service_name,
        version=body.version,
        description=body.description,
        base_url=body.where,
        priority=body.priority,
        config_schema=body.config_schema,
        wants_news=body.wants_news,
    )
