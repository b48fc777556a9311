"""Record decisions on entries of tracked feeds: each with its reason, and a download if wanted."""

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
"""Up to this many offers are judged in the event loop; more of them in a thread."""

logger = get_logger("releases")


@dataclass(frozen=True, slots=True)
class Judgement:
    """Decisions on offers, in the order of the offers, before anything is written: those that the
    filter removed and those that the plan decides on. `plans` are by key of the candidate."""

    deciding: tuple[NewReleaseDecision, ...]
    plans: Mapping[str, OfferDecision]

    def find_wanted(self, key: str) -> OfferDecision | None:
        decision = self.plans.get(key)
        return decision if decision is not None and decision.verdict.is_wanted else None


@dataclass(frozen=True, slots=True)
class DecisionSummary:
    """New and changed decisions: how many by action, and the rows of those wanted or held."""

    counts: Mapping[str, int] = field(default_factory=dict)
    rows: tuple[ReleaseDecision, ...] = ()

    def __add__(self, other: "DecisionSummary") -> "DecisionSummary":
        return DecisionSummary(Counter(self.counts) + Counter(other.counts), self.rows + other.rows)

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class DecidedEntries:
    """The number of `new` decisions, and uids of entries that nobody can read: their rows are
    damaged."""

    new: int = 0
    unreadable: frozenset[str] = frozenset()


async def record_decisions_on_entries(
    database: Database, clock: Clock, policy: ReleasePolicy, feed_id: str, uids: Sequence[str]
) -> DecidedEntries:
    """Every tracking of the feed decides on these entries, each in a transaction of its own. A
    repeat with the same entries changes nothing."""
    async with database.read() as view:
        trackings = await tracking_rows.list_trackings_of_feeds(view, [feed_id])
        rows = await list_entries_by_uid(view, feed_id, uids) if trackings else []
    new, unreadable = 0, frozenset[str]()
    for tracking in trackings:
        read = await asyncio.to_thread(read_offers, rows, tracking.preferences, feed_id)
        unreadable |= read.unreadable
        summary = await record_decisions(database, clock, policy, tracking.id, read.offers)
        new += summary.total
    return DecidedEntries(new, unreadable)


async def record_decisions(
    database: Database,
    clock: Clock,
    policy: ReleasePolicy,
    tracking_id: int,
    offers: Sequence[Offer],
) -> DecisionSummary:
    """Decide on offers that are new or were edited, and write the decisions.

    Those wanted or held are written in one transaction with their downloads and events, and so are
    the others if they are few. Many others follow in transactions of their own: should we die
    before, they are decided again, and come to nothing again.
    """
    now = clock.now()
    async with database.write() as tx:
        summary, remaining = await _record_under_lock(tx, tracking_id, offers, policy, now)
    for start in range(0, len(remaining), _AT_ONCE):
        async with database.write() as tx:
            if await decision_rows.is_tracked(tx, tracking_id):
                await decision_rows.insert_decisions(tx, remaining[start : start + _AT_ONCE], now)
    count_decisions(summary, tracking=tracking_id)
    return summary


async def _record_under_lock(
    tx: Transaction,
    tracking_id: int,
    offers: Sequence[Offer],
    policy: ReleasePolicy,
    now: datetime,
) -> tuple[DecisionSummary, Sequence[NewReleaseDecision]]:
    """The row of the show is locked: nobody else decides for it meanwhile. Returns the summary, and
    decisions that are still to be written."""
    try:
        tracking = await tracking_rows.get_tracking(tx, tracking_id)
        show = await show_rows.get_show(tx, tracking.show_id, lock=True)
    except NotFound:  # the tracking was removed a moment ago
        return DecisionSummary(), ()
    if not tracking.enabled:
        return DecisionSummary(), ()
    changes = sort_changed_entries(
        offers, await decision_rows.list_decisions_by_key(tx, tracking_id, candidate_keys(offers))
    )
    for moved in changes.moved:
        await decision_rows.update_candidate(tx, moved.decision, moved.candidate)
    undecided = [*changes.fresh, *(edited.offer for edited in changes.edited)]
    judgement = await judge_offers(tx, show, tracking, undecided, policy, now)
    counts = Counter[str](each.action for each in judgement.deciding)
    former = {edited.decision.candidate.key: edited.decision for edited in changes.edited}
    rows, remaining = await _write_decisions(tx, show, tracking, judgement, former, now)
    return DecisionSummary(counts, tuple(rows)), remaining


async def judge_offers(
    view: View,
    show: TrackedShow,
    tracking: Tracking,
    offers: Sequence[Offer],
    policy: ReleasePolicy,
    now: datetime,
) -> Judgement:
    """Judge offers without writing anything: a preview is this and nothing more."""
    if not offers:
        return Judgement((), {})
    replaced = await download_rows.count_replacements_since(view, now - _DAY)
    context = _JudgeContext(
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
        replacements_left=max(0, policy.replacements_per_day - replaced),
        elsewhere=await show_rows.list_names_of_other_shows(view, show.id),
        earlier=await show_rows.list_names_of_earlier_seasons(view, show, tracking.feed_id),
    )
    if len(offers) <= _QUICK:
        return _judge(tracking, offers, context)
    return await asyncio.to_thread(_judge, tracking, offers, context)


@dataclass(frozen=True, slots=True)
class _JudgeContext:
    """The facts that offers are judged by, beside the tracking itself."""

    show: TrackedShow
    rules: FilterRules
    standing: Sequence[HeldRelease]
    refused: Mapping[str, str]
    replacements_left: int
    elsewhere: Set[str]
    earlier: Set[str]


def _judge(tracking: Tracking, offers: Sequence[Offer], context: _JudgeContext) -> Judgement:
    filtered = filter_offers(offers, context.rules)
    plan = decide_release_plan(
        context.show.show,
        filtered.kept,
        context.standing,
        tracking.preferences,
        refused=context.refused,
        replacements_left=context.replacements_left,
        elsewhere=context.elsewhere,
        earlier=context.earlier,
    )
    by_key = {
        removed.offer.candidate.key: NewReleaseDecision(
            tracking.id, removed.offer, "removed", removed.rule, removed.reason
        )
        for removed in filtered.removed
    }
    plans = {decision.offer.candidate.key: decision for decision in plan.decisions}
    for key, decision in plans.items():
        verdict = decision.verdict
        by_key[key] = NewReleaseDecision(
            tracking.id,
            decision.offer,
            verdict.action,
            verdict.rule,
            verdict.reason,
            decision.slots,
        )
    return Judgement(tuple(by_key[offer.candidate.key] for offer in offers), plans)


async def _write_decisions(
    tx: Transaction,
    show: TrackedShow,
    tracking: Tracking,
    judgement: Judgement,
    former: Mapping[str, ReleaseDecision],
    now: datetime,
) -> tuple[list[ReleaseDecision], Sequence[NewReleaseDecision]]:
    """Rows, downloads and events in one transaction: all of it is true, or none. `former` are rows
    of entries that are decided again. Returns rows that were acted on, and decisions that are still
    to be written."""
    rows, quiet = list[ReleaseDecision](), list[NewReleaseDecision]()
    for new in judgement.deciding:
        if (was := former.get(new.offer.candidate.key)) is not None:
            changed = await decision_rows.update_decision(tx, ChangedDecision(was, new), now)
            if changed is not None and needs_action(was, new):
                rows.append(changed)
        elif new.action not in ("fetch", "upgrade", "hold"):
            quiet.append(new)
        elif (row := await decision_rows.insert_decision(tx, new, now)) is not None:
            rows.append(row)
    if len(quiet) <= _AT_ONCE:
        await decision_rows.insert_decisions(tx, quiet, now)
        quiet.clear()
    await act_on_decisions(tx, show, tracking, rows, judgement, now)
    return rows, quiet


def needs_action(was: ReleaseDecision, new: NewReleaseDecision) -> bool:
    """Whether the new decision asks for a download or an event that the old one did not."""
    if new.action == "hold":
        return was.action != "hold"
    return new.action in ("fetch", "upgrade")


async def act_on_decisions(
    tx: Transaction,
    show: TrackedShow,
    tracking: Tracking,
    rows: Iterable[ReleaseDecision],
    judgement: Judgement,
    now: datetime,
) -> None:
    """Create a download for each release that is wanted, and an event for each wanted or held."""
    events: list[Event] = []
    for row in rows:
        wanted = judgement.find_wanted(row.candidate.key)
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
    """Write down a download. No site and no client is asked before this row is committed."""
    losses = tuple(LostSlots(int(each.standing.id), each.slots, each.is_whole) for each in replaces)
    # A folder of its own: torrents of one name must not write over each other.
    save_path = f"release-{row.id}"
    download = download_rows.NewDownload(
        show.id, row.id, row.candidate, row.slots, losses, save_path
    )
    await download_rows.upsert_download(tx, download, now)


def count_decisions(summary: DecisionSummary, *, tracking: int) -> None:
    """Tell the logger and the metrics about decisions, once they are committed."""
    if summary.total:
        logger.info("releases_decided", tracking=tracking, **summary.counts)
    for action, count in summary.counts.items():
        count_decided_releases(action, count)
