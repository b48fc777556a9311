"""The overrides of a feed: how they are stored, what they do to its schedule, where they stand."""

from datetime import UTC, datetime

import orjson
import pytest

from headwater.feeds.overrides import (
    NO_OVERRIDES,
    Overrides,
    decode_overrides,
    encode_overrides,
)
from headwater.feeds.schedule.decide_next_visit import decide_next_visit, replay_decision
from headwater.feeds.schedule.hints import LONGEST
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.schedule.state import NotModified, ScheduleState
from tests.support.source_tree import SRC

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
EVERY = Overrides("Mine", 600, 7_200.5, 1_800, True, True, True, False, 900)


def test_a_setting_is_named_in_few_source_files() -> None:
    """Who adds one touches these, and the docs. Beside them stands what protoc generates."""
    sources = [*SRC.rglob("*.py"), *SRC.rglob("*.proto")]
    naming = sorted(
        path.relative_to(SRC).as_posix()
        for path in sources
        if "push_only" in path.read_text() and not path.name.startswith("headwater_pb2")
    )
    assert naming == [
        "client/grpc/headwater.proto",
        "entrypoints/api/feeds/feed_records.py",
        "feeds/overrides.py",
        "feeds/schedule/decide_next_visit.py",
    ]


def test_only_what_is_not_the_default_is_stored_in_the_order_of_the_settings() -> None:
    assert encode_overrides(NO_OVERRIDES) == "{}"
    assert encode_overrides(Overrides(interval_sec=1_800.0)) == '{"interval_sec":1800.0}'
    assert encode_overrides(EVERY) == (
        '{"title":"Mine","min_interval_sec":600,"max_interval_sec":7200.5,"interval_sec":1800,'
        '"disable_autodiscovery":true,"push_only":true,"archive_backfill":true,"verify_tls":false,'
        '"ceiling_sec":900}'
    )


def test_what_is_stored_is_read_as_it_was() -> None:
    assert decode_overrides(encode_overrides(EVERY)) == EVERY
    assert decode_overrides("{}") is NO_OVERRIDES


def test_a_setting_of_a_later_version_is_left_out() -> None:
    assert decode_overrides('{"colour":"red","push_only":true}') == Overrides(push_only=True)


def test_none_puts_a_setting_back_to_its_default() -> None:
    changes = {"verify_tls": None, "title": None, "interval_sec": 60}
    assert EVERY.changed(changes) == Overrides(None, 600, 7_200.5, 60, True, True, True, True, 900)


def test_without_limits_the_policy_is_everybodys() -> None:
    policy = SchedulePolicy()
    assert Overrides("Mine", interval_sec=60).policy_from(policy) is policy
    own = Overrides(max_interval_sec=120).policy_from(policy)
    assert (own.min_interval, own.max_interval) == (120, 120)


@pytest.mark.parametrize(
    ("setting", "moves"),
    [
        ({"title": "Other"}, False),
        ({"verify_tls": True}, False),
        ({"disable_autodiscovery": False}, False),
        ({"archive_backfill": False}, False),
        ({"min_interval_sec": 700}, True),
        ({"max_interval_sec": None}, True),
        ({"interval_sec": 60}, True),
        ({"push_only": False}, True),
        ({"ceiling_sec": None}, True),
    ],
)
def test_only_the_settings_of_the_pace_move_the_next_visit(
    setting: dict[str, object], moves: bool
) -> None:
    assert EVERY.changed(setting).has_pace_of(EVERY) is not moves


@pytest.mark.parametrize("nonsense", [0, -1.0, float("nan")])
def test_a_duration_that_is_none_does_not_reach_a_decision(nonsense: float) -> None:
    wrong = Overrides(interval_sec=nonsense, ceiling_sec=nonsense)
    assert wrong.finite() == NO_OVERRIDES
    assert Overrides(interval_sec=float("inf")).finite() == Overrides(interval_sec=LONGEST)
    assert EVERY.finite() is EVERY


def test_a_fixed_interval_that_is_taken_back_leaves_the_interval_of_the_rhythm() -> None:
    ordered = ScheduleState(86_400.0, overrides=Overrides(interval_sec=86_400.0))
    assert ordered.with_overrides(NO_OVERRIDES, SchedulePolicy()) == ScheduleState(900.0)
    still = Overrides(push_only=True)
    assert ordered.with_overrides(still, SchedulePolicy()).interval == 86_400.0


def test_a_decision_stores_the_settings_it_obeys_by_the_names_they_always_had() -> None:
    state = ScheduleState(900.0, failures=1, overrides=EVERY)
    decision = decide_next_visit(state, NotModified(), SchedulePolicy(), NOON, 0.0)
    assert orjson.dumps(decision.inputs) == (
        b'{"state":{"interval":900.0,"failures":1,"asked_interval":1800,"push_only":true,'
        b'"ceiling":900},"visited":{"met":"NotModified"},"policy":{"defaults":1},'
        b'"now":"2026-01-05T12:00:00Z","luck":0.0}'
    )
    again = replay_decision(orjson.loads(orjson.dumps(decision.inputs)))
    assert (again.next, again.reason, again.code) == (decision.next, decision.reason, decision.code)
    assert again.inputs == decision.inputs
