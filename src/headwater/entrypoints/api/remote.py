"""Registered fetchers at work over HTTP: claims, results, and a stream of news."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from headwater import remote_work
from headwater.access.tokens import Credential
from headwater.announce.wanted import Wanted
from headwater.entrypoints.api.asking import REFUSALS, At, Desk
from headwater.entrypoints.api.moments import micros_of
from headwater.entrypoints.api.numbers import number
from headwater.entrypoints.api.once import Told, once
from headwater.entrypoints.api.refusals import RateLimited
from headwater.entrypoints.api.remote_models import ClaimIn, ClaimsIn, RenewIn, ReportIn
from headwater.entrypoints.api.remote_records import ClaimedPage, RenewedRecord, ResultRecord
from headwater.entrypoints.api.stream import After, LastEventId
from headwater.entrypoints.api.streaming import EventStream, Reading
from headwater.errors import Forbidden
from headwater.news import NEWS
from headwater.remote_work import (
    Claim,
    Claimed,
    claim_of_name,
    name_of_claim,
    name_of_claimed,
    name_of_renewed,
    renewed_of_name,
)
from headwater.schedule.queries import Visit
from headwater.subscribe.fetcher import Fetcher
from headwater.subscribe.fetchers import store
from headwater.subscribe.subscriptions import queries
from headwater.values.instant import from_micros

router = APIRouter(tags=["work of fetchers"], responses=REFUSALS)

RESULTS = "/fetcher-results"
STREAMS_EACH = 4


@router.post("/fetcher-modules/{fetcher_id}/claims", response_model=ClaimedPage)
async def claim_work(
    fetcher_id: str, request: Request, at: At, body: ClaimsIn | None = None
) -> Response:
    """Due visits of this fetcher: its own until the lease ends or the result is reported."""
    asked = body or ClaimsIn()
    fetcher = await _fetcher(at, fetcher_id)
    done: list[Claimed] = []

    async def effect(key: bytes | None) -> str:
        claimed = await remote_work.claim(
            at.engine,
            fetcher,
            limit=min(asked.limit, at.settings.fetcher_claims_max),
            lease_seconds=_lease(at, asked.lease_seconds),
            idempotency=key,
        )
        done.append(claimed)
        return name_of_claimed(claimed)

    async def tell(name: str) -> Told:
        claimed = done[0] if done else await remote_work.claimed_before(at.engine, fetcher, name)
        # Secrets of private sources come with claims: such an answer is not written down.
        return Told(200, ClaimedPage.of(claimed), is_told_anew=True)

    return await once(request, at.engine, effect, tell)


@router.post("/fetcher-modules/{fetcher_id}/claims/renew", response_model=RenewedRecord)
async def renew_claims(fetcher_id: str, body: RenewIn, request: Request, at: At) -> Response:
    """More time for work under way. `lease_seconds` 0 gives it back instead, due at once."""
    fetcher = await _fetcher(at, fetcher_id)
    claims = [_claim_of(each) for each in body.claims]

    async def effect(key: bytes | None) -> str:
        lease = _lease(at, body.lease_seconds)
        renewed = await remote_work.renew(
            at.engine, fetcher, claims, lease_seconds=lease, idempotency=key
        )
        return name_of_renewed(renewed)

    async def tell(name: str) -> Told:
        return Told(200, RenewedRecord.of(renewed_of_name(name)))

    return await once(request, at.engine, effect, tell)


@router.post(RESULTS, response_model=ResultRecord)
async def report_result(body: ReportIn, request: Request, at: At) -> Response:
    """What a fetcher met. It is archived, parsed, merged, told and planned like a visit of ours.

    Said again for the same claim, it is answered the same and has no second effect.
    """
    said = body.reported(at.engine.reading.max_bytes)
    fetcher = await _reporter(at, body, request.scope["credential"])
    done: list[Visit] = []

    async def report(claim: Claim) -> None:
        done.append(
            await remote_work.report(
                at.engine, at.visits, fetcher, claim, said, elapsed=body.elapsed_ms / 1000
            )
        )

    async def effect(key: bytes | None) -> str:
        claim = _claimed(body) or await remote_work.take(
            at.engine,
            fetcher,
            body.subscription_id,
            lease_seconds=at.settings.lease_seconds,
            idempotency=key,
        )
        await report(claim)
        return name_of_claim(claim)

    async def tell(_: str) -> Told:
        return Told(200, ResultRecord.of(body.subscription_id, done[0]))

    async def tell_again(name: str) -> Told:
        """We died after the claim: the rest is done now, or was done already."""
        await report(claim_of_name(name))
        return await tell(name)

    return await once(request, at.engine, effect, tell, tell_again)


@router.get(
    "/fetcher-modules/{fetcher_id}/events",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream_news(
    fetcher_id: str,
    request: Request,
    at: At,
    after: After = None,
    last_event_id: LastEventId = None,
) -> Response:
    """Server-sent events about subscriptions and conflicts, each with its number as `id`.

    `Last-Event-ID` (or `after`) goes on after that number; without it, with what comes from now on.
    """
    fetcher = await _fetcher(at, fetcher_id)
    remote_work.refuse_unless_working(fetcher)
    begin = await at.live.beginning(after, last_event_id)
    if request.scope.get("bodiless"):
        return Response(media_type=EventStream.media_type)
    _refuse_more_streams(at, fetcher)

    def count(change: int) -> None:
        at.streams[fetcher.id] += change

    token_id = request.scope["credential"].token_id
    return EventStream(at.live, Reading(begin, Wanted(types=NEWS), token_id, count))


def _refuse_more_streams(at: Desk, fetcher: Fetcher) -> None:
    if at.streams[fetcher.id] >= STREAMS_EACH:
        raise RateLimited(f"A fetcher reads {STREAMS_EACH} streams at most.", retry_after_sec=5)
    if at.streams.total() >= at.settings.news_streams_max:
        raise RateLimited("There are too many streams; try again in a while.", retry_after_sec=30)


async def _fetcher(at: Desk, fetcher_id: str) -> Fetcher:
    async with at.engine.database.read() as view:
        return await store.fetcher(view, number(fetcher_id, "fetcher"))


async def _reporter(at: Desk, body: ReportIn, credential: Credential) -> Fetcher:
    """A fetcher's own token speaks for it alone; an admin for the one it names or is assigned."""
    own = credential.fetcher_id
    if own is not None and body.fetcher_id not in (None, own):
        raise Forbidden("This token belongs to another fetcher.")
    async with at.engine.database.read() as view:
        who = own or body.fetcher_id
        if who is None:
            who = (await queries.subscription(view, body.subscription_id)).fetcher_id
        return await store.fetcher(view, who)


def _lease(at: Desk, asked: float | None) -> float:
    return min(
        at.settings.lease_seconds if asked is None else asked,
        at.settings.fetcher_lease_max_seconds,
    )


def _claim_of(said: ClaimIn) -> Claim:
    moment = micros_of(said.scheduled_at, "scheduled_at")
    assert moment is not None, "the field is required"
    return Claim(said.subscription_id, from_micros(moment), said.fence)


def _claimed(body: ReportIn) -> Claim | None:
    moment = micros_of(body.scheduled_at, "scheduled_at")
    if moment is None or body.fence is None:
        return None
    return Claim(body.subscription_id, from_micros(moment), body.fence)
