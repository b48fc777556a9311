"""Following a new feed: one request that is both the check and the first visit."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from uuid_utils import uuid7

from headwater.access.store import remember_resource
from headwater.announce import store as log
from headwater.announce.event import Event, subscription_created
from headwater.archive import Archived
from headwater.engine import Engine
from headwater.errors import (
    BlockedAddress,
    Conflict,
    DuplicateUrl,
    FetchFailed,
    NoCapableFetcher,
    NotAFeed,
    Refused,
)
from headwater.fetch.address import check_url
from headwater.fetch.decode import decoded
from headwater.fetch.outcome import Failed, Fetched, Outcome
from headwater.fetch.steps import Ask
from headwater.logbook import tell
from headwater.membership import welcome
from headwater.merge.reading import Job, Read, Unreadable
from headwater.merge.steps import NOT_THE_DOCUMENTS_FAULT
from headwater.ports import Reader, Transaction
from headwater.schedule import store as calendar
from headwater.schedule.due import Due
from headwater.schedule.shards import store as shards
from headwater.settle import Finished, Settled
from headwater.spans import describe_schedule, first_trail
from headwater.subscribe import store as feeds
from headwater.subscribe.builtin import best_builtin
from headwater.subscribe.credentials import Keyring, bound_to
from headwater.subscribe.discovery import candidates
from headwater.subscribe.feed import Wish
from headwater.subscribe.fetchers.store import fetchers
from headwater.subscribe.history import store as decisions
from headwater.subscribe.store import Followed
from headwater.subscribe.subscription import (
    HEADWATER,
    USUAL_SOURCE_TYPE,
    Subscription,
    as_assigned,
)
from headwater.subscribe.subscriptions import store as subscriptions
from headwater.subscribe.subscriptions.queries import by_url, of_feed
from headwater.telemetry.trace import span
from headwater.unlock import keep_credentials, keyring_of
from headwater.values.ids import FeedId, FeedPk
from headwater.values.instant import to_micros
from headwater.values.response import Answer, Validators, header
from headwater.values.url import checked_source, host_of, origin_of, redacted
from headwater.visit import Visits

_LEASE = timedelta(minutes=2)
_SHOWN_BYTES = 300


async def add_feed(
    url: str,
    wish: Wish,
    engine: Engine,
    *,
    idempotency: bytes | None = None,
    who: str = HEADWATER,
) -> FeedId:
    """Fetch, refuse what is no feed, and keep what came as the first visit.

    Of several who add the same at once, one asks; the others then find a feed that is followed.
    """
    source = checked_source(url)
    check_url(source, engine.fetch.address)
    async with engine.adding.at(feeds.url_key(source)):
        former = await _former(engine, source)
        with first_trail(engine, source):
            return await _first_visit(source, wish, engine, former, idempotency, who)


async def _first_visit(
    source: str,
    wish: Wish,
    engine: Engine,
    former: "_Former | None",
    idempotency: bytes | None,
    who: str,
) -> FeedId:
    visits = Visits(engine)
    keys = await _keys(engine, source, wish, former)
    question = Ask(source, Validators(), wish.all_overrides.verify_tls, keys)
    fetched = _fetched(await _ask_in_turn(engine, visits, question))
    feed_id = former.feed_id if former else FeedId(str(uuid7()))
    document = await _read(visits, fetched, feed_id, former.identity if former else None)
    if isinstance(document, Unreadable) and document.code in NOT_THE_DOCUMENTS_FAULT:
        raise FetchFailed(
            f"The document came, but could not be read here: {document.detail}.",
            outcome=document.code,
            status=fetched.exchange.answer.status,
        )
    if isinstance(document, Unreadable):
        offers = not wish.all_overrides.disable_autodiscovery
        # Beside the loop: a hostile coding may take a second to undo.
        most = engine.reading.max_bytes
        raise await asyncio.to_thread(_no_feed, fetched, document, most, offers_links=offers)
    if fetched.exchange.hops:
        await _former(engine, fetched.exchange.final_url)
    with span("schedule") as scheduled:
        due = await _claimed_row(engine, source, wish, feed_id, idempotency, who)
        scheduled.tell(describe_schedule, due, engine.worker)
    archived = await _kept(visits, due, fetched)
    now = engine.clock.now()
    finished = Finished(due, fetched, archived, document, conditional=False, finished_at=now)
    remembered = await visits.remember(finished)
    tell(due, remembered)
    if isinstance(remembered, Refused):
        raise remembered
    if not isinstance(remembered, Settled):
        raise _changed_meanwhile()
    return due.feed_id


async def _kept(visits: Visits, due: Due, fetched: Fetched) -> Archived | None:
    try:
        return await visits.keep(due.feed, fetched)
    except Refused as trouble:
        if await visits.is_still_ours(due):
            raise
        raise _changed_meanwhile() from trouble  # somebody has deleted it for good


def _changed_meanwhile() -> Conflict:
    return Conflict("Somebody else changed this feed while it was being added.")


async def follow_later(
    url: str,
    wish: Wish,
    engine: Engine,
    *,
    idempotency: bytes | None = None,
    who: str = HEADWATER,
) -> FeedId:
    """For lists (OPML): written down now, due at once, first visited by the worker."""
    source = checked_source(url)
    check_url(source, engine.fetch.address)
    feed_id = FeedId(str(uuid7()))
    async with engine.database.write() as tx:
        followed, fact = await _follow(tx, engine, source, wish, feed_id, who)
        if idempotency is not None:
            await remember_resource(tx, idempotency, followed.id)
        await log.append(tx, [fact], engine.clock.now())
    engine.woken.set()
    return followed.id


async def _follow(
    tx: Transaction, engine: Engine, url: str, wish: Wish, feed_id: FeedId, who: str
) -> tuple[Followed, Event]:
    """A feed's row and its subscription, and the fact that is to be told last."""
    now = engine.clock.now()
    known = await fetchers(tx, enabled_only=True)
    chosen = best_builtin(engine.builtins, known, url, USUAL_SOURCE_TYPE)
    if chosen is None:
        raise NoCapableFetcher(
            "No built-in fetcher that can visit this URL is enabled.", url=redacted(url)
        )
    followed = await feeds.follow(
        tx,
        url,
        wish,
        feed_id=feed_id,
        interval_sec=engine.schedule.initial_interval,
        now=now,
        visit_at=now,
    )
    former = await of_feed(tx, followed.id) if followed.revived else None
    made = await subscriptions.own(tx, followed, url, chosen.id, now=now)
    made = await welcome(tx, engine, made, now)
    await keep_credentials(tx, engine, made.id, url, wish.credentials)
    await _write_down(tx, made, former, who)
    return followed, subscription_created(made, revived=followed.revived)


async def _write_down(
    tx: Transaction, made: Subscription, former: Subscription | None, who: str
) -> None:
    await decisions.write(
        tx,
        made.id,
        at=made.updated_at,
        who=who,
        what="created" if former is None else "revived",
        why="the best built-in fetcher for this URL" if former is None else None,
        before=None if former is None else as_assigned(former),
        after=as_assigned(made),
    )


@dataclass(frozen=True, slots=True)
class _Former:
    """A feed that was removed: when it comes back, it keeps its id."""

    feed_pk: FeedPk
    feed_id: FeedId
    identity: dict[str, Any] | None


async def _former(engine: Engine, url: str) -> _Former | None:
    """Who lived at this URL, or was asked for under it; one that is followed is refused."""
    async with engine.database.read() as view:
        there = await by_url(view, url)
        if there is None:
            return None
        if not there.is_active:
            identity = await calendar.identity_of(view, there.feed_pk)
            return _Former(there.feed_pk, there.feed_id, identity)
    raise DuplicateUrl(
        "This URL is followed already.",
        subscription_id=there.id,
        feed_id=there.feed_id,
        url=url,
    )


async def _keys(engine: Engine, url: str, wish: Wish, former: _Former | None) -> Keyring | None:
    """What is said now, or failing that what a feed that comes back was given before."""
    if wish.credentials is not None:
        return Keyring(origin_of(url), (bound_to(url, wish.credentials),))
    return None if former is None else await keyring_of(engine, former.feed_pk, url)


async def _ask_in_turn(engine: Engine, visits: Visits, question: Ask) -> Outcome:
    """The host's turn is kept here too, also against workers in other processes."""
    host, clock = host_of(question.url), engine.clock
    async with engine.database.read() as view:
        await _remember_last_request(engine, view, host)
    await visits.take_turn(host)
    outcome: Outcome | None = None
    try:
        outcome = await visits.fetch(question)
        return outcome
    finally:
        address = outcome.exchange.own_address if outcome else None
        engine.turns.finish(host, clock.monotonic(), address)


async def _remember_last_request(engine: Engine, view: Reader, host: str) -> None:
    """And the rest that it may have asked of somebody else."""
    now, monotonic = to_micros(engine.clock.now()), engine.clock.monotonic()
    asked_at = await calendar.last_asked(view, host)
    if asked_at is not None:
        engine.turns.seen(host, monotonic - max(0.0, (now - asked_at) / 1_000_000))
    rests_until = await shards.rest_of_host(view, host, engine.schedule.initial_interval)
    if rests_until is not None and rests_until > now:
        engine.turns.rest(host, monotonic + (rests_until - now) / 1_000_000)


def _fetched(outcome: Outcome) -> Fetched:
    if isinstance(outcome, Fetched):
        return outcome
    answer = outcome.exchange.answer
    code, detail = f"http_{answer.status}", f"the server answered {answer.status}"
    if isinstance(outcome, Failed):
        code, detail = outcome.code, outcome.detail
    if code == "blocked_address":
        raise BlockedAddress(f"This URL may not be fetched: {detail}", url=answer.url)
    raise FetchFailed(
        f"The feed could not be fetched: {detail.rstrip('.')}.",
        outcome=code,
        status=answer.status,
        received=_received(answer, answer.body),
    )


async def _read(
    visits: Visits, fetched: Fetched, feed_id: FeedId, identity: dict[str, Any] | None
) -> Read:
    answer = fetched.exchange.answer
    job = Job(
        url=answer.url,
        content_encoding=header(answer.response_headers, "content-encoding"),
        content_type=header(answer.response_headers, "content-type"),
        feed_id=feed_id,
        identity=identity,
        known_document=None,
    )
    return await visits.parse(job, answer.body)


def _no_feed(fetched: Fetched, why: Unreadable, max_bytes: int, *, offers_links: bool) -> NotAFeed:
    answer = fetched.exchange.answer
    plain = decoded(
        answer.body, header(answer.response_headers, "content-encoding"), max_bytes=max_bytes
    )
    page, kind = plain.body, header(answer.response_headers, "content-type")
    links = [
        {"url": link.url, "title": link.title, "type": link.type}
        for link in (candidates(page, answer.url, kind) if offers_links else ())
    ]
    message = "This is a page that links to feeds." if links else "This is not a feed."
    return NotAFeed(
        f"{message} ({why.detail})",
        reason=why.code,
        received=_received(answer, page or answer.body),
        candidates=links,
    )


def _received(answer: Answer, plain: bytes) -> dict[str, Any]:
    """What came, so that a person sees what we saw."""
    return {
        "url": answer.url,
        "status": answer.status,
        "content_type": header(answer.response_headers, "content-type"),
        "bytes": len(answer.body),
        "begins": plain[:_SHOWN_BYTES].decode("utf-8", "replace"),
    }


async def _claimed_row(
    engine: Engine, url: str, wish: Wish, feed_id: FeedId, idempotency: bytes | None, who: str
) -> Due:
    """The feed's row, already claimed by us: if we die now, a worker makes the first visit."""
    lease_end = to_micros(engine.clock.now() + _LEASE)
    async with engine.database.write() as tx:
        followed, fact = await _follow(tx, engine, url, wish, feed_id, who)
        if idempotency is not None:
            await remember_resource(tx, idempotency, followed.id)
        due = await calendar.claim_one(tx, followed.pk, engine.worker, lease_end)
        await log.append(tx, [fact], engine.clock.now())
    return due
