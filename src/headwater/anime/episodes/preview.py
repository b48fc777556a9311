"""Previews and other views of shows that change nothing: proposals, episodes, a calendar."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from headwater.anime.candidate import Offer
from headwater.anime.decide.decision import NewReleaseDecision
from headwater.anime.decide.filter import RULE_NAMES
from headwater.anime.decide.plan import Replacement
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
"""Entries that are looked at. When a feed keeps more, the answer is marked as cut."""

MOST_SEEN = 5_000
_CALENDAR_SEEN = 500
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Previewed:
    """One entry: the decision on it, and the releases that it would replace."""

    deciding: NewReleaseDecision
    replaces: tuple[Replacement, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """The decisions on all entries that the feed keeps. `removed` counts the entries that each rule
    of the filter takes out, also 0; `decided` counts the verdicts on the rest."""

    entries: tuple[Previewed, ...]
    removed: Mapping[str, int]
    decided: Mapping[str, int]
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class KeptOffers:
    """Entries of a feed as offers. `is_cut`: the feed keeps more."""

    feed: Feed
    offers: Sequence[Offer] = field(default=())
    is_cut: bool = False


async def list_kept_offers(
    database: Database, feed_id: str, preferences: Preferences, most: int = MOST_ENTRIES
) -> KeptOffers:
    """Read the entries that a feed keeps. Titles are read in another thread: there may be
    thousands."""
    async with database.read() as view:
        feed = await feed_rows.get_feed(view, feed_id)
    offers: list[Offer] = []
    after: bytes | None = None
    while len(offers) < most:
        async with database.read() as view:
            page = await list_entries_after(view, feed_id, after, min(_PAGE, most - len(offers)))
        offers += await asyncio.to_thread(readable_offers, page.rows, preferences, feed_id)
        after = page.after
        if after is None:
            return KeptOffers(feed, offers)
    return KeptOffers(feed, offers, is_cut=True)


async def proposal_of(database: Database, feed_id: str, title: str | None = None) -> Proposal:
    """The show that a feed is about. A person may name its `title`."""
    kept_offers = await list_kept_offers(database, feed_id, Preferences())
    return await asyncio.to_thread(
        propose_show, kept_offers.feed.publisher_title, kept_offers.offers, title
    )


async def earlier_releases(database: Database, tracking: Tracking, show: Show) -> int:
    """The number of kept releases of the show from before the tracking begins: backfilling takes
    them."""
    if tracking.since is None:
        return 0
    try:
        kept_offers = await list_kept_offers(database, tracking.feed_id, tracking.preferences)
    except NotFound:  # its feed is gone for good
        return 0
    since = tracking.since
    earlier = (
        offer.release
        for offer in kept_offers.offers
        if offer.candidate.can_be_fetched and offer.candidate.moment <= since
    )
    return sum(isinstance(match_release_to_show(release, show), SlotMatch) for release in earlier)


async def preview(
    services: ReleaseServices, tracking_id: int, patch: TrackingPatch, most: int = MOST_ENTRIES
) -> Preview:
    """A dry run of filter and plan, for the tracking as it is or would be after a change. It may be
    disabled."""
    async with services.database.read() as view:
        tracking = apply_tracking_patch(
            await tracking_rows.get_current_tracking(view, tracking_id), patch
        )
        show = await show_rows.get_show(view, tracking.show_id)
    kept_offers = await list_kept_offers(
        services.database, tracking.feed_id, tracking.preferences, most
    )
    async with services.database.read() as view:
        judgement = await judge_offers(
            view, show, tracking, kept_offers.offers, services.policy, view.now
        )
    entries = []
    for deciding in judgement.deciding:
        plan = judgement.plans.get(deciding.offer.candidate.key)
        entries.append(Previewed(deciding, () if plan is None else plan.replaces))
    removed = Counter(each.rule for each in judgement.deciding if each.action == "removed")
    verdicts = Counter(each.action for each in judgement.deciding if each.action != "removed")
    return Preview(
        tuple(entries),
        {rule: removed[rule] for rule in RULE_NAMES},
        dict(sorted(verdicts.items())),
        kept_offers.is_cut,
    )


async def get_show_with_episodes(
    database: Database, show_id: int
) -> tuple[TrackedShow, list[Episode]]:
    """A show with every known episode: here, coming or missing."""
    async with database.read() as view:
        show = await show_rows.get_show(view, show_id)
        rows = await show_rows.list_seen_rows(view, show_id, limit=MOST_SEEN)
        held = await download_rows.list_held_releases(view, show_id)
        titles = await show_rows.list_download_titles(view, show_id)
    seen = await asyncio.to_thread(seen_releases, rows, show.show)
    return show, episodes_of(show.show, held, seen, titles)


async def list_airings(
    database: Database, *, back: timedelta, ahead: timedelta, show_id: int | None = None
) -> list[Airing]:
    """Episodes of all shows that are collected, in order of time."""
    airings: list[Airing] = []
    now = database.clock.now()
    for show in await collected_shows(database, show_id):
        async with database.read() as view:
            rows = await show_rows.list_seen_rows(view, show.id, limit=_CALENDAR_SEEN)
        seen = await asyncio.to_thread(seen_releases, rows, show.show)
        airings += airings_of(show, seen, now, back=back, ahead=ahead)
    return sorted(airings, key=lambda airing: (airing.day, airing.title, airing.slot))


async def collected_shows(database: Database, show_id: int | None = None) -> list[TrackedShow]:
    """Shows with an enabled tracking; with `show_id` that one show, tracked or not."""
    async with database.read() as view:
        if show_id is not None:
            return [await show_rows.get_show(view, show_id)]
        return await show_rows.list_tracked_shows(view)
