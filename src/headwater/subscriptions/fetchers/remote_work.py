"""The remote work of registered fetchers: they claim due feeds, keep the claims, and report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import orjson

from headwater.core.errors import (
    ConflictError,
    DatabaseRefused,
    Forbidden,
    NotFound,
    SecretUnreadable,
    StaleClaim,
)
from headwater.core.idempotency_rows import set_key_resource
from headwater.core.ports import Database, Transaction, View
from headwater.core.telemetry.log import get_logger
from headwater.core.values.ids import FeedPk, FetcherId, WorkerId
from headwater.core.values.instant import from_micros, maybe_moment, to_micros
from headwater.core.values.response import Headers, Validators
from headwater.feeds import visit_rows
from headwater.feeds.commit_visits import ClaimLost
from headwater.feeds.fetch.outcome import Outcome, Unchanged
from headwater.feeds.schedule.due import DueFeed, wants_whole_document
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.services import FeedServices
from headwater.feeds.visit import record_visit
from headwater.feeds.visit_report import report_visit
from headwater.feeds.visit_rows import Visit
from headwater.feeds.visit_trace import describe_report, start_visit_trace
from headwater.feeds.worker import claim_rows
from headwater.subscriptions import subscription_rows
from headwater.subscriptions.fetchers import fetcher_rows, remote_claim_rows
from headwater.subscriptions.fetchers.fetcher import Fetcher
from headwater.subscriptions.fetchers.fetcher_reports import (
    FetcherReport,
    ReportContext,
    outcome_of_report,
)
from headwater.subscriptions.fetchers.remote_claim_rows import AssignedFeed, HeldClaim
from headwater.subscriptions.services import RegistryServices

logger = get_logger("remote_work")

_SEEN_EVERY = timedelta(minutes=1)
_REPORT_TIME = timedelta(seconds=60)
"""The time that a report may need from its arrival to its commit; its claim is kept for so long."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim as its holder must show it: the subscription, the visit, and the fence."""

    subscription_id: int
    scheduled_at: datetime
    fence: int


@dataclass(frozen=True, slots=True)
class RemoteVisit:
    """One visit to make. `validators` are empty when the whole document is wanted.

    `not_before`: the source's host asked this fetcher to rest until then. `headers` are those that
    a private source needs; they are for its own origin, and for the holder of the claim.
    """

    claim: Claim
    assigned: AssignedFeed
    validators: Validators
    not_before: datetime | None
    headers: Headers = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class ClaimedWork:
    """Visits to make until the end of the lease; `next_due_at` is for a fetcher without work."""

    works: tuple[RemoteVisit, ...]
    lease_until: datetime
    next_due_at: datetime | None


@dataclass(frozen=True, slots=True)
class RenewedClaims:
    """Subscriptions whose claims are kept, and those whose claims were lost already."""

    kept: tuple[int, ...]
    lost: tuple[int, ...]
    lease_until: datetime


async def claim_work(
    services: RegistryServices,
    fetcher: Fetcher,
    *,
    limit: int,
    lease_seconds: float,
    idempotency: bytes | None = None,
) -> ClaimedWork:
    """Claim due feeds for this fetcher, until the lease ends or it has reported."""
    check_may_work(fetcher)
    now = services.clock.now()
    until = now + timedelta(seconds=lease_seconds)
    await _note_heartbeat(services.database, fetcher, now)
    async with services.database.read() as view:
        next_due = await remote_claim_rows.find_next_due(view, fetcher.id)
    if idempotency is None and (next_due is None or next_due > to_micros(now)):
        return ClaimedWork((), until, maybe_moment(next_due))
    async with services.database.write() as tx:
        assigned = await remote_claim_rows.claim_assigned_feeds(
            tx, fetcher.id, to_micros(now), to_micros(until), limit
        )
        resting = await _list_resting_hosts(tx, services.feeds.schedule, fetcher, now)
        next_due = await remote_claim_rows.find_next_due(tx, fetcher.id)
        if idempotency is not None:
            claims = [_claim_on(each) for each in assigned]
            await set_key_resource(tx, idempotency, _encode_claims(claims, until, next_due))
    visits = [await _remote_visit_of(services.feeds, each, resting, now) for each in assigned]
    return ClaimedWork(tuple(visits), until, maybe_moment(next_due))


async def repeat_claim_answer(
    services: RegistryServices, fetcher: Fetcher, name: str
) -> ClaimedWork:
    """The answer of `claim_work` again, without work that is not the fetcher's any more."""
    check_may_work(fetcher)
    now = services.clock.now()
    until, next_due, *claims = orjson.loads(name)
    async with services.database.write() as tx:
        assigned = await _still_claimed(
            tx, fetcher.id, [decode_claim(each) for each in claims], now
        )
        resting = await _list_resting_hosts(tx, services.feeds.schedule, fetcher, now)
    visits = [await _remote_visit_of(services.feeds, each, resting, now) for each in assigned]
    return ClaimedWork(tuple(visits), from_micros(until), maybe_moment(next_due))


async def _still_claimed(
    tx: Transaction, fetcher: FetcherId, claims: Sequence[Claim], now: datetime
) -> list[AssignedFeed]:
    """The claims that are still held. Their leases are not made longer."""
    if not claims:
        return []
    assigned: dict[Claim, AssignedFeed] = {}
    feeds = await remote_claim_rows.list_feeds_of_fetcher(
        tx, fetcher, [each.subscription_id for each in claims]
    )
    for claim in _in_order_of(feeds, claims):
        if claim.subscription_id not in feeds:
            continue
        held = _held_claim_of(feeds[claim.subscription_id], claim)
        due = await remote_claim_rows.extend_claim(
            tx, fetcher, held, to_micros(now), to_micros(now)
        )
        if due is not None:
            subscription = await subscription_rows.get_subscription(tx, claim.subscription_id)
            assigned[claim] = AssignedFeed(
                due,
                subscription.id,
                subscription.source_url,
                subscription.source_type,
                subscription.config,
            )
    return [assigned[claim] for claim in claims if claim in assigned]


async def _list_resting_hosts(
    view: View, schedule: SchedulePolicy, fetcher: Fetcher, now: datetime
) -> dict[str, int]:
    """Host → the end of its rest, for hosts that asked this fetcher to rest."""
    return await remote_claim_rows.list_resting_hosts(
        view, fetcher.id, schedule.initial_interval, to_micros(now)
    )


async def _note_heartbeat(database: Database, fetcher: Fetcher, now: datetime) -> None:
    """A request for work is a sign of life; it is enough to write it now and then."""
    seen = fetcher.last_seen_at
    if seen is None or not timedelta() <= now - seen < _SEEN_EVERY:  # a clock may be set back
        async with database.write() as tx:
            await fetcher_rows.set_last_seen(tx, fetcher.id, now)


async def _remote_visit_of(
    services: FeedServices, assigned: AssignedFeed, resting: dict[str, int], now: datetime
) -> RemoteVisit:
    due = assigned.due
    whole = wants_whole_document(due, to_micros(now), services.rules.whole_fetch_days)
    return RemoteVisit(
        claim=_claim_on(assigned),
        assigned=assigned,
        validators=Validators() if whole else due.validators,
        not_before=maybe_moment(resting.get(due.host)),
        headers=await _secret_headers(services, due) if due.has_credentials else (),
    )


async def _secret_headers(services: FeedServices, due: DueFeed) -> Headers:
    """A secret that does not open must not keep the fetcher from all its other work."""
    try:
        return (await services.keyrings.open(due.feed, due.url)).headers_for(due.url)
    except SecretUnreadable as trouble:
        logger.error("secret_unreadable", feed=due.feed_id, detail=trouble.message)
        return ()


async def renew_claims(
    database: Database,
    fetcher: Fetcher,
    claims: Sequence[Claim],
    *,
    lease_seconds: float,
    idempotency: bytes | None = None,
) -> RenewedClaims:
    """Make the leases of work under way longer.

    With 0 seconds the work is released, due at once.
    """
    check_may_work(fetcher)
    kept: list[int] = []
    lost: list[int] = []
    async with database.write() as tx:
        until = tx.now + timedelta(seconds=lease_seconds)
        feeds = await remote_claim_rows.list_feeds_of_fetcher(
            tx, fetcher.id, [each.subscription_id for each in claims]
        )
        for claim in _in_order_of(feeds, claims):
            due = None
            if claim.subscription_id in feeds:
                held = _held_claim_of(feeds[claim.subscription_id], claim)
                due = await remote_claim_rows.extend_claim(
                    tx, fetcher.id, held, to_micros(tx.now), to_micros(until)
                )
            if due is not None and not lease_seconds:
                await claim_rows.release_claims(tx, [(due, to_micros(tx.now))])
            (lost if due is None else kept).append(claim.subscription_id)
        renewed = RenewedClaims(tuple(kept), tuple(lost), until)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, encode_renewed(renewed))
    return renewed


def _in_order_of(feeds: Mapping[int, FeedPk], claims: Sequence[Claim]) -> list[Claim]:
    """All transactions lock feeds in the same order, so that no two wait for each other."""
    return sorted(claims, key=lambda claim: feeds.get(claim.subscription_id, 0))


async def claim_early(
    database: Database,
    fetcher: Fetcher,
    subscription_id: int,
    *,
    lease_seconds: float,
    idempotency: bytes | None = None,
) -> Claim:
    """Claim a source before it is due, for a fetcher that has something to report."""
    check_may_work(fetcher)
    async with database.write() as tx:
        until = to_micros(tx.now + timedelta(seconds=lease_seconds))
        feeds = await remote_claim_rows.list_feeds_of_fetcher(tx, fetcher.id, [subscription_id])
        if subscription_id not in feeds:
            raise _no_such_subscription()
        feed = feeds[subscription_id]
        due = await remote_claim_rows.claim_early(tx, fetcher.id, feed, to_micros(tx.now), until)
        if due is None:
            raise ConflictError(
                "This source is being visited, or not visited at all just now.",
                subscription_id=subscription_id,
            )
        claimed = Claim(subscription_id, from_micros(due.scheduled_at), due.fence)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, encode_claim(claimed))
    return claimed


async def accept_report(
    services: RegistryServices,
    fetcher: Fetcher,
    claim: Claim,
    report: FetcherReport,
    *,
    elapsed: float = 0.0,
) -> Visit:
    """The committed visit. The same report again has the same answer and no second effect."""
    check_may_work(fetcher)
    feed, due = await _extend_claim(services.database, fetcher.id, claim)
    by = _worker_name_of(fetcher.id, claim)
    if due is None:
        return await _find_reported_visit(services.database, feed, claim, by)
    outcome = _outcome_of(services, due, report, elapsed)
    with start_visit_trace(services.feeds.tracer, due) as trail:
        trail.tell(describe_report, due, outcome, by)
        result = await record_visit(
            due, outcome, services.feeds, conditional=isinstance(outcome, Unchanged), by=by
        )
        report_visit(due, result)
    if isinstance(result, DatabaseRefused):
        await _release_for_long(services, due)
        raise result
    if isinstance(result, ClaimLost):
        return await _find_reported_visit(services.database, feed, claim, by)
    visit = await _find_visit(services.database, feed, claim.scheduled_at)
    assert visit is not None, "a visit that was committed is in the history"
    return visit


def _outcome_of(
    services: RegistryServices, due: DueFeed, report: FetcherReport, elapsed: float
) -> Outcome:
    context = ReportContext(
        url=due.url,
        started_at=services.clock.now() - timedelta(seconds=elapsed),
        elapsed=elapsed,
        has_document=due.documents_seen > 0,
        retry_after_cap=services.feeds.fetcher.policy.retry_after_cap,
        accepted_types=services.feeds.fetcher.policy.accepted_types,
    )
    return outcome_of_report(report, context)


async def _extend_claim(
    database: Database, fetcher: FetcherId, claim: Claim
) -> tuple[FeedPk, DueFeed | None]:
    """Check the claim and extend it in one step, so that it does not end during the report."""
    async with database.write() as tx:
        until = to_micros(tx.now + _REPORT_TIME)
        feeds = await remote_claim_rows.list_feeds_of_fetcher(tx, fetcher, [claim.subscription_id])
        if claim.subscription_id not in feeds:
            raise _no_such_subscription()
        feed = feeds[claim.subscription_id]
        return feed, await remote_claim_rows.extend_claim(
            tx, fetcher, _held_claim_of(feed, claim), to_micros(tx.now), until
        )


async def _find_reported_visit(
    database: Database, feed: FeedPk, claim: Claim, by: WorkerId
) -> Visit:
    """The visit that this claim led to; StaleClaim when it led to none."""
    visit = await _find_visit(database, feed, claim.scheduled_at)
    if visit is not None and visit.worker == by:
        return visit
    raise StaleClaim(
        "This claim is over: its lease ran out, or the work went to somebody else.",
        subscription_id=claim.subscription_id,
    )


async def _find_visit(database: Database, feed: FeedPk, scheduled_at: datetime) -> Visit | None:
    after = to_micros(scheduled_at) + 1
    async with database.read() as view:
        visits = await visit_rows.list_visits(view, feed, before=after, limit=1)
    return visits[0] if visits and visits[0].scheduled_at == scheduled_at else None


async def _release_for_long(services: RegistryServices, due: DueFeed) -> None:
    """A document that the database refuses is not asked for again at once."""
    async with services.database.write() as tx:
        later = tx.now + timedelta(seconds=services.feeds.schedule.max_interval)
        await claim_rows.release_claims(tx, [(due, to_micros(later))])


def _held_claim_of(feed: FeedPk, claim: Claim) -> HeldClaim:
    return HeldClaim(feed, to_micros(claim.scheduled_at), claim.fence)


def _worker_name_of(fetcher: FetcherId, claim: Claim) -> WorkerId:
    """With the fence, so that a visit's record shows which claim it came from."""
    return WorkerId(f"{remote_claim_rows.fetcher_worker_id(fetcher)}#{claim.fence}")


def _claim_on(assigned: AssignedFeed) -> Claim:
    due = assigned.due
    return Claim(assigned.subscription_id, from_micros(due.scheduled_at), due.fence)


def encode_claim(claim: Claim) -> str:
    return f"{claim.subscription_id} {to_micros(claim.scheduled_at)} {claim.fence}"


def decode_claim(name: str) -> Claim:
    subscription_id, scheduled_at, fence = (int(part) for part in name.split())
    return Claim(subscription_id, from_micros(scheduled_at), fence)


def _encode_claims(claims: Sequence[Claim], until: datetime, next_due: int | None) -> str:
    return orjson.dumps([to_micros(until), next_due, *map(encode_claim, claims)]).decode()


def encode_renewed(renewed: RenewedClaims) -> str:
    until = to_micros(renewed.lease_until)
    return orjson.dumps([until, renewed.kept, renewed.lost]).decode()


def decode_renewed(name: str) -> RenewedClaims:
    until, kept, lost = orjson.loads(name)
    return RenewedClaims(tuple(kept), tuple(lost), from_micros(until))


async def get_reporter(
    database: Database, subscription_id: int, *, own_id: int | None, named_id: int | None
) -> Fetcher:
    """A fetcher's own token (`own_id`) speaks for it alone. An admin speaks for the fetcher that
    the report names, or else for the one to which the subscription is assigned."""
    if own_id is not None and named_id not in (None, own_id):
        raise Forbidden("This token belongs to another fetcher.")
    async with database.read() as view:
        fetcher_id = own_id or named_id
        if fetcher_id is None:
            subscription = await subscription_rows.get_subscription(view, subscription_id)
            fetcher_id = subscription.fetcher_id
        return await fetcher_rows.get_fetcher(view, FetcherId(fetcher_id))


def check_may_work(fetcher: Fetcher) -> None:
    if fetcher.is_builtin:
        raise Forbidden("A built-in fetcher's work is done by Headwater itself.")
    if not fetcher.is_enabled:
        raise Forbidden("This fetcher is not enabled; an operator can enable it.")


def _no_such_subscription() -> NotFound:
    return NotFound("This fetcher has no such subscription.", what="subscription")
