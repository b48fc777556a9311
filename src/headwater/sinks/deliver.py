"""One sink's turn: dead letters that are to be tried again, then everything after its cursor."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from headwater.core.errors import DatabaseError, HeadwaterError
from headwater.core.ports import Clock, Database, Transaction
from headwater.core.telemetry.log import get_logger
from headwater.core.values.instant import maybe_micros, to_micros
from headwater.events.event_json import WireEvent
from headwater.events.event_rows import LogPage, read_wire_events, read_wire_events_at
from headwater.sinks import sink_rows
from headwater.sinks.ports import DeliveryResult, SinkConnection
from headwater.sinks.retry_policy import (
    AfterFailure,
    SinkPolicy,
    decide_after_failure,
    next_batch_size,
    shortened,
)
from headwater.sinks.sink import DeadLetter, Failing, Sink
from headwater.sinks.sink_rows import (
    DeliveryProgress,
    NewDeadLetter,
    SinkClaim,
    list_letters_to_retry,
)

logger = get_logger("sinks")

Write = Callable[[Transaction, SinkClaim], Awaitable[bool]]


class SinkConnector(Protocol):
    """The way to a sink, open or still to be opened. `stride`: how much it gets at a time."""

    stride: int

    async def opened(self) -> SinkConnection: ...


@dataclass(slots=True)
class SinkLease:
    """One deliverer's right to write about a sink. Once it is lost, nothing is written any more."""

    database: Database
    clock: Clock
    seconds: float
    held: SinkClaim
    is_ours: bool = True
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def now(self) -> int:
        return to_micros(self.clock.now())

    def next_end(self) -> int:
        return self.now() + round(self.seconds * 1_000_000)

    async def settle(self, write: Write, *, goes_on_until: int | None) -> bool:
        """`write` says whether it was ours still. It put `goes_on_until` into the row as the new
        end of the lease; None: it was the last word."""
        async with self._turn:
            if not self.is_ours:
                return False
            async with self.database.write() as tx:
                done = await write(tx, self.held)
            self.is_ours = done and goes_on_until is not None
            if goes_on_until is not None:
                self.held = replace(self.held, lease_end=goes_on_until)
            return done

    async def keep(self) -> None:
        """The lease does not run out while an answer is waited for."""
        while self.is_ours:
            await self.clock.sleep(self.seconds / 3)
            end = self.next_end()

            async def extended(tx: Transaction, held: SinkClaim, end: int = end) -> bool:
                return await sink_rows.renew_claim(tx, held, end)

            try:
                await self.settle(extended, goes_on_until=end)
            except DatabaseError as trouble:
                logger.warning("sink_lease_shaky", error=trouble.code, detail=trouble.message)


@dataclass(slots=True)
class Delivery:
    """What the holder of a lease does; `run` it once. `cursor` is how far everything is done."""

    sink: Sink
    cursor: int
    lease: SinkLease
    door: SinkConnector
    policy: SinkPolicy
    enough: asyncio.Event
    has_letters: bool
    """There may be dead letters that somebody wants tried again."""
    is_spent: bool = False
    """The sink met trouble: the way to it should be opened anew."""
    settled: tuple[int, int | None] | None = None
    """The cursor and the moment in the sink's row, as we wrote them last."""
    _failing: Failing = field(init=False)
    _noted: float = field(init=False)
    _delivered: int = 0
    _buried: list[NewDeadLetter] = field(default_factory=list)

    def __post_init__(self) -> None:
        since = maybe_micros(self.sink.failing_since)
        self._failing = Failing(self.sink.attempts, self.sink.failures, since)
        self._noted = self.lease.clock.monotonic()

    async def run(self) -> None:
        """Until everything is delivered, something is in the way, or its place is wanted."""
        goes_on = not self.has_letters or await self._retry_letters()
        while goes_on:
            async with self.lease.database.read() as view:
                page = await read_wire_events(
                    view, self.cursor, limit=self.policy.page, wanted=self.sink.wanted
                )
            goes_on = await self._deliver(page)

    async def _deliver(self, page: LogPage) -> bool:
        """False when this delivery is over."""
        place = 0
        while place < len(page.parcels):
            batch = page.parcels[place : place + self.door.stride]
            receipt = await self._handed_over(batch)
            if receipt.taken:
                place += receipt.taken
                self._delivered += receipt.taken
                self._failing = Failing()
                self._pass(page, page.parcels[place - 1].seq)
            if receipt.trouble is not None:
                if not await self._fail(page, page.parcels[place], receipt):
                    return False
                place += 1
            if place < len(page.parcels) and not await self._note(last=self.enough.is_set()):
                return False
        self._pass(page, page.next)
        return await self._note(last=page.is_the_end or self.enough.is_set())

    def _pass(self, page: LogPage, reached: int) -> None:
        """Everything up to there is taken, not wanted, or can be told to nobody."""
        self._buried += [
            NewDeadLetter(each.seq, each.event_id, each.type, 0, "bad_payload", each.detail)
            for each in page.unreadable
            if self.cursor < each.seq <= reached
        ]
        self.cursor = reached

    async def _note(self, *, last: bool) -> bool:
        """Seldom while there is more, at the end always. False when this delivery is over."""
        clock = self.lease.clock
        if not last and clock.monotonic() - self._noted < self.policy.note_every:
            return self.lease.is_ours
        progress, until = self._progress(), None if last else self.lease.next_end()
        done = await self._settle(
            lambda tx, held: sink_rows.note_progress(tx, held, progress, until),
            until,
            goes_on=not last,
        )
        return done and not last

    async def _fail(self, page: LogPage, parcel: WireEvent, receipt: DeliveryResult) -> bool:
        """True when only this event failed, for good: the next one may be tried at once."""
        found = self._verdict(self._failing, receipt, self.sink.max_attempts)
        self._pass(page, parcel.seq - 1)
        if found.dies:
            attempts = self._failing.attempts + 1
            self._buried.append(_dead(parcel, attempts, receipt, found.failing))
            self.cursor = parcel.seq
        self._tell(parcel.seq, found)
        goes_on = found.dies and found.pause == 0
        return await self._settle_failure(found, goes_on=goes_on) and goes_on

    def _verdict(
        self, before: Failing, receipt: DeliveryResult, max_attempts: int | None
    ) -> AfterFailure:
        return decide_after_failure(
            before,
            receipt,
            max_attempts=max_attempts,
            now=self.lease.now(),
            luck=self.lease.clock.luck(),
            policy=self.policy,
        )

    async def _settle_failure(self, found: AfterFailure, *, goes_on: bool) -> bool:
        pause = round(found.pause * 1_000_000)
        until = self.lease.next_end() if goes_on else self.lease.now() + pause
        next_try = None if found.stopped else until
        progress, self._failing = self._progress(), found.failing
        self.is_spent = self.is_spent or found.failing.failures > 0
        return await self._settle(
            lambda tx, held: sink_rows.note_failure(
                tx, held, progress, found.failing, until=next_try, stopped=found.stopped
            ),
            next_try,
            goes_on=goes_on,
        )

    def _progress(self) -> DeliveryProgress:
        """What has not been written yet."""
        progress = DeliveryProgress(
            self.cursor, self._delivered, self.lease.now(), tuple(self._buried)
        )
        self._delivered, self._buried = 0, []
        return progress

    async def _settle(self, write: Write, until: int | None, *, goes_on: bool) -> bool:
        self._noted = self.lease.clock.monotonic()
        done = await self.lease.settle(write, goes_on_until=until if goes_on else None)
        if done:
            self.settled = (self.cursor, until)
        else:
            self.is_spent = True
            logger.warning("sink_lease_lost", sink=self.sink.name, cursor=self.cursor)
        return done

    async def _retry_letters(self) -> bool:
        """The oldest first, before anything else. False when this delivery is over."""
        while True:
            async with self.lease.database.read() as view:
                letters = await list_letters_to_retry(view, self.sink.id, limit=self.door.stride)
                page = await read_wire_events_at(view, [letter.seq for letter in letters])
            if not letters:
                self.has_letters = False
                return True
            if not await self._retry({letter.seq: letter for letter in letters}, page):
                return False
            if self.enough.is_set():
                return await self._note(last=True)

    async def _retry(self, letters: dict[int, DeadLetter], page: LogPage) -> bool:
        receipt = await self._handed_over(page.parcels) if page.parcels else DeliveryResult(0)
        taken = [parcel.seq for parcel in page.parcels[: receipt.taken]]
        if taken:
            self._failing = Failing()
        dead = [_unreadable(letters[seq]) for seq in letters.keys() - _numbers(page.parcels)]
        is_refused = receipt.trouble is not None and receipt.about == "event" and not receipt.gone
        if is_refused:
            parcel = page.parcels[receipt.taken]
            attempts = letters[parcel.seq].attempts + 1
            dead.append(_dead(parcel, attempts, receipt, Failing(detail=shortened(receipt.detail))))
        progress = DeliveryProgress(self.cursor, len(taken), self.lease.now(), tuple(dead))
        end = self.lease.next_end()
        done = await self._settle(
            lambda tx, held: sink_rows.note_retried(tx, held, progress, taken, end),
            end,
            goes_on=True,
        )
        if not done or receipt.trouble is None or is_refused:
            return done
        return await self._retry_failed(receipt, page.parcels[receipt.taken].seq)

    async def _retry_failed(self, receipt: DeliveryResult, seq: int) -> bool:
        """The sink is in trouble. That says nothing of the event after the cursor."""
        found = self._verdict(self._failing, receipt, None)
        failing = replace(found.failing, attempts=self._failing.attempts)
        found = replace(found, failing=failing)
        self._tell(seq, found)
        await self._settle_failure(found, goes_on=False)
        return False

    async def _handed_over(self, parcels: Sequence[WireEvent]) -> DeliveryResult:
        """Whatever an outlet does, there is a receipt that makes sense."""
        began = self.lease.clock.monotonic()
        try:
            async with asyncio.timeout(self.policy.longest):
                outlet = await self.door.opened()
                receipt = await outlet.deliver(parcels, replay=self.sink.replays)
        except TimeoutError:
            self.door.stride = 1
            return DeliveryResult(0, "timeout", f"no answer within {self.policy.longest:g} seconds")
        except HeadwaterError as trouble:
            return DeliveryResult(0, trouble.code, trouble.message)
        except Exception as trouble:  # a mistake in one outlet must not end those of all others
            logger.error("outlet_crashed", sink=self.sink.name, exc_info=trouble)
            return DeliveryResult(0, "outlet_crashed", type(trouble).__name__)
        taken = min(max(receipt.taken, 0), len(parcels))
        if taken:
            seconds = self.lease.clock.monotonic() - began
            self.door.stride = next_batch_size(self.door.stride, taken, seconds, self.policy.page)
        if taken == len(parcels) or (taken and not receipt.trouble):
            return DeliveryResult(
                taken
            )  # what is left comes next: a slow sink takes some at a time
        return replace(receipt, taken=taken, trouble=receipt.trouble or "not_taken")

    def _tell(self, seq: int, found: AfterFailure) -> None:
        """One line per failure; what needs a person is an error."""
        say = logger.error if found.stopped else logger.warning
        say(
            "sink_stopped" if found.stopped else "dead_letter" if found.dies else "sink_failed",
            sink=self.sink.name,
            kind=self.sink.kind,
            seq=seq,
            error=found.failing.error,
            detail=found.failing.detail,
            failures=found.failing.failures,
            pause=round(found.pause, 1),
            reason=found.stopped,
        )


def _dead(
    parcel: WireEvent, attempts: int, receipt: DeliveryResult, failing: Failing
) -> NewDeadLetter:
    error, detail = receipt.trouble or "not_taken", failing.detail or ""
    return NewDeadLetter(parcel.seq, parcel.event_id, parcel.type, attempts, error, detail)


def _unreadable(letter: DeadLetter) -> NewDeadLetter:
    """Its row is damaged still, or gone from the log."""
    detail = letter.detail if letter.error == "bad_payload" else "Its row cannot be read."
    return NewDeadLetter(
        letter.seq, letter.event_id, letter.type, letter.attempts, "bad_payload", detail
    )


def _numbers(parcels: Sequence[WireEvent]) -> set[int]:
    return {parcel.seq for parcel in parcels}
