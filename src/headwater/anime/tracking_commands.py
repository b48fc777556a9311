"""What people ask of shows and trackings: make, change and remove them. Nothing is decided here."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headwater.anime.decide.release_sink import ensure_release_sink
from headwater.anime.episodes.preview import KeptOffers, kept_offers
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
    """A feed that releases are collected from rests no longer than `interval_sec`, but for what its
    publisher or its errors ask for. `gap`: the shortest time between visits a person may ask."""

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
    """The feed is followed first, if it is not yet; then it is visited at once. What is not said of
    the show is taken from the feed: BadInput when it is of several. Conflict when the show is
    collected from this feed already; one that was removed comes back with all it knew."""
    apply_tracking_patch(_NOTHING, new.wish)
    feed_id = await _get_or_add_feed(services.registry, new, who)
    kept = await kept_offers(services.database, feed_id, Preferences())
    if kept.feed.state != "active":
        raise ConflictError(
            f"This feed is {kept.feed.state}: nothing would be collected from it.",
            feed_id=feed_id,
            state=kept.feed.state,
        )
    proposal = await _proposal(services.database, new, kept)
    async with services.database.write() as tx:
        show = await _show(tx, new, proposal, kept)
        await _check_not_tracked_twice(tx, show, feed_id)
        made = await _insert_tracking(tx, new, show, kept)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(made.id))
        await _apply_tracking(tx, services, made, policy)
    logger.info("tracking_made", tracking=made.id, show=made.show_id, feed=feed_id, by=who)
    return made


async def change_tracking(
    services: ReleaseServices, tracking_id: int, patch: TrackingPatch, policy: TrackPolicy
) -> Tracking:
    """Its feed is visited at once. What was decided stays, unless somebody asks to decide again."""
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
    """As it was before. Soft: it collects nothing more, and what it decided and downloaded stays
    known. Hard: its records go for good. Files and torrents stay in either case."""
    now = services.clock.now()
    async with services.database.write() as tx:
        if hard:
            there = await tracking_rows.get_tracking(tx, tracking_id, lock=True)
            await tracking_rows.delete_tracking(tx, tracking_id)
        else:
            there = await tracking_rows.get_current_tracking(tx, tracking_id, lock=True)
            await tracking_rows.update_tracking(
                tx, replace(there, enabled=False, removed_at=now), now
            )
        await _keep_pace(tx, services.registry.feeds.schedule, there.feed_id, policy)
    logger.info("tracking_removed", tracking=there.id, hard=hard)
    return there


async def create_show(
    database: Database, wish: ShowPatch, *, idempotency: bytes | None = None
) -> TrackedShow:
    """Conflict when there is one of the same title, season and year."""
    if wish.title is KEEP:
        raise BadInput("A show needs a title.", field="title")
    show, weekday = apply_show_patch(Show(wish.title), wish), apply_weekday_patch(None, wish)
    async with database.write() as tx:
        made = await show_rows.insert_show(tx, show, weekday, tx.now)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(made.id))
    logger.info("show_made", show=made.id)
    return made


async def change_show(database: Database, show_id: int, wish: ShowPatch) -> TrackedShow:
    """Files that are in the library already keep their names."""
    async with database.write() as tx:
        there = await show_rows.get_show(tx, show_id, lock=True)
        show, weekday = (
            apply_show_patch(there.show, wish),
            apply_weekday_patch(there.air_weekday, wish),
        )
        if (show, weekday) == (there.show, there.air_weekday):
            return there
        changed = await show_rows.update_show(tx, show_id, show, weekday, tx.now)
    logger.info("show_changed", show=show_id)
    return changed


async def remove_show(database: Database, show_id: int) -> TrackedShow:
    """With all that is known of it. Conflict while it is tracked. Files stay where they are."""
    async with database.write() as tx:
        there = await show_rows.get_show(tx, show_id, lock=True)
        if await tracking_rows.list_trackings(tx, show_id=show_id, limit=1):
            raise ConflictError(
                "This show is tracked: remove its trackings first.", show_id=show_id
            )
        await show_rows.delete_show(tx, show_id)
    logger.info("show_removed", show=show_id)
    return there


async def apply_track_policy(services: ReleaseServices, policy: TrackPolicy) -> None:
    """At every start: the settings may say something else now, and feeds come and go."""
    async with services.database.read() as view:
        tracked = await tracking_rows.list_tracked_feeds(view)
    for feed_id in tracked:
        async with services.database.write() as tx:
            await _keep_pace(tx, services.registry.feeds.schedule, feed_id, policy)


async def _get_or_add_feed(services: RegistryServices, new: NewTracking, who: str) -> str:
    """Its first visit is made here when nobody follows it yet."""
    if (new.url is None) == (new.feed_id is None):
        raise BadInput("Name the feed, either by its id or by its URL.", field="feed_id")
    if new.feed_id is not None:
        return new.feed_id
    assert new.url is not None
    try:
        return await add_feed(feed_url_of_page(new.url), FeedOptions(), services, who=who)
    except DuplicateUrl as there:
        return str(there.facts["feed_id"])


async def _proposal(database: Database, new: NewTracking, kept: KeptOffers) -> Proposal | None:
    """None where the show is one that is there."""
    if new.show_id is not None:
        if new.show.said():
            raise BadInput("Name a show by its id, or say what it is; not both.", field="show_id")
        async with database.read() as view:
            await _check_not_catch_all((await show_rows.get_show(view, new.show_id)), kept)
        return None
    title = None if new.show.title is KEEP else new.show.title
    found = await asyncio.to_thread(propose_show, kept.feed.publisher_title, kept.offers, title)
    if found.show is None:
        raise BadInput(
            "The feed does not say which show it is of: give its title.",
            field="title",
            titles=list(found.titles),
        )
    return found


async def _check_not_catch_all(there: TrackedShow, kept: KeptOffers) -> None:
    """A show without names is whatever its feed holds. Of a feed of several shows that would be
    all of them."""
    if there.show.titles:
        return
    found = await asyncio.to_thread(propose_show, kept.feed.publisher_title, kept.offers)
    if found.show is None and len(found.titles) > 1:
        raise ConflictError(
            f"This feed is of several shows, and nothing is said of what releases of"
            f" {there.show.title} are called: all of them would be it. Give the show its names"
            " first, those of its other feeds too.",
            show_id=there.id,
            titles=list(found.titles),
        )


async def _show(
    tx: Transaction, new: NewTracking, proposal: Proposal | None, kept: KeptOffers
) -> TrackedShow:
    """The one that is named, or one of the same title, season and year, or a new one."""
    if proposal is None or proposal.show is None:
        assert new.show_id is not None
        return await show_rows.get_show(tx, new.show_id, lock=True)
    wanted, weekday = apply_show_patch(proposal.show, new.show), apply_weekday_patch(None, new.show)
    there = await show_rows.find_same_show(tx, wanted)
    if there is None:
        return await show_rows.insert_show(tx, wanted, weekday, tx.now)
    await _check_not_catch_all(there, kept)
    return await _add_titles(tx, there, wanted.titles)


async def _check_not_tracked_twice(tx: Transaction, wanted: TrackedShow, feed_id: str) -> None:
    """Of one feed, two shows that are called the same would take the same releases."""
    for other in await tracking_rows.list_trackings(tx, feed_id=feed_id):
        there = await show_rows.get_show(tx, other.show_id)
        if there.id != wanted.id and may_share_releases(there.show, wanted.show):
            raise ConflictError(
                f"This feed is collected already, as {there.show.title}: every release would be"
                " downloaded twice.",
                tracking_id=other.id,
                show_id=there.id,
            )


async def _add_titles(tx: Transaction, there: TrackedShow, names: Sequence[str]) -> TrackedShow:
    """Another feed may call it otherwise. One that is called anything stays so."""
    known = {comparable_title(name) for name in there.show.titles}
    more = [name for name in names if comparable_title(name) not in known]
    titles = (*there.show.titles, *more)[:MOST_TITLES]
    if not known or titles == there.show.titles:
        return there
    show = replace(there.show, titles=titles)
    now = tx.now
    return await show_rows.update_show(tx, there.id, show, there.air_weekday, now)


async def _insert_tracking(
    tx: Transaction, new: NewTracking, show: TrackedShow, kept: KeptOffers
) -> Tracking:
    now = tx.now
    wanted = apply_tracking_patch(
        replace(_NOTHING, show_id=show.id, feed_id=kept.feed.id), new.wish
    )
    if new.wish.since is KEEP and not new.back_catalogue:
        wanted = replace(wanted, since=_begins(kept, now))
    former = await tracking_rows.find_same_tracking(tx, show.id, kept.feed.id)
    if former is not None and former.removed_at is not None:
        back = replace(wanted, id=former.id, created_at=former.created_at)
        return await tracking_rows.update_tracking(tx, back, now)
    return await tracking_rows.insert_tracking(tx, wanted, now)


def _begins(kept: KeptOffers, now: datetime) -> datetime:
    """After the newest release that is known: what came out since, and is not listed yet, counts.
    Of a feed that has none, after now."""
    return max((each.candidate.moment for each in kept.offers), default=now)


async def _apply_tracking(
    tx: Transaction, services: ReleaseServices, tracking: Tracking, policy: TrackPolicy
) -> None:
    """Its feed is visited more often, and now; and somebody decides on what comes."""
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
    except NotFound:  # it is gone for good
        return
    is_tracked = bool(await tracking_rows.list_trackings_of_feeds(tx, [feed_id]))
    wanted = policy.interval_sec if is_tracked else None
    if feed.state == "removed" or feed.overrides.ceiling_sec == wanted:
        return
    patch = FeedPatch(overrides={"ceiling_sec": wanted})
    await change_feed_within(tx, feed_id, patch, schedule, policy.gap)


async def _make_due(tx: Transaction, feed_id: str, policy: TrackPolicy) -> None:
    """Unless that would be impolite: it was asked a moment ago, or asked for a rest."""
    now = tx.now
    try:
        feed = await feed_rows.get_feed(tx, feed_id)
    except NotFound:
        return
    if feed.state == "active" and earliest_visit(feed, policy.gap, now) <= now:
        await feed_rows.set_due_now(tx, feed, whole=False, now=now)


_NOTHING = Tracking(0, 0, "")
