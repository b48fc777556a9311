"""Commands for shows and trackings: create, change and remove them. Nothing is decided here."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from headwater.anime.decide.release_sink import ensure_release_sink
from headwater.anime.episodes.preview import KeptOffers, list_kept_offers
from headwater.anime.services import ReleaseServices
from headwater.anime.shows import show_rows, tracking_rows
from headwater.anime.shows.preferences import Preferences
from headwater.anime.shows.propose import Proposal, propose_show
from headwater.anime.shows.show import (
    MOST_TITLES,
    Show,
    ShowPatch,
    TrackedShow,
    apply_show_patch,
    apply_weekday_patch,
)
from headwater.anime.shows.slot import comparable_title, may_share_releases
from headwater.anime.shows.tracking import (
    NewTracking,
    Tracking,
    TrackingPatch,
    apply_tracking_patch,
)
from headwater.anime.torrents.torrent_sites import feed_url_of_page
from headwater.core.errors import BadInput, ConflictError, DuplicateUrl, NotFound
from headwater.core.idempotency_rows import set_key_resource
from headwater.core.ports import Database, Transaction
from headwater.core.telemetry.log import get_logger
from headwater.core.values.keep import KEEP
from headwater.feeds import feed_rows
from headwater.feeds.change_feed import change_feed_within
from headwater.feeds.feed import FeedOptions, FeedPatch
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.schedule.replan import earliest_visit
from headwater.subscriptions.add_feed import add_feed
from headwater.subscriptions.services import RegistryServices
from headwater.subscriptions.subscription import SYSTEM_ACTOR

logger = get_logger("releases")


@dataclass(frozen=True, slots=True)
class TrackPolicy:
    """`interval_sec`: the longest time between visits of a feed with a tracking, unless its
    publisher or its errors ask for a longer one. `gap`: the shortest time that a person may ask
    for."""

    interval_sec: float = 1_800.0
    gap: timedelta = timedelta(seconds=60)


async def create_tracking(
    services: ReleaseServices,
    new: NewTracking,
    policy: TrackPolicy,
    *,
    who: str = SYSTEM_ACTOR,
    idempotency: bytes | None = None,
) -> Tracking:
    """Follow the feed if nobody does, and visit it at once.

    Fields of the show that are not set come from the feed: BadInput when it has several shows.
    Conflict when the show is collected from this feed already. A tracking that was removed comes
    back with its decisions and downloads.
    """
    apply_tracking_patch(_NOTHING, new.patch)
    feed_id = await _get_or_add_feed(services.registry, new, who)
    kept_offers = await list_kept_offers(services.database, feed_id, Preferences())
    if kept_offers.feed.state != "active":
        raise ConflictError(
            f"This feed is {kept_offers.feed.state}: nothing would be collected from it.",
            feed_id=feed_id,
            state=kept_offers.feed.state,
        )
    proposal = await _proposal(services.database, new, kept_offers)
    async with services.database.write() as tx:
        show = await _show(tx, new, proposal, kept_offers)
        await _check_not_tracked_twice(tx, show, feed_id)
        made = await _insert_tracking(tx, new, show, kept_offers)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(made.id))
        await _apply_tracking(tx, services, made, policy)
    logger.info("tracking_made", tracking=made.id, show=made.show_id, feed=feed_id, by=who)
    return made


async def change_tracking(
    services: ReleaseServices, tracking_id: int, patch: TrackingPatch, policy: TrackPolicy
) -> Tracking:
    """The feed is visited at once. Decisions stay, unless somebody asks to decide again."""
    async with services.database.write() as tx:
        before = await tracking_rows.get_current_tracking(tx, tracking_id, lock=True)
        after = apply_tracking_patch(before, patch)
        if after == before:
            return before
        changed = await tracking_rows.update_tracking(tx, after, tx.now)
        await _apply_tracking(tx, services, changed, policy)
    logger.info("tracking_changed", tracking=changed.id, enabled=changed.enabled)
    return changed


async def remove_tracking(
    services: ReleaseServices, tracking_id: int, policy: TrackPolicy, *, hard: bool = False
) -> Tracking:
    """Returns the tracking as it was. Soft: it collects nothing more, and its decisions and
    downloads stay known. Hard: its records go for good. Files and torrents stay in either case."""
    now = services.clock.now()
    async with services.database.write() as tx:
        if hard:
            tracking = await tracking_rows.get_tracking(tx, tracking_id, lock=True)
            await tracking_rows.delete_tracking(tx, tracking_id)
        else:
            tracking = await tracking_rows.get_current_tracking(tx, tracking_id, lock=True)
            await tracking_rows.update_tracking(
                tx, replace(tracking, enabled=False, removed_at=now), now
            )
        await _keep_pace(tx, services.registry.feeds.schedule, tracking.feed_id, policy)
    logger.info("tracking_removed", tracking=tracking.id, hard=hard)
    return tracking


async def create_show(
    database: Database, patch: ShowPatch, *, idempotency: bytes | None = None
) -> TrackedShow:
    """Conflict when there is one of the same title, season and year."""
    if patch.title is KEEP:
        raise BadInput("A show needs a title.", field="title")
    show, weekday = apply_show_patch(Show(patch.title), patch), apply_weekday_patch(None, patch)
    async with database.write() as tx:
        made = await show_rows.insert_show(tx, show, weekday, tx.now)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(made.id))
    logger.info("show_made", show=made.id)
    return made


async def change_show(database: Database, show_id: int, patch: ShowPatch) -> TrackedShow:
    """Files that are in the library keep their names."""
    async with database.write() as tx:
        existing = await show_rows.get_show(tx, show_id, lock=True)
        show, weekday = (
            apply_show_patch(existing.show, patch),
            apply_weekday_patch(existing.air_weekday, patch),
        )
        if (show, weekday) == (existing.show, existing.air_weekday):
            return existing
        changed = await show_rows.update_show(tx, show_id, show, weekday, tx.now)
    logger.info("show_changed", show=show_id)
    return changed


async def remove_show(database: Database, show_id: int) -> TrackedShow:
    """Remove the show with all its records. Conflict while it is tracked. Files stay."""
    async with database.write() as tx:
        existing = await show_rows.get_show(tx, show_id, lock=True)
        if await tracking_rows.list_trackings(tx, show_id=show_id, limit=1):
            raise ConflictError(
                "This show is tracked: remove its trackings first.", show_id=show_id
            )
        await show_rows.delete_show(tx, show_id)
    logger.info("show_removed", show=show_id)
    return existing


async def apply_track_policy(services: ReleaseServices, policy: TrackPolicy) -> None:
    """Runs at every start: the settings may have changed, and feeds come and go."""
    async with services.database.read() as view:
        tracked = await tracking_rows.list_tracked_feeds(view)
    for feed_id in tracked:
        async with services.database.write() as tx:
            await _keep_pace(tx, services.registry.feeds.schedule, feed_id, policy)


async def _get_or_add_feed(services: RegistryServices, new: NewTracking, who: str) -> str:
    """The feed's first visit is made here when nobody follows it yet."""
    if (new.url is None) == (new.feed_id is None):
        raise BadInput("Name the feed, either by its id or by its URL.", field="feed_id")
    if new.feed_id is not None:
        return new.feed_id
    assert new.url is not None
    try:
        return await add_feed(feed_url_of_page(new.url), FeedOptions(), services, who=who)
    except DuplicateUrl as duplicate:
        return str(duplicate.facts["feed_id"])


async def _proposal(
    database: Database, new: NewTracking, kept_offers: KeptOffers
) -> Proposal | None:
    """None when the tracking is for a show that exists."""
    if new.show_id is not None:
        if new.show.changes():
            raise BadInput("Name a show by its id or by its fields, not both.", field="show_id")
        async with database.read() as view:
            await _check_not_catch_all((await show_rows.get_show(view, new.show_id)), kept_offers)
        return None
    title = None if new.show.title is KEEP else new.show.title
    proposal = await asyncio.to_thread(
        propose_show, kept_offers.feed.publisher_title, kept_offers.offers, title
    )
    if proposal.show is None:
        raise BadInput(
            "The feed does not say which show it is of: give its title.",
            field="title",
            titles=list(proposal.titles),
        )
    return proposal


async def _check_not_catch_all(tracked: TrackedShow, kept_offers: KeptOffers) -> None:
    """A show without names takes every release of its feed. In a feed of several shows it would
    take the releases of all of them."""
    if tracked.show.titles:
        return
    proposal = await asyncio.to_thread(
        propose_show, kept_offers.feed.publisher_title, kept_offers.offers
    )
    if proposal.show is None and len(proposal.titles) > 1:
        raise ConflictError(
            f"This feed is of several shows, and {tracked.show.title} has no names: it would take"
            " every release of the feed. Give the show its names first, those in its other feeds"
            " too.",
            show_id=tracked.id,
            titles=list(proposal.titles),
        )


async def _show(
    tx: Transaction, new: NewTracking, proposal: Proposal | None, kept_offers: KeptOffers
) -> TrackedShow:
    """The show with the given id, or one of the same title, season and year, or a new one."""
    if proposal is None or proposal.show is None:
        assert new.show_id is not None
        return await show_rows.get_show(tx, new.show_id, lock=True)
    show, weekday = apply_show_patch(proposal.show, new.show), apply_weekday_patch(None, new.show)
    existing = await show_rows.find_same_show(tx, show)
    if existing is None:
        return await show_rows.insert_show(tx, show, weekday, tx.now)
    await _check_not_catch_all(existing, kept_offers)
    return await _add_titles(tx, existing, show.titles)


async def _check_not_tracked_twice(tx: Transaction, show: TrackedShow, feed_id: str) -> None:
    """Two shows with the same names would take the same releases of one feed."""
    for other in await tracking_rows.list_trackings(tx, feed_id=feed_id):
        existing = await show_rows.get_show(tx, other.show_id)
        if existing.id != show.id and may_share_releases(existing.show, show.show):
            raise ConflictError(
                f"This feed is collected already, as {existing.show.title}: every release would be"
                " downloaded twice.",
                tracking_id=other.id,
                show_id=existing.id,
            )


async def _add_titles(tx: Transaction, existing: TrackedShow, names: Sequence[str]) -> TrackedShow:
    """Another feed may use other names. A show without names, which takes every release, stays
    without."""
    known_names = {comparable_title(name) for name in existing.show.titles}
    more = [name for name in names if comparable_title(name) not in known_names]
    titles = (*existing.show.titles, *more)[:MOST_TITLES]
    if not known_names or titles == existing.show.titles:
        return existing
    show = replace(existing.show, titles=titles)
    now = tx.now
    return await show_rows.update_show(tx, existing.id, show, existing.air_weekday, now)


async def _insert_tracking(
    tx: Transaction, new: NewTracking, show: TrackedShow, kept_offers: KeptOffers
) -> Tracking:
    now = tx.now
    tracking = apply_tracking_patch(
        replace(_NOTHING, show_id=show.id, feed_id=kept_offers.feed.id), new.patch
    )
    if new.patch.since is KEEP and not new.back_catalogue:
        # After the newest release we know: releases that came out since, and are not listed yet,
        # count. In a feed without releases, after now.
        moments = (offer.candidate.moment for offer in kept_offers.offers)
        tracking = replace(tracking, since=max(moments, default=now))
    former = await tracking_rows.find_same_tracking(tx, show.id, kept_offers.feed.id)
    if former is not None and former.removed_at is not None:
        back = replace(tracking, id=former.id, created_at=former.created_at)
        return await tracking_rows.update_tracking(tx, back, now)
    return await tracking_rows.insert_tracking(tx, tracking, now)


async def _apply_tracking(
    tx: Transaction, services: ReleaseServices, tracking: Tracking, policy: TrackPolicy
) -> None:
    """Visit the feed more often, and now; and make sure that somebody decides on its releases."""
    if tracking.enabled:
        await ensure_release_sink(tx, services)
    await _keep_pace(tx, services.registry.feeds.schedule, tracking.feed_id, policy)
    if tracking.enabled:
        await _make_due(tx, tracking.feed_id, policy)


async def _keep_pace(
    tx: Transaction, schedule: SchedulePolicy, feed_id: str, policy: TrackPolicy
) -> None:
    try:
        feed = await feed_rows.get_feed(tx, feed_id, lock=True)
    except NotFound:  # the feed is gone for good
        return
    is_tracked = bool(await tracking_rows.list_trackings_of_feeds(tx, [feed_id]))
    ceiling_sec = policy.interval_sec if is_tracked else None
    if feed.state == "removed" or feed.overrides.ceiling_sec == ceiling_sec:
        return
    patch = FeedPatch(overrides={"ceiling_sec": ceiling_sec})
    await change_feed_within(tx, feed_id, patch, schedule, policy.gap)


async def _make_due(tx: Transaction, feed_id: str, policy: TrackPolicy) -> None:
    """Unless that would be impolite: the feed was visited a moment ago, or asked for a rest."""
    now = tx.now
    try:
        feed = await feed_rows.get_feed(tx, feed_id)
    except NotFound:
        return
    if feed.state == "active" and earliest_visit(feed, policy.gap, now) <= now:
        await feed_rows.set_due_now(tx, feed, whole=False, now=now)


_NOTHING = Tracking(0, 0, "")
