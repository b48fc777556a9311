"""Deliver to one sink: first dead letters that are to be retried, then all after its cursor."""

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
    """Gives the connection to a sink, and opens it first if needed. `stride`: events at a time."""

    stride: int

    async def opened(self) -> SinkConnection: ...


@dataclass(slots=True)
class SinkLease:
    """The lease of one deliverer on a sink. Once it is lost, nothing is written any more."""

    database: Database
    clock: Clock
    seconds: float
    claim: SinkClaim
    is_ours: bool = True
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def now(self) -> int:
        return to_micros(self.clock.now())

    def next_end(self) -> int:
        return self.now() + round(self.seconds * 1_000_000)

    async def settle(self, write: Write, *, goes_on_until: int | None) -> bool:
        """Write while the lease is held; `write` returns whether it still was. It puts
        `goes_on_until` into the row as the new end of the lease; None: this was the last write."""
        async with self._turn:
            if not self.is_ours:
                return False
            async with self.database.write() as tx:
                done = await write(tx, self.claim)
            self.is_ours = done and goes_on_until is not None
            if goes_on_until is not None:
                self.claim = replace(self.claim, lease_end=goes_on_until)
            return done

    async def keep(self) -> None:
        """Renew the lease while an answer is waited for."""
        while self.is_ours:
            await self.clock.sleep(self.seconds / 3)
            end = self.next_end()

            async def extended(tx: Transaction, claim: SinkClaim, end: int = end) -> bool:
                return await sink_rows.renew_claim(tx, claim, end)

            try:
                await self.settle(extended, goes_on_until=end)
            except DatabaseError as trouble:
                logger.warning("sink_lease_shaky", error=trouble.code, detail=trouble.message)


@dataclass(slots=True)
class Delivery:
    """One delivery by the holder of a lease; `run` it once. All up to `cursor` is done."""

    sink: Sink
    cursor: int
    lease: SinkLease
    connector: SinkConnector
    policy: SinkPolicy
    enough: asyncio.Event
    has_letters: bool
    """There may be dead letters that are to be retried."""
    is_spent: bool = False
    """There was trouble: the connection should be opened anew."""
    settled: tuple[int, int | None] | None = None
    """The cursor and the next try in the sink's row, as we wrote them last."""
    _failing: Failing = field(init=False)
    _noted: float = field(init=False)
    _delivered: int = 0
    _buried: list[NewDeadLetter] = field(default_factory=list)

    def __post_init__(self) -> None:
        since = maybe_micros(self.sink.failing_since)
        self._failing = Failing(self.sink.attempts, self.sink.failures, since)
        self._noted = self.lease.clock.monotonic()

    async def run(self) -> None:
        """Deliver until all is delivered, there is trouble, or its place is needed."""
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
            batch = page.parcels[place : place + self.connector.stride]
            result = await self._hand_over(batch)
            if result.taken:
                place += result.taken
                self._delivered += result.taken
                self._failing = Failing()
                self._pass(page, page.parcels[place - 1].seq)
            if result.trouble is not None:
                if not await self._fail(page, page.parcels[place], result):
                    return False
                place += 1
            if place < len(page.parcels) and not await self._note(last=self.enough.is_set()):
                return False
        self._pass(page, page.next)
        return await self._note(last=page.is_the_end or self.enough.is_set())

    def _pass(self, page: LogPage, reached: int) -> None:
        """All up to `reached` is taken, not wanted, or cannot be read."""
        self._buried += [
            NewDeadLetter(each.seq, each.event_id, each.type, 0, "bad_payload", each.detail)
            for each in page.unreadable
            if self.cursor < each.seq <= reached
        ]
        self.cursor = reached

    async def _note(self, *, last: bool) -> bool:
        """Write the progress: seldom while there is more, always at the end. False at the end."""
        clock = self.lease.clock
        if not last and clock.monotonic() - self._noted < self.policy.note_every:
            return self.lease.is_ours
        progress, until = self._progress(), None if last else self.lease.next_end()
        done = await self._settle(
            lambda tx, claim: sink_rows.note_progress(tx, claim, progress, until),
            until,
            goes_on=not last,
        )
        return done and not last

    async def _fail(self, page: LogPage, event: WireEvent, result: DeliveryResult) -> bool:
        """True when only this event failed, for good: the next one may be tried at once."""
        outcome = self._decide(self._failing, result, self.sink.max_attempts)
        self._pass(page, event.seq - 1)
        if outcome.dies:
            attempts = self._failing.attempts + 1
            self._buried.append(_dead_letter(event, attempts, result, outcome.failing))
            self.cursor = event.seq
        self._log_failure(event.seq, outcome)
        goes_on = outcome.dies and outcome.pause == 0
        return await self._settle_failure(outcome, goes_on=goes_on) and goes_on

    def _decide(
        self, before: Failing, result: DeliveryResult, max_attempts: int | None
    ) -> AfterFailure:
        return decide_after_failure(
            before,
            result,
            max_attempts=max_attempts,
            now=self.lease.now(),
            luck=self.lease.clock.luck(),
            policy=self.policy,
        )

    async def _settle_failure(self, outcome: AfterFailure, *, goes_on: bool) -> bool:
        pause = round(outcome.pause * 1_000_000)
        until = self.lease.next_end() if goes_on else self.lease.now() + pause
        next_try = None if outcome.stopped else until
        progress, self._failing = self._progress(), outcome.failing
        self.is_spent = self.is_spent or outcome.failing.failures > 0
        return await self._settle(
            lambda tx, claim: sink_rows.note_failure(
                tx, claim, progress, outcome.failing, until=next_try, stopped=outcome.stopped
            ),
            next_try,
            goes_on=goes_on,
        )

    def _progress(self) -> DeliveryProgress:
        """The progress that has not been written yet."""
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
                letters = await list_letters_to_retry(
                    view, self.sink.id, limit=self.connector.stride
                )
                page = await read_wire_events_at(view, [letter.seq for letter in letters])
            if not letters:
                self.has_letters = False
                return True
            if not await self._retry({letter.seq: letter for letter in letters}, page):
                return False
            if self.enough.is_set():
                return await self._note(last=True)

    async def _retry(self, letters: dict[int, DeadLetter], page: LogPage) -> bool:
        result = await self._hand_over(page.parcels) if page.parcels else DeliveryResult(0)
        taken = [event.seq for event in page.parcels[: result.taken]]
        if taken:
            self._failing = Failing()
        readable = {event.seq for event in page.parcels}
        dead = [_unreadable_letter(letters[seq]) for seq in letters.keys() - readable]
        is_refused = result.trouble is not None and result.about == "event" and not result.gone
        if is_refused:
            event = page.parcels[result.taken]
            attempts = letters[event.seq].attempts + 1
            dead.append(
                _dead_letter(event, attempts, result, Failing(detail=shortened(result.detail)))
            )
        progress = DeliveryProgress(self.cursor, len(taken), self.lease.now(), tuple(dead))
        end = self.lease.next_end()
        done = await self._settle(
            lambda tx, claim: sink_rows.note_retried(tx, claim, progress, taken, end),
            end,
            goes_on=True,
        )
        if not done or result.trouble is None or is_refused:
            return done
        return await self._retry_failed(result, page.parcels[result.taken].seq)

    async def _retry_failed(self, result: DeliveryResult, seq: int) -> bool:
        """The sink is in trouble. That does not count as a try of the event after the cursor."""
        outcome = self._decide(self._failing, result, None)
        failing = replace(outcome.failing, attempts=self._failing.attempts)
        outcome = replace(outcome, failing=failing)
        self._log_failure(seq, outcome)
        await self._settle_failure(outcome, goes_on=False)
        return False

    async def _hand_over(self, events: Sequence[WireEvent]) -> DeliveryResult:
        """Hand events to the sink. Whatever the connection does, the result makes sense."""
        began = self.lease.clock.monotonic()
        try:
            async with asyncio.timeout(self.policy.longest):
                connection = await self.connector.opened()
                result = await connection.deliver(events, replay=self.sink.replays)
        except TimeoutError:
            self.connector.stride = 1
            return DeliveryResult(0, "timeout", f"no answer within {self.policy.longest:g} seconds")
        except HeadwaterError as trouble:
            return DeliveryResult(0, trouble.code, trouble.message)
        except Exception as trouble:  # a bug in one sink must not end all deliveries
            logger.error("outlet_crashed", sink=self.sink.name, exc_info=trouble)
            return DeliveryResult(0, "outlet_crashed", type(trouble).__name__)
        taken = min(max(result.taken, 0), len(events))
        if taken:
            seconds = self.lease.clock.monotonic() - began
            self.connector.stride = next_batch_size(
                self.connector.stride, taken, seconds, self.policy.page
            )
        if taken == len(events) or (taken and not result.trouble):
            # The rest comes next: a slow sink takes some at a time.
            return DeliveryResult(taken)
        return replace(result, taken=taken, trouble=result.trouble or "not_taken")

    def _log_failure(self, seq: int, outcome: AfterFailure) -> None:
        """One line per failure; one that needs a person is an error."""
        log = logger.error if outcome.stopped else logger.warning
        log(
            "sink_stopped" if outcome.stopped else "dead_letter" if outcome.dies else "sink_failed",
            sink=self.sink.name,
            kind=self.sink.kind,
            seq=seq,
            error=outcome.failing.error,
            detail=outcome.failing.detail,
            failures=outcome.failing.failures,
            pause=round(outcome.pause, 1),
            reason=outcome.stopped,
        )


def _dead_letter(
    event: WireEvent, attempts: int, result: DeliveryResult, failing: Failing
) -> NewDeadLetter:
    error, detail = result.trouble or "not_taken", failing.detail or ""
    return NewDeadLetter(event.seq, event.event_id, event.type, attempts, error, detail)


def _unreadable_letter(letter: DeadLetter) -> NewDeadLetter:
    """A letter whose event is still damaged, or gone from the log."""
    detail = letter.detail if letter.error == "bad_payload" else "Its row cannot be read."
    return NewDeadLetter(
        letter.seq, letter.event_id, letter.type, letter.attempts, "bad_payload", detail
    )
