"""The work of registered fetchers over HTTP: claim visits, renew claims, report, read the news."""

from starlette.requests import Request
from starlette.responses import Response

from headwater.auth.tokens import Credential
from headwater.entrypoints.api.dependencies import ApiContext, App, Caller, FetcherId
from headwater.entrypoints.api.errors import RateLimited
from headwater.entrypoints.api.events.event_records import After, LastEventId
from headwater.entrypoints.api.events.stream import EventStream, StreamRequest
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.router import Router
from headwater.entrypoints.api.subscriptions.work_records import (
    ClaimedPage,
    ClaimsIn,
    RenewedRecord,
    RenewIn,
    ReportIn,
    ResultRecord,
)
from headwater.events.event_filter import EventFilter
from headwater.subscriptions.fetchers import fetcher_rows, remote_work
from headwater.subscriptions.fetchers.fetcher import Fetcher
from headwater.subscriptions.fetchers.fetcher_reports import FetcherReport
from headwater.subscriptions.fetchers.remote_work import Claim, decode_claim, decode_renewed
from headwater.subscriptions.registry_events import NEWS_TYPES

router = Router(tags=["work of fetchers"])
MOST_STREAMS_PER_FETCHER = 4


async def show_claims(claims: str, fetcher_id: FetcherId, app: App) -> ClaimedPage:
    """The answer to a repeated claim of these visits, with their secrets as they are now."""
    fetcher = await _fetcher(app, fetcher_id)
    return ClaimedPage.of(await remote_work.repeat_claim_answer(app.registry, fetcher, claims))


# Secrets of private sources come with claims: the answer is not written down.
@router.post("/fetcher-modules/{fetcher_id}/claims", right="fetcher", keep=False, again=show_claims)
async def claim_work(
    fetcher_id: FetcherId, app: App, key: IdempotencyKey, body: ClaimsIn | None = None
) -> ClaimedPage:
    """Due visits of this fetcher: its own until the lease ends or the result is reported."""
    body = body or ClaimsIn()
    claimed = await remote_work.claim_work(
        app.registry,
        await _fetcher(app, fetcher_id),
        limit=min(body.limit, app.settings.fetcher_claims_max),
        lease_seconds=_lease(app, body.lease_seconds),
        idempotency=key,
    )
    return ClaimedPage.of(claimed)


async def show_renewed(renewed: str) -> RenewedRecord:
    """The answer to a repeated request, whose claims were renewed already."""
    return RenewedRecord.of(decode_renewed(renewed))


@router.post("/fetcher-modules/{fetcher_id}/claims/renew", right="fetcher", again=show_renewed)
async def renew_claims(
    fetcher_id: FetcherId, body: RenewIn, app: App, key: IdempotencyKey
) -> RenewedRecord:
    """More time for work under way. `lease_seconds` 0 gives it back instead, due at once."""
    renewed = await remote_work.renew_claims(
        app.database,
        await _fetcher(app, fetcher_id),
        [claim.claim() for claim in body.claims],
        lease_seconds=_lease(app, body.lease_seconds),
        idempotency=key,
    )
    return RenewedRecord.of(renewed)


async def finish_report(claim: str, body: ReportIn, app: App, caller: Caller) -> ResultRecord:
    """The answer to a repeated request. We died after the claim: the rest is done now, or was done
    already."""
    fetcher = await _reporter(app, body, caller)
    report = body.reported(app.feeds.reading.max_bytes)
    return await _accept_report(app, fetcher, decode_claim(claim), body, report)


@router.post(
    "/fetcher-results",
    right="fetcher",
    most_bytes="fetcher_report_max_bytes",
    again=finish_report,
)
async def report_result(
    body: ReportIn, app: App, caller: Caller, key: IdempotencyKey
) -> ResultRecord:
    """The result of a fetcher's visit. It is archived, parsed and merged, its events are written,
    and the next visit is planned, as after a visit of our own.

    The same report again for the same claim has the same answer and no second effect.
    """
    report = body.reported(app.feeds.reading.max_bytes)
    fetcher = await _reporter(app, body, caller)
    claim = body.claim()
    if claim is None:
        claim = await remote_work.claim_early(
            app.database,
            fetcher,
            body.subscription_id,
            lease_seconds=app.settings.lease_seconds,
            idempotency=key,
        )
    return await _accept_report(app, fetcher, claim, body, report)


async def _accept_report(
    app: ApiContext, fetcher: Fetcher, claim: Claim, body: ReportIn, report: FetcherReport
) -> ResultRecord:
    visit = await remote_work.accept_report(
        app.registry, fetcher, claim, report, elapsed=body.elapsed_ms / 1000
    )
    return ResultRecord.of(visit, subscription_id=body.subscription_id)


@router.get(
    "/fetcher-modules/{fetcher_id}/events",
    right="fetcher",
    etag=False,
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream_news(
    fetcher_id: FetcherId,
    request: Request,
    app: App,
    caller: Caller,
    after: After = None,
    last_event_id: LastEventId = None,
) -> Response:
    """Server-sent events about subscriptions and conflicts, each with its number as `id`.

    `Last-Event-ID` (or `after`) goes on after that number; without it, with what comes from now on.
    """
    fetcher = await _fetcher(app, fetcher_id)
    remote_work.check_may_work(fetcher)
    begin = await app.live.beginning(after, last_event_id)
    if request.scope.get("bodiless"):
        return Response(media_type=EventStream.media_type)
    _check_stream_limit(app, fetcher)

    def count(change: int) -> None:
        app.streams[fetcher.id] += change

    news = StreamRequest(begin, EventFilter(types=NEWS_TYPES), caller.token_id, count)
    return EventStream(app.live, news)


def _check_stream_limit(app: ApiContext, fetcher: Fetcher) -> None:
    if app.streams[fetcher.id] >= MOST_STREAMS_PER_FETCHER:
        raise RateLimited(
            f"A fetcher reads {MOST_STREAMS_PER_FETCHER} streams at most.", retry_after_sec=5
        )
    if app.streams.total() >= app.settings.news_streams_max:
        raise RateLimited("There are too many streams; try again in a while.", retry_after_sec=30)


async def _fetcher(app: ApiContext, fetcher_id: int) -> Fetcher:
    async with app.database.read() as view:
        return await fetcher_rows.get_fetcher(view, fetcher_id)


async def _reporter(app: ApiContext, body: ReportIn, caller: Credential) -> Fetcher:
    return await remote_work.get_reporter(
        app.database, body.subscription_id, own_id=caller.fetcher_id, named_id=body.fetcher_id
    )


def _lease(app: ApiContext, asked: float | None) -> float:
    usual, most = app.settings.lease_seconds, app.settings.fetcher_lease_max_seconds
    return min(usual if asked is None else asked, most)
