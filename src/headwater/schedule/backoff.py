"""How long a feed that fails is left alone: doubling, capped, and at last one try a day."""

from headwater.schedule.policy import Policy


def circuit_is_open(failures: int, policy: Policy) -> bool:
    return failures >= policy.error_budget


def pause_after(failures: int, interval: float, policy: Policy) -> float:
    """Seconds to stay away after the n-th failure in a row; the first is n = 1.

    Never less than the remembered interval, and never less than an earlier failure's pause: with
    a max interval below the backoff's cap the open circuit keeps to the cap.
    """
    pause = max(interval, _doubled(failures, policy))
    if circuit_is_open(failures, policy):
        return max(pause, policy.max_interval)
    return pause


def rest_asked_for(retry_after: float, policy: Policy) -> float:
    """Retry-After as we keep it: to the second, within sane bounds."""
    if not retry_after > policy.min_interval:  # NaN too
        return policy.min_interval
    return max(min(retry_after, policy.retry_after_cap), policy.min_interval)


def _doubled(failures: int, policy: Policy) -> float:
    try:
        grown = policy.initial_interval * policy.backoff_base**failures
    except OverflowError:
        return policy.backoff_cap
    return min(grown, policy.backoff_cap)
