"""Entries of tracked feeds decided: kept or not and why, and for what is wanted an intent."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from headwater.anime.candidate import Offer
from headwater.anime.decide import decision_rows
from headwater.anime.decide.decision import NewReleaseDecision, ReleaseDecision
from headwater.anime.decide.decision_rows import ChangedDecision
from headwater.anime.decide.edited_entries import candidate_keys, sort_changed_entries
from headwater.anime.decide.filter import FilterRules, Novelty, compile_pattern_lists, filter_offers
from headwater.anime.decide.plan import HeldRelease, OfferDecision, Replacement, decide_release_plan
from headwater.anime.decide.policy import ReleasePolicy as ReleasePolicy
from headwater.anime.downloads import download_rows
from headwater.anime.downloads.download import LostSlots
from headwater.anime.metrics import count_decided_releases
from headwater.anime.release_events import release_found, release_held
from headwater.anime.shows import show_rows, tracking_rows
from headwater.anime.shows.show import TrackedShow
from headwater.anime.shows.tracking import Tracking
from headwater.anime.torrents.entry_rows import list_entries_by_uid, read_offers
from headwater.core.errors import NotFound
from headwater.core.ports import Clock, Database, Transaction, View
from headwater.core.telemetry.log import get_logger
from headwater.events import event_rows
from headwater.events.event import Event

_DAY = timedelta(days=1)
_AT_ONCE = 500
"""Rows in one transaction: visits write to the same database."""
_QUICK = 50
"""So many offers are judged where we are; more of them in a thread."""

logger = get_logger("releases")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What would become of some offers: what the filter removed and what the plan says of the
    rest, in the order they were given."""

    deciding: tuple[NewReleaseDecision, ...]
    plans: Mapping[str, OfferDecision]

    def wanted(self, key: str) -> OfferDecision | None:
        found = self.plans.get(key)
        return found if found is not None and found.verdict.is_wanted else None


@dataclass(frozen=True, slots=True)
class DecisionSummary:
    """What was decided anew: how many by action, and the rows of what is wanted or held."""

    counts: Mapping[str, int] = field(default_factory=dict)
    rows: tuple[ReleaseDecision, ...] = ()

    def __add__(self, other: "DecisionSummary") -> "DecisionSummary":
        return DecisionSummary(Counter(self.counts) + Counter(other.counts), self.rows + other.rows)

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class DecidedEntries:
    """`new` decisions, and entries that nobody can read: their rows are damaged."""

    new: int = 0
    unreadable: frozenset[str] = frozenset()


async def decide_entries(
    database: Database, clock: Clock, policy: ReleasePolicy, feed_id: str, uids: Sequence[str]
) -> DecidedEntries:
    """Every tracking of the feed decides on these entries, each in a transaction of its own. The
    same again changes nothing."""
    async with database.read() as view:
        wishes = await tracking_rows.list_trackings_of_feeds(view, [feed_id])
        rows = await list_entries_by_uid(view, feed_id, uids) if wishes else []
    new, unreadable = 0, frozenset[str]()
    for tracking in wishes:
        read = await asyncio.to_thread(read_offers, rows, tracking.preferences, feed_id)
        unreadable |= read.unreadable
        new += (await decide_offers(database, clock, policy, tracking.id, read.offers)).total
    return DecidedEntries(new, unreadable)


async def decide_offers(
    database: Database,
    clock: Clock,
    policy: ReleasePolicy,
    tracking_id: int,
    offers: Sequence[Offer],
) -> DecisionSummary:
    """What was not decided before, or says something else now. What is wanted or held is written in
    one transaction, with its intents and events, and so is the rest if it is not much. What is left
    then follows: should we die before, it is looked at again and comes to nothing again."""
    now = clock.now()
    async with database.write() as tx:
        outcome, left = await _decide_and_write(tx, tracking_id, offers, policy, now)
    for some in _slices(left):
        async with database.write() as tx:
            if await decision_rows.is_tracked(tx, tracking_id):
                await decision_rows.insert_decisions(tx, some, now)
    count_decisions(outcome, tracking=tracking_id)
    return outcome


async def _decide_and_write(
    tx: Transaction,
    tracking_id: int,
    offers: Sequence[Offer],
    policy: ReleasePolicy,
    now: datetime,
) -> tuple[DecisionSummary, Sequence[NewReleaseDecision]]:
    """One decision at a time for each show: its row is held."""
    try:
        tracking = await tracking_rows.get_tracking(tx, tracking_id)
        show = await show_rows.get_show(tx, tracking.show_id, lock=True)
    except NotFound:  # somebody has just let it go
        return DecisionSummary(), ()
    if not tracking.enabled:
        return DecisionSummary(), ()
    news = sort_changed_entries(
        offers, await decision_rows.list_decisions_by_key(tx, tracking_id, candidate_keys(offers))
    )
    for was, to in news.moved:
        await decision_rows.update_candidate(tx, was, to)
    both = [*news.fresh, *(offer for _, offer in news.anew)]
    judgement = await judge_offers(tx, show, tracking, both, policy, now)
    counts = Counter[str](each.action for each in judgement.deciding)
    known = {was.candidate.key: was for was, _ in news.anew}
    rows, rest = await _write_decisions(tx, show, tracking, judgement, known, now)
    return DecisionSummary(counts, tuple(rows)), rest


async def judge_offers(
    view: View,
    show: TrackedShow,
    tracking: Tracking,
    offers: Sequence[Offer],
    policy: ReleasePolicy,
    now: datetime,
) -> Judgement:
    """Reads only: a preview is this and nothing more."""
    if not offers:
        return Judgement((), {})
    replaced = await download_rows.count_replacements_since(view, now - _DAY)
    beside = _JudgeContext(
        show=show,
        rules=FilterRules(
            everywhere=policy.everywhere,
            here=compile_pattern_lists(tracking.include, tracking.exclude, "the tracking"),
            packs=tracking.packs,
            novelty=Novelty(since=tracking.since),
        ),
        standing=await download_rows.list_held_releases(view, show.id),
        refused=await download_rows.list_ended_names(view, show.id)
        | await decision_rows.list_refused_names(view, show.id),
        left=max(0, policy.replacements_per_day - replaced),
        elsewhere=await show_rows.list_names_of_other_shows(view, show.id),
        earlier=await show_rows.list_names_of_earlier_seasons(view, show, tracking.feed_id),
    )
    if len(offers) <= _QUICK:
        return _judgement(tracking, offers, beside)
    return await asyncio.to_thread(_judgement, tracking, offers, beside)


@dataclass(frozen=True, slots=True)
class _JudgeContext:
    """What offers are judged by, beside the tracking itself."""

    show: TrackedShow
    rules: FilterRules
    standing: Sequence[HeldRelease]
    refused: Mapping[str, str]
    left: int
    elsewhere: Set[str]
    earlier: Set[str]


def _judgement(tracking: Tracking, offers: Sequence[Offer], beside: _JudgeContext) -> Judgement:
    sieve = filter_offers(offers, beside.rules)
    plan = decide_release_plan(
        beside.show.show,
        sieve.kept,
        beside.standing,
        tracking.preferences,
        refused=beside.refused,
        replacements_left=beside.left,
        elsewhere=beside.elsewhere,
        earlier=beside.earlier,
    )
    by_key = {
        each.offer.candidate.key: NewReleaseDecision(
            tracking.id, each.offer, "removed", each.rule, each.reason
        )
        for each in sieve.removed
    }
    plans = {each.offer.candidate.key: each for each in plan.decisions}
    for key, each in plans.items():
        verdict = each.verdict
        by_key[key] = NewReleaseDecision(
            tracking.id, each.offer, verdict.action, verdict.rule, verdict.reason, each.slots
        )
    return Judgement(tuple(by_key[each.candidate.key] for each in offers), plans)


async def _write_decisions(
    tx: Transaction,
    show: TrackedShow,
    tracking: Tracking,
    judgement: Judgement,
    known: Mapping[str, ReleaseDecision],
    now: datetime,
) -> tuple[list[ReleaseDecision], Sequence[NewReleaseDecision]]:
    """Rows, intents and events in one transaction: all of it is true, or none. And what is left to
    be written. `known` are rows that are decided anew."""
    made, quiet = list[ReleaseDecision](), list[NewReleaseDecision]()
    for deciding in judgement.deciding:
        if (was := known.get(deciding.offer.candidate.key)) is not None:
            changed = await decision_rows.update_decision(tx, ChangedDecision(was, deciding), now)
            if changed is not None and needs_action(was, deciding):
                made.append(changed)
        elif deciding.action not in ("fetch", "upgrade", "hold"):
            quiet.append(deciding)
        elif (row := await decision_rows.insert_decision(tx, deciding, now)) is not None:
            made.append(row)
    if len(quiet) <= _AT_ONCE:
        await decision_rows.insert_decisions(tx, quiet, now)
        quiet.clear()
    await act_on_decisions(tx, show, tracking, made, judgement, now)
    return made, quiet


def needs_action(was: ReleaseDecision, deciding: NewReleaseDecision) -> bool:
    """Something is to be done, or to be told, that was not before."""
    if deciding.action == "hold":
        return was.action != "hold"
    return deciding.action in ("fetch", "upgrade")


async def act_on_decisions(
    tx: Transaction,
    show: TrackedShow,
    tracking: Tracking,
    rows: Iterable[ReleaseDecision],
    judgement: Judgement,
    now: datetime,
) -> None:
    """An intent for what is wanted, and a word of what is wanted or held."""
    events: list[Event] = []
    for row in rows:
        wanted = judgement.wanted(row.candidate.key)
        if wanted is not None:
            await create_download(tx, show, row, wanted.replaces, now)
            events.append(release_found(tracking.feed_id, show, row))
        else:
            events.append(release_held(tracking.feed_id, show, row))
    await event_rows.append_events(tx, events, now)


async def create_download(
    tx: Transaction,
    show: TrackedShow,
    row: ReleaseDecision,
    replaces: Sequence[Replacement],
    now: datetime,
) -> None:
    """Nothing is asked of anybody before this row is committed."""
    losses = tuple(LostSlots(int(each.standing.id), each.slots, each.is_whole) for each in replaces)
    # A folder of its own: torrents of one name must not write over each other.
    place = f"release-{row.id}"
    intent = download_rows.NewDownload(show.id, row.id, row.candidate, row.slots, losses, place)
    await download_rows.upsert_download(tx, intent, now)


def count_decisions(outcome: DecisionSummary, *, tracking: int) -> None:
    """For the log and the metrics, once it is committed."""
    if outcome.total:
        logger.info("releases_decided", tracking=tracking, **outcome.counts)
    for action, many in outcome.counts.items():
        count_decided_releases(action, many)


def _slices(left: Sequence[NewReleaseDecision]) -> Iterable[Sequence[NewReleaseDecision]]:
    return (left[at : at + _AT_ONCE] for at in range(0, len(left), _AT_ONCE))
