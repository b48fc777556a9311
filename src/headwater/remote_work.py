"""The work of registered fetchers: they claim what is due, keep it, and report what they met."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import orjson

from headwater.access.store import remember_resource
from headwater.engine import Engine
from headwater.errors import (
    Conflict,
    Forbidden,
    NotFound,
    Refused,
    SecretUnreadable,
    StaleClaim,
)
from headwater.fetch.outcome import Outcome, Unchanged
from headwater.fetch.reported import Errand, Reported, outcome_of
from headwater.logbook import tell
from headwater.ports import Reader, Transaction
from headwater.remember import Lost
from headwater.schedule import queries
from headwater.schedule import store as calendar
from headwater.schedule.due import Due, asks_whole
from headwater.schedule.queries import Visit
from headwater.schedule.remote import store as work
from headwater.schedule.remote.store import Assigned, Held
from headwater.spans import describe_report, visit_trail
from headwater.subscribe.fetcher import Fetcher, FetcherId
from headwater.subscribe.fetchers import store as fetchers
from headwater.subscribe.subscriptions import queries as subscriptions
from headwater.telemetry.log import logger
from headwater.unlock import keyring_of
from headwater.values.ids import FeedPk, WorkerId
from headwater.values.instant import from_micros, maybe_moment, to_micros
from headwater.values.response import Headers, Validators
from headwater.visit import Visits

log = logger("remote_work")

_SEEN_EVERY = timedelta(minutes=1)
_TIME_TO_TAKE_IT_IN = timedelta(seconds=60)
"""What a report may need from its arrival to its commit: for that long its claim is kept."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What its holder must show: the subscription, which visit of it, and the fence."""

    subscription_id: int
    scheduled_at: datetime
    fence: int


@dataclass(frozen=True, slots=True)
class Work:
    """One visit to make. `validators` are empty when the whole document is wanted.

    `not_before`: the source's host asked this fetcher to rest until then. `headers` are what a
    private source wants to see; they are for its own origin, and for whoever has the claim.
    """

    claim: Claim
    assigned: Assigned
    validators: Validators
    not_before: datetime | None
    headers: Headers = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Claimed:
    """Work until the end of its lease; when the next is due, for those who have nothing to do."""

    works: tuple[Work, ...]
    lease_until: datetime
    next_due_at: datetime | None


@dataclass(frozen=True, slots=True)
class Renewed:
    """Claims that are kept, and those that were lost already."""

    kept: tuple[int, ...]
    lost: tuple[int, ...]
    lease_until: datetime


async def claim(
    engine: Engine,
    fetcher: Fetcher,
    *,
    limit: int,
    lease_seconds: float,
    idempotency: bytes | None = None,
) -> Claimed:
    """Due work of this fetcher, which is its own until the lease ends or it has reported."""
    refuse_unless_working(fetcher)
    now = engine.clock.now()
    until = now + timedelta(seconds=lease_seconds)
    await _note_sign_of_life(engine, fetcher, now)
    async with engine.database.read() as view:
        next_due = await work.next_due(view, fetcher.id)
    if idempotency is None and (next_due is None or next_due > to_micros(now)):
        return Claimed((), until, maybe_moment(next_due))
    async with engine.database.write() as tx:
        found = await work.claim(tx, fetcher.id, to_micros(now), to_micros(until), limit)
        resting = await _resting(tx, engine, fetcher, now)
        next_due = await work.next_due(tx, fetcher.id)
        if idempotency is not None:
            claims = [_claim_on(each) for each in found]
            await remember_resource(tx, idempotency, _name_of(claims, until, next_due))
    works = [await _work(engine, each, resting, now) for each in found]
    return Claimed(tuple(works), until, maybe_moment(next_due))


async def claimed_before(engine: Engine, fetcher: Fetcher, name: str) -> Claimed:
    """What `claim` answered then, without what is not the fetcher's any more."""
    refuse_unless_working(fetcher)
    now = engine.clock.now()
    until, next_due, *names = orjson.loads(name)
    async with engine.database.write() as tx:
        found = await _held_still(tx, fetcher.id, [claim_of_name(each) for each in names], now)
        resting = await _resting(tx, engine, fetcher, now)
    works = [await _work(engine, each, resting, now) for each in found]
    return Claimed(tuple(works), from_micros(until), maybe_moment(next_due))


async def _held_still(
    tx: Transaction, fetcher: FetcherId, claims: Sequence[Claim], now: datetime
) -> list[Assigned]:
    """Kept as long as they are, and no longer."""
    if not claims:
        return []
    found: dict[Claim, Assigned] = {}
    feeds = await work.feeds_of(tx, fetcher, [each.subscription_id for each in claims])
    for each in _in_order_of(feeds, claims):
        if each.subscription_id not in feeds:
            continue
        held = _held(feeds[each.subscription_id], each)
        due = await work.keep(tx, fetcher, held, to_micros(now), to_micros(now))
        if due is not None:
            known = await subscriptions.subscription(tx, each.subscription_id)
            found[each] = Assigned(due, known.id, known.source_url, known.source_type, known.config)
    return [found[each] for each in claims if each in found]


async def _resting(view: Reader, engine: Engine, fetcher: Fetcher, now: datetime) -> dict[str, int]:
    """Hosts that asked this fetcher to rest, and until when."""
    unsaid = engine.schedule.initial_interval
    return await work.resting_hosts(view, fetcher.id, unsaid, to_micros(now))


async def _note_sign_of_life(engine: Engine, fetcher: Fetcher, now: datetime) -> None:
    """Who asks for work is there; writing that down now and then is enough."""
    seen = fetcher.last_seen_at
    if seen is None or not timedelta() <= now - seen < _SEEN_EVERY:  # a clock may be set back
        async with engine.database.write() as tx:
            await fetchers.seen(tx, fetcher.id, now)


async def _work(engine: Engine, assigned: Assigned, resting: dict[str, int], now: datetime) -> Work:
    due = assigned.due
    whole = asks_whole(due, to_micros(now), engine.rules.whole_fetch_days)
    return Work(
        claim=_claim_on(assigned),
        assigned=assigned,
        validators=Validators() if whole else due.validators,
        not_before=maybe_moment(resting.get(due.host)),
        headers=await _secret_headers(engine, due) if due.has_credentials else (),
    )


async def _secret_headers(engine: Engine, due: Due) -> Headers:
    """A secret that does not open must not keep a fetcher from all its other work."""
    try:
        return (await keyring_of(engine, due.feed, due.url)).headers_for(due.url)
    except SecretUnreadable as trouble:
        log.error("secret_unreadable", feed=due.feed_id, detail=trouble.message)
        return ()


async def renew(
    engine: Engine,
    fetcher: Fetcher,
    claims: Sequence[Claim],
    *,
    lease_seconds: float,
    idempotency: bytes | None = None,
) -> Renewed:
    """A longer lease for work under way. With no time at all it is given back, due at once."""
    refuse_unless_working(fetcher)
    now = engine.clock.now()
    until = now + timedelta(seconds=lease_seconds)
    kept: list[int] = []
    lost: list[int] = []
    async with engine.database.write() as tx:
        feeds = await work.feeds_of(tx, fetcher.id, [each.subscription_id for each in claims])
        for each in _in_order_of(feeds, claims):
            due = None
            if each.subscription_id in feeds:
                held = _held(feeds[each.subscription_id], each)
                due = await work.keep(tx, fetcher.id, held, to_micros(now), to_micros(until))
            if due is not None and not lease_seconds:
                await calendar.give_back(tx, [(due, to_micros(now))])
            (lost if due is None else kept).append(each.subscription_id)
        renewed = Renewed(tuple(kept), tuple(lost), until)
        if idempotency is not None:
            await remember_resource(tx, idempotency, name_of_renewed(renewed))
    return renewed


def _in_order_of(feeds: Mapping[int, FeedPk], claims: Sequence[Claim]) -> list[Claim]:
    """Everybody locks feeds in the same order, so that nobody waits for somebody who waits."""
    return sorted(claims, key=lambda one: feeds.get(one.subscription_id, 0))


async def take(
    engine: Engine,
    fetcher: Fetcher,
    subscription_id: int,
    *,
    lease_seconds: float,
    idempotency: bytes | None = None,
) -> Claim:
    """A claim for whoever has something to report without having claimed it."""
    refuse_unless_working(fetcher)
    now = engine.clock.now()
    until = to_micros(now + timedelta(seconds=lease_seconds))
    async with engine.database.write() as tx:
        feeds = await work.feeds_of(tx, fetcher.id, [subscription_id])
        if subscription_id not in feeds:
            raise _not_yours()
        feed = feeds[subscription_id]
        due = await work.take(tx, fetcher.id, feed, to_micros(now), until)
        if due is None:
            raise Conflict(
                "This source is being visited, or not visited at all just now.",
                subscription_id=subscription_id,
            )
        claimed = Claim(subscription_id, from_micros(due.scheduled_at), due.fence)
        if idempotency is not None:
            await remember_resource(tx, idempotency, name_of_claim(claimed))
    return claimed


async def report(
    engine: Engine,
    visits: Visits,
    fetcher: Fetcher,
    claim: Claim,
    said: Reported,
    *,
    elapsed: float = 0.0,
) -> Visit:
    """The committed visit. Said again, the same answer and no second effect."""
    refuse_unless_working(fetcher)
    feed, due = await _still_held(engine, fetcher.id, claim)
    by = _visitor(fetcher.id, claim)
    if due is None:
        return await _told_before(engine, feed, claim, by)
    outcome = _outcome(engine, due, said, elapsed)
    with visit_trail(engine, due) as trail:
        trail.tell(describe_report, due, outcome, by)
        remembered = await visits.conclude(
            due, outcome, conditional=isinstance(outcome, Unchanged), by=by
        )
        tell(due, remembered)
    if isinstance(remembered, Refused):
        await _rest(engine, due)
        raise remembered
    if isinstance(remembered, Lost):
        return await _told_before(engine, feed, claim, by)
    visit = await _committed(engine, feed, claim.scheduled_at)
    assert visit is not None, "a visit that was remembered is in the history"
    return visit


def _outcome(engine: Engine, due: Due, said: Reported, elapsed: float) -> Outcome:
    errand = Errand(
        url=due.url,
        started_at=engine.clock.now() - timedelta(seconds=elapsed),
        elapsed=elapsed,
        has_document=due.documents_seen > 0,
        retry_after_cap=engine.fetch.retry_after_cap,
        accepted_types=engine.fetch.accepted_types,
    )
    return outcome_of(said, errand)


async def _still_held(
    engine: Engine, fetcher: FetcherId, claim: Claim
) -> tuple[FeedPk, Due | None]:
    """Checked and kept long enough in one step, so that the lease does not end under our hands."""
    now = engine.clock.now()
    until = to_micros(now + _TIME_TO_TAKE_IT_IN)
    async with engine.database.write() as tx:
        feeds = await work.feeds_of(tx, fetcher, [claim.subscription_id])
        if claim.subscription_id not in feeds:
            raise _not_yours()
        feed = feeds[claim.subscription_id]
        return feed, await work.keep(tx, fetcher, _held(feed, claim), to_micros(now), until)


async def _told_before(engine: Engine, feed: FeedPk, claim: Claim, by: WorkerId) -> Visit:
    """The visit that this very claim led to; StaleClaim when it led to none."""
    visit = await _committed(engine, feed, claim.scheduled_at)
    if visit is not None and visit.worker == by:
        return visit
    raise StaleClaim(
        "This claim is over: its lease ran out, or the work went to somebody else.",
        subscription_id=claim.subscription_id,
    )


async def _committed(engine: Engine, feed: FeedPk, scheduled_at: datetime) -> Visit | None:
    after = to_micros(scheduled_at) + 1
    async with engine.database.read() as view:
        found = await queries.visits(view, feed, before=after, limit=1)
    return found[0] if found and found[0].scheduled_at == scheduled_at else None


async def _rest(engine: Engine, due: Due) -> None:
    """What the database will not take is not asked for again at once."""
    later = engine.clock.now() + timedelta(seconds=engine.schedule.max_interval)
    async with engine.database.write() as tx:
        await calendar.give_back(tx, [(due, to_micros(later))])


def _held(feed: FeedPk, claim: Claim) -> Held:
    return Held(feed, to_micros(claim.scheduled_at), claim.fence)


def _visitor(fetcher: FetcherId, claim: Claim) -> WorkerId:
    """With the fence: a visit's record says which claim it came from."""
    return WorkerId(f"{work.name_of(fetcher)}#{claim.fence}")


def _claim_on(assigned: Assigned) -> Claim:
    due = assigned.due
    return Claim(assigned.subscription_id, from_micros(due.scheduled_at), due.fence)


def name_of_claim(claim: Claim) -> str:
    return f"{claim.subscription_id} {to_micros(claim.scheduled_at)} {claim.fence}"


def claim_of_name(name: str) -> Claim:
    subscription_id, scheduled_at, fence = (int(part) for part in name.split())
    return Claim(subscription_id, from_micros(scheduled_at), fence)


def name_of_claimed(claimed: Claimed) -> str:
    next_due = None if claimed.next_due_at is None else to_micros(claimed.next_due_at)
    return _name_of([each.claim for each in claimed.works], claimed.lease_until, next_due)


def _name_of(claims: Sequence[Claim], until: datetime, next_due: int | None) -> str:
    return orjson.dumps([to_micros(until), next_due, *map(name_of_claim, claims)]).decode()


def name_of_renewed(renewed: Renewed) -> str:
    until = to_micros(renewed.lease_until)
    return orjson.dumps([until, renewed.kept, renewed.lost]).decode()


def renewed_of_name(name: str) -> Renewed:
    until, kept, lost = orjson.loads(name)
    return Renewed(tuple(kept), tuple(lost), from_micros(until))


def refuse_unless_working(fetcher: Fetcher) -> None:
    if fetcher.is_builtin:
        raise Forbidden("A built-in fetcher's work is done by Headwater itself.")
    if not fetcher.is_enabled:
        raise Forbidden("This fetcher is not enabled; an operator can enable it.")


def _not_yours() -> NotFound:
    return NotFound("This fetcher has no such subscription.", what="subscription")
