"""What can be said of shows without changing anything: proposals, previews, gaps, a calendar."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from headwater.anime.candidate import Offer
from headwater.anime.decide.decision import NewReleaseDecision
from headwater.anime.decide.filter import RULE_NAMES
from headwater.anime.decide.plan import OfferDecision, Replacement
from headwater.anime.decide.record_decisions import judge_offers
from headwater.anime.downloads import download_rows
from headwater.anime.episodes.calendar import Airing, airings_of
from headwater.anime.episodes.episodes import Episode, episodes_of, seen_releases
from headwater.anime.services import ReleaseServices
from headwater.anime.shows import show_rows, tracking_rows
from headwater.anime.shows.preferences import Preferences
from headwater.anime.shows.propose import Proposal, propose_show
from headwater.anime.shows.show import Show, TrackedShow
from headwater.anime.shows.slot import SlotMatch, match_release_to_show
from headwater.anime.shows.tracking import Tracking, TrackingPatch, apply_tracking_patch
from headwater.anime.torrents.entry_rows import list_entries_after, readable_offers
from headwater.core.errors import NotFound
from headwater.core.ports import Database
from headwater.feeds import feed_rows
from headwater.feeds.feed import Feed

MOST_ENTRIES = 5_000
"""Of a feed that keeps more, so many are looked at; the answer says so."""

MOST_SEEN = 5_000
_CALENDAR_SEEN = 500
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Previewed:
    """One entry: what would be done with it, and what that would replace."""

    deciding: NewReleaseDecision
    replaces: tuple[Replacement, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """What would become of everything the feed keeps. `removed` counts what each rule of the filter
    takes out, also where that is nothing; `decided` counts the verdicts on the rest."""

    entries: tuple[Previewed, ...]
    removed: Mapping[str, int]
    decided: Mapping[str, int]
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class KeptOffers:
    """Entries of a feed as offers. `is_cut`: it keeps more."""

    feed: Feed
    offers: Sequence[Offer] = field(default=())
    is_cut: bool = False


async def kept_offers(
    database: Database, feed_id: str, preferences: Preferences, most: int = MOST_ENTRIES
) -> KeptOffers:
    """Titles are read in another thread: there may be thousands."""
    async with database.read() as view:
        feed = await feed_rows.get_feed(view, feed_id)
    found: list[Offer] = []
    after: bytes | None = None
    while len(found) < most:
        async with database.read() as view:
            words = await list_entries_after(view, feed_id, after, min(_PAGE, most - len(found)))
        found += await asyncio.to_thread(readable_offers, words.rows, preferences, feed_id)
        after = words.after
        if after is None:
            return KeptOffers(feed, found)
    return KeptOffers(feed, found, is_cut=True)


async def proposal_of(database: Database, feed_id: str, title: str | None = None) -> Proposal:
    """The show that a feed is about; `title` where a person named it."""
    kept = await kept_offers(database, feed_id, Preferences())
    return await asyncio.to_thread(propose_show, kept.feed.publisher_title, kept.offers, title)


async def earlier_releases(database: Database, tracking: Tracking, show: Show) -> int:
    """How many of the show that are kept came out before it begins: backfilling takes them."""
    if tracking.since is None:
        return 0
    try:
        kept = await kept_offers(database, tracking.feed_id, tracking.preferences)
    except NotFound:  # its feed is gone for good
        return 0
    since = tracking.since
    earlier = (
        each
        for each in kept.offers
        if each.candidate.can_be_fetched and each.candidate.moment <= since
    )
    return sum(isinstance(match_release_to_show(each.release, show), SlotMatch) for each in earlier)


async def preview(
    services: ReleaseServices, tracking_id: int, patch: TrackingPatch, most: int = MOST_ENTRIES
) -> Preview:
    """A dry run of filter and plan, as the tracking is or would be after a change. Disabled ones
    can be looked at too."""
    async with services.database.read() as view:
        there = apply_tracking_patch(
            await tracking_rows.get_current_tracking(view, tracking_id), patch
        )
        show = await show_rows.get_show(view, there.show_id)
    kept = await kept_offers(services.database, there.feed_id, there.preferences, most)
    async with services.database.read() as view:
        found = await judge_offers(view, show, there, kept.offers, services.policy, view.now)
    entries = tuple(_previewed(each, found.plans) for each in found.deciding)
    removed = Counter(each.rule for each in found.deciding if each.action == "removed")
    verdicts = Counter(each.action for each in found.deciding if each.action != "removed")
    return Preview(
        entries,
        {rule: removed[rule] for rule in RULE_NAMES},
        dict(sorted(verdicts.items())),
        kept.is_cut,
    )


async def get_show_with_episodes(
    database: Database, show_id: int
) -> tuple[TrackedShow, list[Episode]]:
    """Every episode that is known of: here, on its way or missing."""
    async with database.read() as view:
        show = await show_rows.get_show(view, show_id)
        rows = await show_rows.list_seen_rows(view, show_id, limit=MOST_SEEN)
        standing = await download_rows.list_held_releases(view, show_id)
        titles = await show_rows.list_download_titles(view, show_id)
    seen = await asyncio.to_thread(seen_releases, rows, show.show)
    return show, episodes_of(show.show, standing, seen, titles)


async def list_airings(
    database: Database, *, back: timedelta, ahead: timedelta, show_id: int | None = None
) -> list[Airing]:
    """Episodes of all shows that are collected, in order of time."""
    found: list[Airing] = []
    now = database.clock.now()
    for each in await collected_shows(database, show_id):
        async with database.read() as view:
            rows = await show_rows.list_seen_rows(view, each.id, limit=_CALENDAR_SEEN)
        seen = await asyncio.to_thread(seen_releases, rows, each.show)
        found += airings_of(each, seen, now, back=back, ahead=ahead)
    return sorted(found, key=lambda airing: (airing.day, airing.title, airing.slot))


async def collected_shows(database: Database, show_id: int | None = None) -> list[TrackedShow]:
    """Those with a tracking that is enabled; of one show itself, tracked or not."""
    async with database.read() as view:
        if show_id is not None:
            return [await show_rows.get_show(view, show_id)]
        return await show_rows.list_tracked_shows(view)


def _previewed(deciding: NewReleaseDecision, plans: Mapping[str, OfferDecision]) -> Previewed:
    plan = plans.get(deciding.offer.candidate.key)
    return Previewed(deciding, () if plan is None else plan.replaces)
