"""A caller's bucket: emptied by asking, filled again by waiting, and forgotten when it is full."""

import pytest

from headwater.entrypoints.api.errors import RateLimited
from headwater.entrypoints.api.rate_limit import MOST_CALLERS, RateLimiter


def refused(rates: RateLimiter, caller: str, now: float) -> float:
    """How long the caller is told to wait."""
    with pytest.raises(RateLimited) as caught:
        rates.spend(caller, now)
    return float(caught.value.facts["retry_after_sec"])


def asked(rates: RateLimiter, caller: str, now: float) -> int:
    """How often in this moment before it is refused."""
    for times in range(100):
        try:
            rates.spend(caller, now)
        except RateLimited:
            return times
    raise AssertionError("never refused")


def test_a_bucket_is_emptied_and_fills_again_by_the_second() -> None:
    rates = RateLimiter(6)
    assert asked(rates, "a", 100.0) == 6
    assert asked(rates, "a", 109.0) == 0
    assert asked(rates, "a", 110.0) == 1
    assert asked(rates, "a", 135.0) == 2


def test_the_wait_is_what_the_next_request_lacks() -> None:
    rates = RateLimiter(6)
    assert asked(rates, "a", 100.0) == 6
    assert refused(rates, "a", 100.0) == 10.0
    assert refused(rates, "a", 107.5) == 2.5


def test_a_long_silence_saves_up_no_more_than_one_bucket() -> None:
    rates = RateLimiter(6)
    rates.spend("a", 0.0)
    assert asked(rates, "a", 86_400.0) == 6


def test_a_bucket_is_spent_until_the_next_request_would_be_let_in() -> None:
    rates = RateLimiter(6)
    assert not rates.is_spent("a", 100.0)
    assert asked(rates, "a", 100.0) == 6
    assert rates.is_spent("a", 109.0)
    assert not rates.is_spent("a", 110.0)
    assert not rates.is_spent("b", 100.0)


def test_in_a_crowd_only_full_buckets_are_forgotten_at_first() -> None:
    """Forgetting an empty one would be a way around the limit: knock under many names."""
    rates = RateLimiter(6)
    assert asked(rates, "early", 0.0) == 6
    for number in range(MOST_CALLERS - 2):
        rates.spend(f"idle {number}", 1.0)
    assert asked(rates, "busy", 30.0) == 6
    rates.spend("one too many", 30.0)
    assert asked(rates, "busy", 30.0) == 0
    assert asked(rates, "early", 30.0) == 3


def test_when_all_are_in_use_those_that_asked_last_stay_limited() -> None:
    rates = RateLimiter(6)
    assert MOST_CALLERS == 10_000
    for number in range(MOST_CALLERS):
        assert asked(rates, f"caller {number}", number / 1_000) == 6
    assert asked(rates, "caller 0", 10.0) == 1
    rates.spend("one too many", 10.0)
    assert asked(rates, "caller 0", 10.0) == 0
    assert asked(rates, "caller 5001", 10.0) == 0
    assert asked(rates, "caller 5000", 10.0) == 6
