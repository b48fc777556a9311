"""The policy of a worker: how many visits it makes at once, and how long its claims last."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkerPolicy:
    """Times are seconds. `requests_per_second` is the pace for one host."""

    visits_at_once: int
    claim_batch: int
    lease: float
    requests_per_second: float
    stop: float
