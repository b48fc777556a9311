"""Entries of tracked feeds decided: kept or not and why, and for what is wanted an intent."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from headwater.announce import store as log
from headwater.announce.event import Event
from headwater.collect.decisions import queries as decisions
from headwater.collect.decisions import store as decided
from headwater.collect.decisions.decided import Decided, Deciding
from headwater.collect.decisions.store import Anew
from headwater.collect.download import Loss
from headwater.collect.downloads import queries as downloads
from headwater.collect.downloads import store as intents
from headwater.collect.edition import keys_of, news_in
from headwater.collect.offer import Offer
from headwater.collect.offers.queries import offers_in, words_of
from headwater.collect.plan import Decision, Replacement, Standing, planned
from headwater.collect.policy import CollectPolicy as CollectPolicy
from headwater.collect.rules import Novelty, Rules, patterns_of, sifted
from headwater.collect.shows import queries as shows
from headwater.collect.tracking import TrackedShow, Tracking
from headwater.collect.trackings import queries as trackings
from headwater.errors import NotFound
from headwater.ports import Clock, Database, Reader, Transaction
from headwater.release_events import release_found, release_held
from headwater.telemetry.log import logger
from headwater.telemetry.metrics import releases_decided

_DAY = timedelta(days=1)
_AT_ONCE = 500
"""Rows in one transaction: visits write to the same database."""
_QUICK = 50
"""So many offers are judged where we are; more of them in a thread."""

lines = logger("releases")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What would become of some offers: what the filter removed and what the plan says of the
    rest, in the order they were given."""

    deciding: tuple[Deciding, ...]
    plans: Mapping[str, Decision]

    def wanted(self, key: str) -> Decision | None:
        found = self.plans.get(key)
        return found if found is not None and found.verdict.is_wanted else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was decided anew: how many by action, and the rows of what is wanted or held."""

    counts: Mapping[str, int] = field(default_factory=dict)
    rows: tuple[Decided, ...] = ()

    def __add__(self, other: "Outcome") -> "Outcome":
        return Outcome(Counter(self.counts) + Counter(other.counts), self.rows + other.rows)

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Looked:
    """`new` decisions, and entries that nobody can read: their rows are damaged."""

    new: int = 0
    unreadable: frozenset[str] = frozenset()


async def decide_entries(
    database: Database, clock: Clock, policy: CollectPolicy, feed_id: str, uids: Sequence[str]
) -> Looked:
    """Every tracking of the feed decides on these entries, each in a transaction of its own. The
    same again changes nothing."""
    async with database.read() as view:
        wishes = await trackings.of_feeds(view, [feed_id])
        rows = await words_of(view, feed_id, uids) if wishes else []
    new, unreadable = 0, frozenset[str]()
    for tracking in wishes:
        read = await asyncio.to_thread(offers_in, rows, tracking.preferences, feed_id)
        unreadable |= read.unreadable
        new += (await decide(database, clock, policy, tracking.id, read.offers)).total
    return Looked(new, unreadable)


async def decide(
    database: Database,
    clock: Clock,
    policy: CollectPolicy,
    tracking_id: int,
    offers: Sequence[Offer],
) -> Outcome:
    """What was not decided before, or says something else now. What is wanted or held is written in
    one transaction, with its intents and events, and so is the rest if it is not much. What is left
    then follows: should we die before, it is looked at again and comes to nothing again."""
    now = clock.now()
    async with database.write() as tx:
        outcome, left = await _begun(tx, tracking_id, offers, policy, now)
    for some in _slices(left):
        async with database.write() as tx:
            if await decisions.is_tracked(tx, tracking_id):
                await decided.add_many(tx, some, now)
    count(outcome, tracking=tracking_id)
    return outcome


async def _begun(
    tx: Transaction,
    tracking_id: int,
    offers: Sequence[Offer],
    policy: CollectPolicy,
    now: datetime,
) -> tuple[Outcome, Sequence[Deciding]]:
    """One decision at a time for each show: its row is held."""
    try:
        tracking = await trackings.tracking(tx, tracking_id)
        show = await shows.show(tx, tracking.show_id, lock=True)
    except NotFound:  # somebody has just let it go
        return Outcome(), ()
    if not tracking.enabled:
        return Outcome(), ()
    news = news_in(offers, await decisions.decided_among(tx, tracking_id, keys_of(offers)))
    for was, to in news.moved:
        await decided.move(tx, was, to)
    both = [*news.fresh, *(offer for _, offer in news.anew)]
    judgement = await judged(tx, show, tracking, both, policy, now)
    counts = Counter[str](each.action for each in judgement.deciding)
    known = {was.candidate.key: was for was, _ in news.anew}
    rows, rest = await _written(tx, show, tracking, judgement, known, now)
    return Outcome(counts, tuple(rows)), rest


async def judged(
    view: Reader,
    show: TrackedShow,
    tracking: Tracking,
    offers: Sequence[Offer],
    policy: CollectPolicy,
    now: datetime,
) -> Judgement:
    """Reads only: a preview is this and nothing more."""
    if not offers:
        return Judgement((), {})
    replaced = await downloads.replaced_since(view, now - _DAY)
    beside = _Beside(
        show=show,
        rules=Rules(
            everywhere=policy.everywhere,
            here=patterns_of(tracking.include, tracking.exclude, "the tracking"),
            packs=tracking.packs,
            novelty=Novelty(since=tracking.since),
        ),
        standing=await downloads.standing(view, show.id),
        refused=await downloads.ended_names(view, show.id)
        | await decisions.refused_names(view, show.id),
        left=max(0, policy.replacements_per_day - replaced),
        elsewhere=await shows.names_elsewhere(view, show.id),
        earlier=await shows.names_of_earlier(view, show, tracking.feed_id),
    )
    if len(offers) <= _QUICK:
        return _judgement(tracking, offers, beside)
    return await asyncio.to_thread(_judgement, tracking, offers, beside)


@dataclass(frozen=True, slots=True)
class _Beside:
    """What offers are judged by, beside the tracking itself."""

    show: TrackedShow
    rules: Rules
    standing: Sequence[Standing]
    refused: Mapping[str, str]
    left: int
    elsewhere: Set[str]
    earlier: Set[str]


def _judgement(tracking: Tracking, offers: Sequence[Offer], beside: _Beside) -> Judgement:
    sieve = sifted(offers, beside.rules)
    plan = planned(
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
        each.offer.candidate.key: Deciding(
            tracking.id, each.offer, "removed", each.rule, each.reason
        )
        for each in sieve.removed
    }
    plans = {each.offer.candidate.key: each for each in plan.decisions}
    for key, each in plans.items():
        verdict = each.verdict
        by_key[key] = Deciding(
            tracking.id, each.offer, verdict.action, verdict.rule, verdict.reason, each.slots
        )
    return Judgement(tuple(by_key[each.candidate.key] for each in offers), plans)


async def _written(
    tx: Transaction,
    show: TrackedShow,
    tracking: Tracking,
    judgement: Judgement,
    known: Mapping[str, Decided],
    now: datetime,
) -> tuple[list[Decided], Sequence[Deciding]]:
    """Rows, intents and events in one transaction: all of it is true, or none. And what is left to
    be written. `known` are rows that are decided anew."""
    made, quiet = list[Decided](), list[Deciding]()
    for deciding in judgement.deciding:
        if (was := known.get(deciding.offer.candidate.key)) is not None:
            changed = await decided.change(tx, Anew(was, deciding), now)
            if changed is not None and is_news(was, deciding):
                made.append(changed)
        elif deciding.action not in ("fetch", "upgrade", "hold"):
            quiet.append(deciding)
        elif (row := await decided.add(tx, deciding, now)) is not None:
            made.append(row)
    if len(quiet) <= _AT_ONCE:
        await decided.add_many(tx, quiet, now)
        quiet.clear()
    await acted_on(tx, show, tracking, made, judgement, now)
    return made, quiet


def is_news(was: Decided, deciding: Deciding) -> bool:
    """Something is to be done, or to be told, that was not before."""
    if deciding.action == "hold":
        return was.action != "hold"
    return deciding.action in ("fetch", "upgrade")


async def acted_on(
    tx: Transaction,
    show: TrackedShow,
    tracking: Tracking,
    rows: Iterable[Decided],
    judgement: Judgement,
    now: datetime,
) -> None:
    """An intent for what is wanted, and a word of what is wanted or held."""
    events: list[Event] = []
    for row in rows:
        wanted = judgement.wanted(row.candidate.key)
        if wanted is not None:
            await intend(tx, show, row, wanted.replaces, now)
            events.append(release_found(tracking.feed_id, show, row))
        else:
            events.append(release_held(tracking.feed_id, show, row))
    await log.append(tx, events, now)


async def intend(
    tx: Transaction,
    show: TrackedShow,
    row: Decided,
    replaces: Sequence[Replacement],
    now: datetime,
) -> None:
    """Nothing is asked of anybody before this row is committed."""
    losses = tuple(Loss(int(each.standing.id), each.slots, each.is_whole) for each in replaces)
    # A folder of its own: torrents of one name must not write over each other.
    place = f"release-{row.id}"
    intent = intents.Intent(show.id, row.id, row.candidate, row.slots, losses, place)
    await intents.intend(tx, intent, now)


def count(outcome: Outcome, *, tracking: int) -> None:
    """For the log and the metrics, once it is committed."""
    if outcome.total:
        lines.info("releases_decided", tracking=tracking, **outcome.counts)
    for action, many in outcome.counts.items():
        releases_decided(action, many)


def _slices(left: Sequence[Deciding]) -> Iterable[Sequence[Deciding]]:
    return (left[at : at + _AT_ONCE] for at in range(0, len(left), _AT_ONCE))
