"""The policy of a worker: how many visits at once, and for how long claims are held."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkerPolicy:
    """Times are seconds. `requests_per_second` is the pace at which one host is asked."""

    visits_at_once: int
    claim_batch: int
    lease: float
    requests_per_second: float
    stop: float
