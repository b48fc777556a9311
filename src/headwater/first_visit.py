"""Following a new feed: one request that is both the check and the first visit."""

from datetime import timedelta
from typing import Any

from uuid_utils import uuid7

from headwater.access.store import remember_resource
from headwater.engine import Engine
from headwater.errors import BlockedAddress, Conflict, DuplicateUrl, FetchFailed, NotAFeed, Refused
from headwater.fetch.address import check_url
from headwater.fetch.decode import decoded
from headwater.fetch.outcome import Failed, Fetched, Outcome
from headwater.fetch.steps import Ask
from headwater.logbook import tell
from headwater.merge.reading import Job, Read, Unreadable
from headwater.merge.steps import NOT_THE_DOCUMENTS_FAULT, read
from headwater.ports import Reader
from headwater.schedule import store as calendar
from headwater.schedule.due import Due
from headwater.schedule.store import Resident
from headwater.settle import Finished, Settled
from headwater.subscribe import store as feeds
from headwater.subscribe.discovery import candidates
from headwater.subscribe.feed import Wish
from headwater.values.ids import FeedId, key_of
from headwater.values.instant import to_micros
from headwater.values.response import Answer, Validators, header
from headwater.values.url import canonical, checked_source, host_of
from headwater.visit import Visits

_LEASE = timedelta(minutes=2)
_SHOWN_BYTES = 300


async def add_feed(
    url: str, wish: Wish, engine: Engine, *, idempotency: bytes | None = None
) -> FeedId:
    """Fetch, refuse what is no feed, and keep what came as the first visit."""
    source = checked_source(url)
    check_url(source, engine.fetch.address)
    former = await _former_resident(engine, source)
    visits = Visits(engine)
    outcome = await _ask_in_turn(engine, visits, source, wish)
    fetched = _fetched(outcome)
    feed_id = former.feed_id if former else FeedId(str(uuid7()))
    document = await _read(engine, fetched, feed_id, former)
    if isinstance(document, Unreadable) and document.code in NOT_THE_DOCUMENTS_FAULT:
        raise FetchFailed(
            f"The document came, but could not be read here: {document.detail}.",
            outcome=document.code,
            status=fetched.exchange.answer.status,
        )
    if isinstance(document, Unreadable):
        offers = not wish.all_overrides.disable_autodiscovery
        raise _no_feed(fetched, document, engine.reading.max_bytes, offers_links=offers)
    if fetched.exchange.hops:
        await _former_resident(engine, fetched.exchange.final_url)
    due = await _claimed_row(engine, source, wish, feed_id, idempotency)
    archived = await visits.keep(due.feed, fetched)
    now = engine.clock.now()
    finished = Finished(due, fetched, archived, document, conditional=False, finished_at=now)
    remembered = await visits.remember(finished)
    tell(due, remembered)
    if isinstance(remembered, Refused):
        raise remembered
    if not isinstance(remembered, Settled):
        raise Conflict("Somebody else changed this feed while it was being added.")
    return due.feed_id


async def follow_later(
    url: str, wish: Wish, engine: Engine, *, idempotency: bytes | None = None
) -> FeedId:
    """For lists (OPML): written down now, due at once, first visited by the worker."""
    source = checked_source(url)
    check_url(source, engine.fetch.address)
    now = engine.clock.now()
    async with engine.database.write() as tx:
        followed = await feeds.follow(
            tx,
            source,
            wish,
            feed_id=FeedId(str(uuid7())),
            interval_sec=engine.schedule.initial_interval,
            now=now,
            visit_at=now,
        )
        if idempotency is not None:
            await remember_resource(tx, idempotency, followed.id)
    engine.woken.set()
    return followed.id


async def _former_resident(engine: Engine, url: str) -> Resident | None:
    """A feed that was removed and comes back keeps its id; one that is followed is refused."""
    key = canonical(url)
    async with engine.database.read() as view:
        there = await calendar.feed_at(view, key_of(key)) if key else None
    if there is not None and there.state != "removed":
        raise DuplicateUrl("This URL is followed already.", feed_id=there.feed_id, url=url)
    return there


async def _ask_in_turn(engine: Engine, visits: Visits, url: str, wish: Wish) -> Outcome:
    """The host's turn is kept here too, also against workers in other processes."""
    host, clock = host_of(url), engine.clock
    async with engine.database.read() as view:
        await _remember_last_request(engine, view, host)
    await visits.take_turn(host)
    outcome: Outcome | None = None
    try:
        overrides = wish.all_overrides
        outcome = await visits.fetch(Ask(url, Validators(), overrides.verify_tls))
        return outcome
    finally:
        address = outcome.exchange.answer.address if outcome else None
        engine.turns.finish(host, clock.monotonic(), address)


async def _remember_last_request(engine: Engine, view: Reader, host: str) -> None:
    asked_at = await calendar.last_asked(view, host)
    if asked_at is None:
        return
    ago = (to_micros(engine.clock.now()) - asked_at) / 1_000_000
    engine.turns.seen(host, engine.clock.monotonic() - max(0.0, ago))


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


async def _read(engine: Engine, fetched: Fetched, feed_id: FeedId, former: Resident | None) -> Read:
    answer = fetched.exchange.answer
    job = Job(
        url=answer.url,
        content_encoding=header(answer.response_headers, "content-encoding"),
        content_type=header(answer.response_headers, "content-type"),
        feed_id=feed_id,
        identity=former.identity if former else None,
        known_document=None,
    )
    return await read(engine.parsers, job, answer.body, engine.reading)


def _no_feed(fetched: Fetched, why: Unreadable, max_bytes: int, *, offers_links: bool) -> NotAFeed:
    answer = fetched.exchange.answer
    plain = decoded(
        answer.body, header(answer.response_headers, "content-encoding"), max_bytes=max_bytes
    )
    page = plain.body
    links = [
        {"url": link.url, "title": link.title, "type": link.type}
        for link in (candidates(page, answer.url) if offers_links else ())
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
    engine: Engine, url: str, wish: Wish, feed_id: FeedId, idempotency: bytes | None
) -> Due:
    """The feed's row, already claimed by us: if we die now, a worker makes the first visit."""
    now = engine.clock.now()
    async with engine.database.write() as tx:
        followed = await feeds.follow(
            tx,
            url,
            wish,
            feed_id=feed_id,
            interval_sec=engine.schedule.initial_interval,
            now=now,
            visit_at=now,
        )
        if idempotency is not None:
            await remember_resource(tx, idempotency, followed.id)
        return await calendar.claim_one(tx, followed.pk, engine.worker, to_micros(now + _LEASE))
