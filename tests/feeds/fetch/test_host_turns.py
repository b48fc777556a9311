"""No host is asked too often, too much at once, or while it rests."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.feeds.fetch.host_turns import HostPacing, PacingPolicy


def test_a_new_host_may_be_asked_at_once() -> None:
    assert HostPacing(PacingPolicy()).wait_for("a.example", 0.0) == 0.0


def test_requests_to_one_host_are_spaced() -> None:
    turns = HostPacing(PacingPolicy(requests_per_second=0.5))
    turns.start("a.example", 100.0)
    assert turns.wait_for("a.example", 100.0) == 2.0
    assert turns.wait_for("a.example", 101.5) == 0.5
    assert turns.wait_for("a.example", 102.0) == 0.0
    assert turns.wait_for("b.example", 100.0) == 0.0


def test_a_request_of_somebody_else_long_ago_brings_no_turn_nearer() -> None:
    turns = HostPacing(PacingPolicy(requests_per_second=1.0))
    turns.start("a.example", 100.0)
    turns.seen("a.example", 40.0)
    assert turns.wait_for("a.example", 100.0) == 1.0
    turns.seen("a.example", 100.5)
    assert turns.wait_for("a.example", 100.0) == 1.5


def test_only_a_finish_frees_a_host_that_is_full() -> None:
    turns = HostPacing(PacingPolicy(max_concurrency=2))
    turns.start("a.example", 0.0)
    turns.start("a.example", 1.0)
    assert turns.wait_for("a.example", 50.0) == math.inf
    turns.finish("a.example", 50.0, None)
    assert turns.wait_for("a.example", 50.0) == 0.0


def test_names_that_share_an_address_are_spaced_together() -> None:
    turns = HostPacing(PacingPolicy(address_requests_per_second=5.0))
    for name in ("a.example", "b.example"):
        turns.start(name, 0.0)
        turns.finish(name, 0.1, "192.0.2.1")
    turns.start("a.example", 10.0)
    assert turns.wait_for("b.example", 10.0) == pytest.approx(0.2)
    assert turns.wait_for("b.example", 10.2) == 0.0


def test_where_a_host_was_found_last_time_says_nothing_against_where_it_was_met() -> None:
    turns = HostPacing(PacingPolicy(address_requests_per_second=5.0))
    turns.start("a.example", 0.0)
    turns.finish("a.example", 0.1, "192.0.2.1")
    turns.lives_at("a.example", "192.0.2.9")
    turns.lives_at("b.example", "192.0.2.1")
    turns.lives_at("c.example", "192.0.2.9")
    turns.start("a.example", 10.0)
    assert turns.wait_for("b.example", 10.0) == pytest.approx(0.2)
    assert turns.wait_for("c.example", 10.0) == 0.0


def test_a_host_that_moved_is_spaced_at_its_new_address() -> None:
    turns = HostPacing(PacingPolicy())
    turns.start("a.example", 0.0)
    turns.finish("a.example", 0.1, "192.0.2.1")
    turns.start("a.example", 10.0)
    turns.finish("a.example", 10.1, "192.0.2.2")
    turns.start("b.example", 20.0)
    turns.finish("b.example", 20.1, "192.0.2.1")
    turns.start("b.example", 30.0)
    assert turns.wait_for("a.example", 30.0) == 0.0


def test_a_resting_host_is_left_alone_and_a_shorter_rest_changes_nothing() -> None:
    turns = HostPacing(PacingPolicy())
    turns.rest("a.example", 600.0)
    turns.rest("a.example", 60.0)
    assert turns.wait_for("a.example", 0.0) == 600.0
    assert turns.wait_for("a.example", 600.0) == 0.0


def test_what_happened_before_a_restart_is_remembered() -> None:
    turns = HostPacing(PacingPolicy(requests_per_second=0.1))
    turns.seen("a.example", -4.0)
    assert turns.wait_for("a.example", 0.0) == 6.0


def test_a_turn_that_never_began_cannot_finish() -> None:
    with pytest.raises(ValueError, match="never started"):
        HostPacing(PacingPolicy()).finish("a.example", 0.0, None)


@pytest.mark.parametrize(
    "bad", [{"max_concurrency": 0}, {"requests_per_second": 0.0}, {"requests_per_second": -1.0}]
)
def test_a_policy_that_never_lets_anyone_through_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"at least 1|more than 0"):
        PacingPolicy(**bad)  # type: ignore[arg-type]


def test_idle_hosts_are_forgotten_but_not_busy_or_resting_ones() -> None:
    turns = HostPacing(PacingPolicy(remember_idle=60.0))
    turns.start("busy.example", 0.0)
    turns.rest("resting.example", 1e6)
    for number in range(50_000):
        host, now = f"h{number}.example", float(number)
        turns.start(host, now)
        turns.finish(host, now, f"198.51.{number % 200}.{number % 250}")
    assert len(turns) < 3000
    assert turns.wait_for("resting.example", 5e5) == 5e5
    turns.finish("busy.example", 1e5, None)


def test_where_a_host_lives_is_not_forgotten_before_its_first_turn() -> None:
    """Names that were looked up and wait share their address's turns, whoever else comes by."""
    turns = HostPacing(PacingPolicy(address_requests_per_second=5.0))
    turns.lives_at("one.example", "192.0.2.1")
    turns.lives_at("other.example", "192.0.2.1")
    for number in range(2000):
        turns.start(f"h{number}.example", 0.0)
        turns.finish(f"h{number}.example", 0.0, None)
    turns.start("one.example", 0.0)
    assert turns.wait_for("other.example", 0.0) == pytest.approx(0.2)


def test_a_crowd_of_hosts_that_never_have_a_turn_stays_bounded() -> None:
    turns = HostPacing(PacingPolicy(most_hosts=2000, requests_per_second=1000.0))
    for number in range(20_000):
        turns.lives_at(f"l{number}.example", "192.0.2.1")
        turns.start(f"h{number}.example", number * 0.01)
        turns.finish(f"h{number}.example", number * 0.01, None)
    assert len(turns) <= 2001


def test_an_address_that_was_asked_just_now_is_not_forgotten_with_the_idle() -> None:
    turns = HostPacing(PacingPolicy(remember_idle=0.0, address_requests_per_second=0.01))
    turns.start("a.example", 0.0)
    turns.finish("a.example", 0.0, "192.0.2.1")
    for number in range(5_000):
        turns.start(f"h{number}.example", number * 0.01)
        turns.finish(f"h{number}.example", number * 0.01, None)
    turns.lives_at("b.example", "192.0.2.1")
    assert len(turns) < 3_000
    assert turns.wait_for("b.example", 50.0) == 50.0


def test_a_crowd_of_hosts_in_no_time_stays_bounded() -> None:
    turns = HostPacing(PacingPolicy(most_hosts=2000, requests_per_second=1000.0))
    for number in range(20_000):
        turns.start(f"h{number}.example", number * 0.01)
        turns.finish(f"h{number}.example", number * 0.01, None)
    assert len(turns) <= 2000


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["start", "finish", "rest"]),
            st.sampled_from("abc"),
            st.floats(0, 2),
            st.sampled_from([None, "192.0.2.1", "192.0.2.2"]),
        ),
        max_size=60,
    )
)
def test_whoever_asks_first_is_always_polite(
    moves: list[tuple[str, str, float, str | None]],
) -> None:
    policy = PacingPolicy(max_concurrency=2, requests_per_second=1.0)
    turns, now = HostPacing(policy), 0.0
    starts: dict[str, list[float]] = {"a": [], "b": [], "c": []}
    open_now = dict.fromkeys("abc", 0)
    for move, host, passed, address in moves:
        now += passed
        if move == "start" and turns.wait_for(host, now) == 0.0:
            turns.start(host, now)
            starts[host].append(now)
            open_now[host] += 1
        elif move == "finish" and open_now[host]:
            turns.finish(host, now, address)
            open_now[host] -= 1
        elif move == "rest":
            turns.rest(host, now + passed)
        assert max(open_now.values()) <= 2
    for moments in starts.values():
        assert all(b - a >= 0.999 for a, b in pairwise(moments))
