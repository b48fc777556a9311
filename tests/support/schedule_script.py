"""A scripted schedule: fixed states × fixed visits, and one feed visited again and again.

All inputs are written as they are stored, so whatever replays stored decisions can run the script.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

Stored = Mapping[str, Any]
Replay = Callable[[Stored], Any]

NOW = "2026-03-02T12:00:00Z"
"""A Monday noon."""
_NOON = 1_772_452_800
_HOUR, _DAY = 3_600, 86_400

POLICIES: dict[str, Stored] = {
    "as shipped": {"defaults": 1},
    "narrow": {
        "defaults": 1,
        "min_interval": 600.0,
        "max_interval": 7_200.0,
        "initial_interval": 1_200.0,
        "error_budget": 3,
        "retry_after_cap": 10_000.0,
        "jitter_ratio": 0.5,
    },
}

STATES: dict[str, Stored] = {
    "never visited": {"interval": 900.0},
    "posts every two hours": {
        "interval": 3_600.0,
        "ewma": 7_200.0,
        "recent_published": [_NOON - 3 * _HOUR, _NOON - _HOUR],
    },
    "silent for ten days": {
        "interval": 7_200.0,
        "ewma": 3_600.0,
        "recent_published": [_NOON - 10 * _DAY - _HOUR, _NOON - 10 * _DAY],
    },
    "at the shortest interval": {"interval": 300.0},
    "at the longest interval": {"interval": 86_400.0},
    "failed twice": {"interval": 1_800.0, "failures": 2},
    "one failure before its circuit opens": {"interval": 900.0, "failures": 9},
    "circuit open": {"interval": 900.0, "failures": 30},
    "gone once": {"interval": 900.0, "failures": 1, "gone": 1},
    "ordered every hour": {"interval": 900.0, "asked_interval": 3_600.0},
    "ordered every minute": {"interval": 900.0, "asked_interval": 60.0},
    "ordered every month": {"interval": 900.0, "asked_interval": 2_592_000.0},
    "its news are pushed": {"interval": 900.0, "push_only": True},
    "releases are collected from it": {"interval": 3_600.0, "ceiling": 1_800.0},
    "ttl of two hours": {"interval": 900.0, "hints": {"ttl_minutes": 120}},
    "updated twice a day": {"interval": 900.0, "hints": {"update_seconds": 43_200.0}},
    "fresh for a day": {"interval": 900.0, "hints": {"fresh_for": 86_400.0}},
    "quiet this afternoon": {
        "interval": 3_600.0,
        "hints": {"skip_hours": [12, 13, 14, 15, 16, 17]},
    },
    "quiet this week": {
        "interval": 3_600.0,
        "hints": {"skip_days": ["Mon", "Tue", "Wed", "Thu", "Fri"]},
    },
}

VISITS: dict[str, Stored] = {
    "one new entry": {
        "met": "ReadDocument",
        "new_entries": 1,
        "published": [_NOON - 5 * _HOUR, _NOON - 600],
    },
    "two new entries": {"met": "ReadDocument", "new_entries": 2, "hints": {}},
    "twelve new entries and a ttl": {
        "met": "ReadDocument",
        "new_entries": 12,
        "hints": {"ttl_minutes": 90},
    },
    "nothing new": {"met": "ReadDocument", "new_entries": 0},
    "nothing new, fresh for six hours": {
        "met": "ReadDocument",
        "new_entries": 0,
        "fresh_for": 21_600.0,
    },
    "304": {"met": "NotModified"},
    "304, fresh for an hour": {"met": "NotModified", "fresh_for": 3_600.0},
    "429": {"met": "ToldToWait"},
    "429 for ten seconds": {"met": "ToldToWait", "retry_after": 10.0},
    "429 for two hours": {"met": "ToldToWait", "retry_after": 7_200.0},
    "429 for a month": {"met": "ToldToWait", "retry_after": 2_592_000.0},
    "timeout": {"met": "Trouble", "code": "timeout"},
    "500, and come back in three hours": {
        "met": "Trouble",
        "code": "http_500",
        "retry_after": 10_800.0,
    },
    "410": {"met": "SaidGone"},
}

DIARY = (
    *("two new entries", "nothing new", "304", "304, fresh for an hour", "304"),
    *("two new entries", "twelve new entries and a ttl", "two new entries", "304"),
    *("429 for two hours", "429", "429 for ten seconds", "nothing new"),
    *("500, and come back in three hours", *["timeout"] * 10, "two new entries", "304"),
    *("410", "one new entry", "nothing new, fresh for six hours", "304", "410", "410"),
)
"""What one feed meets, visit by visit, until it is gone for good."""


def scripted_reasons(replay: Replay) -> Iterator[str]:
    """Each decision on a line of its own: code, interval, next visit and reason."""
    for policy in POLICIES:
        for state in STATES:
            for visit in VISITS:
                luck = Random(f"{policy}, {state}, {visit}").uniform(-1, 1)
                inputs = _inputs(STATES[state], visit, policy, NOW, luck)
                yield f"{policy}, {state}, {visit}: {_in_words(replay(inputs))}"


def scripted_diary(replay: Replay) -> Iterator[str]:
    """One feed from its first visit to its last, each decision with what is stored of it."""
    for policy in POLICIES:
        state, now, luck = STATES["never visited"], NOW, Random(policy)
        for number, visit in enumerate(DIARY, start=1):
            decision = replay(_inputs(state, visit, policy, now, luck.uniform(-1, 1)))
            yield f"{policy}, visit {number}, {visit}: {_in_words(decision)}"
            yield f"    inputs {json.dumps(decision.inputs, sort_keys=True)}"
            state = json.loads(json.dumps(decision.state.as_json()))
            yield f"    state {json.dumps(state, sort_keys=True)}"
            if decision.next is not None:
                now = decision.next.isoformat()


def _inputs(state: Stored, visit: str, policy: str, now: str, luck: float) -> Stored:
    return {
        "state": state,
        "visited": VISITS[visit],
        "policy": POLICIES[policy],
        "now": now,
        "luck": luck,
    }


def _in_words(decision: Any) -> str:
    moment = "never" if decision.next is None else decision.next.isoformat()
    return f"{decision.code} | {decision.interval:.3f} | {moment} | {decision.reason}"
