"""Add a feed and follow it: one request is both the check and its first visit."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from uuid_utils import uuid7

from headwater.core.errors import (
    ConflictError,
    DatabaseRefused,
    FetchFailed,
    NoCapableFetcher,
)
from headwater.core.idempotency_rows import set_key_resource
from headwater.core.ports import Database, Transaction
from headwater.core.telemetry.trace import span
from headwater.core.values.ids import FeedId, FeedPk
from headwater.core.values.instant import to_micros
from headwater.core.values.response import Validators
from headwater.core.values.url import check_source_url, origin_of, redacted
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.feeds import feed_rows
from headwater.feeds.feed import FeedOptions
from headwater.feeds.fetch.outcome import Fetched
from headwater.feeds.fetch.request_feed import FetchRequest
from headwater.feeds.first_fetch import (
    check_fetched,
    not_a_feed_error,
    request_first_document,
)
from headwater.feeds.judge_visit import FinishedVisit, JudgedVisit
from headwater.feeds.keyring import Keyring, bind_to_origin
from headwater.feeds.raw.archive import ArchivedBody
from headwater.feeds.read_document import NOT_THE_DOCUMENTS_FAULT, UnreadableDocument
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.services import FeedServices
from headwater.feeds.visit import archive_body, commit_visit, is_still_claimed, parse_answer
from headwater.feeds.visit_report import report_visit
from headwater.feeds.visit_trace import describe_schedule, start_first_visit_trace
from headwater.feeds.worker import claim_rows
from headwater.subscriptions.fetchers.builtin import best_builtin
from headwater.subscriptions.fetchers.fetcher_rows import list_fetchers
from headwater.subscriptions.insert_subscription import (
    find_former_subscription,
    insert_subscription_with_feed,
)
from headwater.subscriptions.services import RegistryServices
from headwater.subscriptions.subscription import (
    SYSTEM_ACTOR,
    USUAL_SOURCE_TYPE,
    NewSubscription,
    Subscription,
)
from headwater.web.address_gate import check_url

_LEASE = timedelta(minutes=2)


async def add_feed(
    url: str,
    options: FeedOptions,
    services: RegistryServices,
    *,
    idempotency: bytes | None = None,
    who: str = SYSTEM_ACTOR,
) -> FeedId:
    """Fetch the URL, refuse what is no feed, and commit the answer as the first visit.

    When several add the same URL at once, one makes the request; the others then find a feed that
    is followed already.
    """
    source = check_source_url(url)
    check_url(source, services.feeds.fetcher.policy.address)
    async with services.adding.at(feed_rows.url_key(source)):
        former = await _find_former_feed(services.database, source)
        with start_first_visit_trace(services.feeds.tracer, source):
            return await _first_visit(services, source, options, former, idempotency, who)


@dataclass(frozen=True, slots=True)
class _FormerFeed:
    """A feed that was removed. When it comes back, it keeps its id."""

    feed_pk: FeedPk
    feed_id: FeedId
    identity: dict[str, Any] | None


async def _first_visit(
    services: RegistryServices,
    source: str,
    options: FeedOptions,
    former: _FormerFeed | None,
    idempotency: bytes | None,
    who: str,
) -> FeedId:
    feeds = services.feeds
    keyring = await _open_keyring(feeds, source, options, former)
    request = FetchRequest(source, Validators(), options.overrides.verify_tls, keyring)
    fetched = check_fetched(await request_first_document(request, feeds))
    feed_id = former.feed_id if former else FeedId(str(uuid7()))
    identity = former.identity if former else None
    document = await parse_answer(fetched.exchange.answer, feed_id, identity, feeds)
    if isinstance(document, UnreadableDocument) and document.code in NOT_THE_DOCUMENTS_FAULT:
        raise FetchFailed(
            f"The document came, but could not be read here: {document.detail}.",
            outcome=document.code,
            status=fetched.exchange.answer.status,
        )
    if isinstance(document, UnreadableDocument):
        offers = not options.overrides.disable_autodiscovery
        # In a thread: undoing a hostile content coding may take a second.
        max_bytes = feeds.reading.max_bytes
        raise await asyncio.to_thread(
            not_a_feed_error, fetched, document, max_bytes, offers_links=offers
        )
    if fetched.exchange.hops:
        await _find_former_feed(services.database, fetched.exchange.final_url)
    with span("schedule") as scheduled:
        due = await _insert_claimed(services, source, options, feed_id, idempotency, who)
        scheduled.tell(describe_schedule, due, feeds.worker)
    archived = await _archive_body(due, fetched, feeds)
    now = services.clock.now()
    finished = FinishedVisit(due, fetched, archived, document, conditional=False, finished_at=now)
    result = await commit_visit(finished, feeds)
    report_visit(due, result)
    if isinstance(result, DatabaseRefused):
        raise result
    if not isinstance(result, JudgedVisit):
        raise _changed_meanwhile()
    return due.feed_id


async def _archive_body(
    due: DueFeed, fetched: Fetched, services: FeedServices
) -> ArchivedBody | None:
    try:
        return await archive_body(due.feed, fetched, services)
    except DatabaseRefused as trouble:
        if await is_still_claimed(due, services):
            raise
        raise _changed_meanwhile() from trouble  # the feed was deleted for good


def _changed_meanwhile() -> ConflictError:
    return ConflictError("Somebody else changed this feed while it was being added.")


async def add_feed_later(
    url: str,
    options: FeedOptions,
    services: RegistryServices,
    *,
    idempotency: bytes | None = None,
    who: str = SYSTEM_ACTOR,
) -> FeedId:
    """For lists (OPML): insert the feed now, due at once. A worker makes its first visit."""
    source = check_source_url(url)
    check_url(source, services.feeds.fetcher.policy.address)
    async with services.database.write() as tx:
        subscription, created = await _insert_for_builtin(
            tx, services, source, options, idempotency, who
        )
        await event_rows.append_events(tx, [created], tx.now)
    return subscription.feed_id


async def _insert_for_builtin(
    tx: Transaction,
    services: RegistryServices,
    url: str,
    options: FeedOptions,
    idempotency: bytes | None,
    who: str,
    *,
    feed_id: FeedId | None = None,
) -> tuple[Subscription, Event]:
    """Insert the feed for the best built-in fetcher; registered fetchers are not asked.

    A request to add a feed has no values for its subscription: one that comes back stays as it
    was, and keeps its fetcher while that fetcher is enabled.
    """
    fetchers = await list_fetchers(tx, enabled_only=True)
    fetcher = best_builtin(services.builtins, fetchers, url, USUAL_SOURCE_TYPE)
    if fetcher is None:
        raise NoCapableFetcher(
            "No built-in fetcher that can visit this URL is enabled.", url=redacted(url)
        )
    subscription, created = await insert_subscription_with_feed(
        tx,
        services,
        NewSubscription(url),
        options,
        fetcher,
        who=who,
        why="the best built-in fetcher for this URL",
        now=tx.now,
        keep_former=True,
        feed_id=feed_id,
    )
    if idempotency is not None:
        await set_key_resource(tx, idempotency, subscription.feed_id)
    return subscription, created


async def _find_former_feed(database: Database, url: str) -> _FormerFeed | None:
    """The removed feed of this URL; DuplicateUrl when there is one that is followed."""
    async with database.read() as view:
        former = await find_former_subscription(view, url)
        if former is None:
            return None
        identity = await feed_rows.find_feed_identity(view, former.feed_pk)
    return _FormerFeed(former.feed_pk, former.feed_id, identity)


async def _open_keyring(
    services: FeedServices, url: str, options: FeedOptions, former: _FormerFeed | None
) -> Keyring | None:
    """The credentials of this request; without any, those that a former feed had."""
    if options.credentials is not None:
        return Keyring(origin_of(url), (bind_to_origin(url, options.credentials),))
    return None if former is None else await services.keyrings.open(former.feed_pk, url)


async def _insert_claimed(
    services: RegistryServices,
    url: str,
    options: FeedOptions,
    feed_id: FeedId,
    idempotency: bytes | None,
    who: str,
) -> DueFeed:
    """Insert the feed, claimed by us: if we die now, a worker makes the first visit."""
    async with services.database.write() as tx:
        subscription, created = await _insert_for_builtin(
            tx, services, url, options, idempotency, who, feed_id=feed_id
        )
        lease_end = to_micros(tx.now + _LEASE)
        due = await claim_rows.claim_feed(
            tx, subscription.feed_pk, services.feeds.worker, lease_end
        )
        await event_rows.append_events(tx, [created], tx.now)
    return due
