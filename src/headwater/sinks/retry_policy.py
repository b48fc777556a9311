"""The retry policy of sinks: pauses, dead letters, and when a sink is stopped."""

from dataclasses import dataclass
from datetime import timedelta

from headwater.sinks.ports import DeliveryResult
from headwater.sinks.sink import FAILING_TOO_LONG, GONE, Failing

FIRST_PAUSE = 5.0
JITTER = 0.2
FIRST_BATCH_SIZE = 20
"""Events in the first batch of a sink; later as many as it takes in `STEP` seconds."""
STEP = 0.5
_DAY = 86_400_000_000
_LONGEST_DETAIL = 500


@dataclass(frozen=True, slots=True)
class SinkPolicy:
    """The policy of deliveries, in seconds unless a name says otherwise. `lease`: after it a dead
    deliverer is replaced.

    `page`: events read at a time. `note_every`: how often progress is written while there is more;
    `note_idle_every`: how often while no event in the log is wanted.
    `longest`: for one answer of a connection, whatever it does meanwhile.
    `turn`: after it a sink with more events makes room, if another one waits for a place.
    `refused_attempts`: tries of an event that the sink refuses, unless the sink's own
    `max_attempts` are fewer.
    """

    lease: float = 15.0
    page: int = 500
    look_every: float = 1.0
    note_every: float = 1.0
    note_idle_every: float = 60.0
    longest: float = 300.0
    turn: float = 5.0
    pause_cap: float = 3_600.0
    retry_after_cap: float = 86_400.0
    at_once: int = 16
    refused_attempts: int = 3
    give_up_days: float = 5.0

    @property
    def longest_wait(self) -> timedelta:
        """No lease and no pause is longer."""
        pause = self.pause_cap * (1 + JITTER)
        return timedelta(seconds=max(self.lease, pause, self.retry_after_cap) + 1)


@dataclass(frozen=True, slots=True)
class AfterFailure:
    """The decision after a failure. `stopped` is the reason why the sink gets no more events.

    `dies`: the event becomes a dead letter, and the next one is tried after `pause` seconds.
    """

    failing: Failing
    pause: float = 0.0
    dies: bool = False
    stopped: str | None = None


def decide_after_failure(
    before: Failing,
    result: DeliveryResult,
    *,
    max_attempts: int | None,
    now: int,
    luck: float,
    policy: SinkPolicy,
) -> AfterFailure:
    """Decide after a failure, from the state `before` it. A sink that refuses an event works: only
    its own trouble counts as its failure."""
    error, detail = result.trouble, shortened(result.detail)
    attempts = before.attempts + 1
    if result.about == "event" and not result.gone:
        dies = attempts >= min(policy.refused_attempts, max_attempts or policy.refused_attempts)
        failing = Failing(0 if dies else attempts, 0, None, error, detail)
        pause = 0.0 if dies else _pause(before.attempts, result.retry_after, luck, policy)
        return AfterFailure(failing, pause, dies)
    since = now if before.since is None else before.since
    failing = Failing(attempts, before.failures + 1, since, error, detail)
    if result.gone:
        return AfterFailure(failing, stopped=GONE)
    if now - since >= policy.give_up_days * _DAY:
        return AfterFailure(failing, stopped=FAILING_TOO_LONG)
    pause = _pause(before.failures, result.retry_after, luck, policy)
    if max_attempts is not None and attempts >= max_attempts:
        return AfterFailure(Failing(0, before.failures + 1, since, error, detail), pause, dies=True)
    return AfterFailure(failing, pause)


def _pause(failures: int, retry_after: float | None, luck: float, policy: SinkPolicy) -> float:
    """Twice as long each time, up to the cap, with jitter so that not all come back at once; never
    sooner than the sink asked for."""
    pause = min(FIRST_PAUSE * 2.0 ** min(failures, 30), policy.pause_cap) * (1 + JITTER * luck)
    return max(pause, min(retry_after or 0.0, policy.retry_after_cap))


def next_batch_size(stride: int, count: int, seconds: float, most: int) -> int:
    """Events in the next batch, after `count` took so many seconds.

    Events under way come twice after a crash: so a slow sink gets few at a time.
    """
    fitting = count * STEP / seconds if seconds > 0 else float(most)
    return max(1, min(most, stride * 4, int(fitting)))


def shortened(detail: str) -> str:
    """The detail as it is stored: cut, without NUL and lone surrogates, which no database takes."""
    plain = detail[:_LONGEST_DETAIL].replace("\x00", "\ufffd")
    return plain.encode("utf-8", "replace").decode()
