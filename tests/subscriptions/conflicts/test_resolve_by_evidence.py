"""Conflicts and what the candidates' visits say about them: shown, and where allowed, followed."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.values.ids import FetcherId
from headwater.core.values.keep import KEEP
from headwater.entrypoints.api.app import create_app
from headwater.settings import Settings
from headwater.subscriptions.conflicts import conflict_rows
from headwater.subscriptions.conflicts.conflict import Conflict
from headwater.subscriptions.conflicts.conflict_commands import resolve_conflict
from headwater.subscriptions.conflicts.evidence import NoSuggestion, Suggestion, suggestion_for
from headwater.subscriptions.conflicts.resolve_by_evidence import (
    resolve_by_evidence,
    resolve_new_conflict,
    resolve_open_conflicts,
)
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.fetcher import Fetcher, FetcherPatch
from headwater.subscriptions.subscription import Subscription
from headwater.wiring.policies import evidence_policy
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.scripted_engine import ScriptedWeb, an_engine
from tests.support.visit_history import OK, SAME, Ledger

HOST = "https://example.org"


@pytest.fixture
def engine(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> EngineParts:
    return an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)


@pytest.fixture
def ledger(engine: EngineParts) -> Ledger:
    return Ledger(engine)


@pytest.fixture
def api(engine: EngineParts, tmp_path: Path) -> Api:
    return Api(create_app(engine.services, Settings(data_dir=tmp_path)))


@pytest.fixture
def allowed(engine: EngineParts) -> None:
    """`auto_resolve` is on."""
    engine.evidence = replace(engine.evidence, auto_resolve=True)


class Story:
    """Two fetchers that have been at example.org before, and a subscription both could take."""

    def __init__(self, ledger: Ledger, good: Fetcher, poor: Fetcher, wanted: Subscription) -> None:
        self.ledger, self.good, self.poor, self.wanted = ledger, good, poor, wanted

    async def conflict(self) -> Conflict:
        return await self.ledger.conflict(self.wanted, self.poor, self.good)

    async def told(self, conflict: Conflict) -> Suggestion | NoSuggestion:
        engine = self.ledger.engine
        async with engine.database.read() as view:
            return await suggestion_for(view, conflict, engine.evidence, engine.clock.now())

    async def after(self, conflict: Conflict) -> Conflict:
        async with self.ledger.engine.database.read() as view:
            return await conflict_rows.get_conflict(view, conflict.id)


async def story(ledger: Ledger, good: list[str], poor: list[str]) -> Story:
    """`poor` is the older one, and has the subscription until somebody decides."""
    bad, better = await ledger.fetcher("poor"), await ledger.fetcher("good")
    for fetcher, ends in ((bad, poor), (better, good)):
        # Over two feeds of the host: the figures are the fetcher's, not one feed's.
        half = len(ends) // 2
        for number, some in enumerate((ends[:half], ends[half:])):
            made = await ledger.subscribe(fetcher, f"{HOST}/{fetcher.name}/{number}")
            await ledger.visits(made, some)
    wanted = await ledger.subscribe(bad, f"{HOST}/wanted")
    await ledger.count()
    return Story(ledger, better, bad, wanted)


GOOD = [OK, SAME] * 14 + [OK, "timeout"]
POOR = [OK] * 10 + ["timeout"] * 15 + ["http_502"] * 5


async def test_a_conflict_shows_the_better_fetcher_with_the_right_counts(
    ledger: Ledger, api: Api
) -> None:
    told = await story(ledger, GOOD, POOR)
    conflict = await told.conflict()
    said = (await api.get(f"/conflicts/{conflict.id}")).json
    assert said["resolution_status"] == "unresolved"
    assert said["suggestion"] == {
        "fetcher_id": told.good.id,
        "confidence": "strong",
        "doubt": None,
        "why": "Visits to example.org in the last 30 days:"
        " good succeeded in 29 of 30, poor succeeded in 10 of 30.",
        "host": "example.org",
        "days": 30,
        "min_visits": 20,
        "evidence": [
            {
                "fetcher_id": told.poor.id,
                "name": "poor",
                "visits": 30,
                "judged_visits": 30,
                "successes": 10,
                "failures": 20,
                "success_rate": 10 / 30,
                "success_rate_low": 0.1923,
                "success_rate_high": 0.5122,
                "errors": {"http_502": 5, "timeout": 15},
                "new_entries": 0,
                "dated_entries": 0,
                "mean_late_sec": None,
            },
            {
                "fetcher_id": told.good.id,
                "name": "good",
                "visits": 30,
                "judged_visits": 30,
                "successes": 29,
                "failures": 1,
                "success_rate": 29 / 30,
                "success_rate_low": 0.8333,
                "success_rate_high": 0.9941,
                "errors": {"timeout": 1},
                "new_entries": 0,
                "dated_entries": 0,
                "mean_late_sec": None,
            },
        ],
    }


async def test_below_the_stated_number_of_visits_there_is_no_suggestion(
    ledger: Ledger, api: Api
) -> None:
    told = await story(ledger, [OK] * 40, ["timeout"] * 19)
    conflict = await told.conflict()
    advice = (await api.get(f"/conflicts/{conflict.id}")).json["suggestion"]
    assert (advice["fetcher_id"], advice["confidence"]) == (None, None)
    assert advice["doubt"] == "too_few_visits"
    assert advice["why"].endswith("; poor has 19.")
    assert [(each["name"], each["visits"]) for each in advice["evidence"]] == [
        ("poor", 19),
        ("good", 40),
    ]


async def test_equal_evidence_suggests_nobody(ledger: Ledger) -> None:
    told = await story(ledger, GOOD, GOOD)
    advice = await told.told(await told.conflict())
    assert isinstance(advice, NoSuggestion)
    assert advice.doubt == "no_difference"


async def test_only_this_host_and_these_days_count(ledger: Ledger) -> None:
    told = await story(ledger, GOOD, GOOD)
    elsewhere = await ledger.subscribe(told.poor, "https://elsewhere.example/feed")
    await ledger.visits(elsewhere, ["timeout"] * 50)
    await ledger.visits(told.wanted, ["timeout"] * 50, ago=timedelta(days=31))
    await ledger.count()
    advice = await told.told(await told.conflict())
    assert isinstance(advice, NoSuggestion)
    assert [(each.visits, each.failures) for each in advice.tallies] == [(30, 1), (30, 1)]


async def test_a_visit_counts_for_whoever_made_it(ledger: Ledger) -> None:
    """The subscription is with `poor`; what `good` did for it before is still `good`'s."""
    told = await story(ledger, GOOD, GOOD)
    await ledger.visits(told.wanted, [OK] * 7, fetcher=told.good)
    await ledger.count()
    advice = await told.told(await told.conflict())
    assert [(each.name, each.visits) for each in advice.tallies] == [("poor", 30), ("good", 37)]


async def test_who_is_sooner_decides_between_equals(ledger: Ledger) -> None:
    told = await story(ledger, [OK] * 20, [OK] * 20)
    for fetcher, late in ((told.good, 60.0), (told.poor, 600.0)):
        seen = await ledger.subscribe(fetcher, f"{HOST}/dated/{fetcher.name}")
        await ledger.visits(
            seen,
            [OK] * 10,
            new_entries=3,
            dated_entries=2,
            late_sec=2 * late,
            late_squares=2 * late * late,
        )
    await ledger.count()
    advice = await told.told(await told.conflict())
    assert isinstance(advice, Suggestion)
    assert (advice.fetcher_id, advice.confidence) == (told.good.id, "slight")
    assert [(each.dated_entries, each.mean_late_sec) for each in advice.tallies] == [
        (20, 600.0),
        (20, 60.0),
    ]


async def test_a_disabled_candidate_is_not_suggested(ledger: Ledger) -> None:
    told = await story(ledger, GOOD, POOR)
    await switch_off(ledger, told.good)
    advice = await told.told(await told.conflict())
    assert isinstance(advice, NoSuggestion)
    assert advice.doubt == "too_few_candidates"


async def switch_off(ledger: Ledger, fetcher: Fetcher) -> None:
    patch = FetcherPatch(is_enabled=False, priority=KEEP)
    async with ledger.engine.database.write() as tx:
        await fetcher_rows.update_fetcher(tx, fetcher.id, patch, ledger.now)


async def test_a_resolved_conflict_has_no_suggestion(ledger: Ledger, api: Api) -> None:
    told = await story(ledger, GOOD, POOR)
    conflict = await told.conflict()
    await resolve_conflict(conflict.id, told.poor.id, ledger.engine.database, "somebody")
    said = (await api.get(f"/conflicts/{conflict.id}")).json
    assert (said["resolution_status"], said["suggestion"]) == ("resolved", None)


async def test_without_leave_nothing_is_decided(ledger: Ledger) -> None:
    told = await story(ledger, GOOD, POOR)
    conflict = await told.conflict()
    assert not await resolve_by_evidence(conflict.id, ledger.engine.registry)
    assert not await resolve_new_conflict(told.wanted.id, ledger.engine.registry)
    assert await resolve_open_conflicts(ledger.engine.registry) == 0
    assert (await told.after(conflict)).status == "unresolved"


WHY = (
    "Visits to example.org in the last 30 days:"
    " good succeeded in 29 of 30, poor succeeded in 10 of 30."
)


@pytest.mark.usefixtures("allowed")
async def test_a_conflict_that_opens_is_decided_by_strong_evidence(
    ledger: Ledger, api: Api
) -> None:
    told = await story(ledger, GOOD, POOR)
    answer = await api.post(
        "/conflicts",
        {
            "subscription_id": told.wanted.id,
            "conflict_type": "multi_fetcher_match",
            "conflict_data": {
                "candidate_fetcher_ids": [told.poor.id, told.good.id],
                "conflict_reason": "both can",
            },
        },
    )
    assert answer.status == 201
    said = answer.json
    assert said["resolution_status"] == "resolved"
    assert said["resolution_data"] == {
        "resolved_fetcher_id": told.good.id,
        "resolved_at": "2026-01-05T12:00:00Z",
        "resolution_reason": WHY,
        "resolved_by": "auto",
    }
    after = (await api.get(f"/subscriptions/{told.wanted.id}")).json
    assert (after["fetcher_id"], after["auto_selected"]) == (told.good.id, True)
    assert after["assignment_status"] == "auto_assigned"
    newest = (await api.get(f"/subscriptions/{told.wanted.id}/history")).json["history"][0]
    assert (newest["who"], newest["what"], newest["why"]) == ("auto", "conflict_resolved", WHY)
    assert newest["before"]["fetcher_id"] == told.poor.id
    assert newest["after"]["fetcher_id"] == told.good.id
    events = (await api.get("/events?type=conflict_resolved")).json["events"]
    assert len(events) == 1


@pytest.mark.usefixtures("allowed")
async def test_the_conflict_of_a_new_subscription_is_found_and_decided(ledger: Ledger) -> None:
    told = await story(ledger, GOOD, POOR)
    assert not await resolve_new_conflict(told.wanted.id, ledger.engine.registry)
    conflict = await told.conflict()
    assert await resolve_new_conflict(told.wanted.id, ledger.engine.registry)
    assert (await told.after(conflict)).chosen == told.good.id


@pytest.mark.usefixtures("allowed")
async def test_an_open_conflict_is_decided_once_its_evidence_is_strong(ledger: Ledger) -> None:
    told = await story(ledger, [OK] * 30, ["timeout"] * 19)
    conflict = await told.conflict()
    assert await resolve_open_conflicts(ledger.engine.registry) == 0
    await ledger.visits(told.wanted, ["timeout"])
    await ledger.count()
    assert await resolve_open_conflicts(ledger.engine.registry) == 1
    assert await resolve_open_conflicts(ledger.engine.registry) == 0
    after = await told.after(conflict)
    assert (after.status, after.chosen) == ("resolved", told.good.id)


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize(
    ("good", "poor"),
    [
        ([OK] * 90 + ["timeout"] * 10, [OK] * 75 + ["timeout"] * 25),  # clear, not strong
        ([OK] * 30, [OK] * 29 + ["timeout"]),  # no difference
        ([OK] * 200, ["timeout"] * 18),  # too few
    ],
)
async def test_weaker_evidence_is_left_to_a_person(
    ledger: Ledger, good: list[str], poor: list[str]
) -> None:
    told = await story(ledger, good, poor)
    conflict = await told.conflict()
    assert not await resolve_by_evidence(conflict.id, ledger.engine.registry)
    assert (await told.after(conflict)).status == "unresolved"


@pytest.mark.usefixtures("allowed")
async def test_a_person_who_was_faster_is_not_overruled(ledger: Ledger) -> None:
    told = await story(ledger, GOOD, POOR)
    conflict = await told.conflict()
    await resolve_conflict(conflict.id, told.poor.id, ledger.engine.database, "somebody")
    assert not await resolve_by_evidence(conflict.id, ledger.engine.registry)
    after = await told.after(conflict)
    assert (after.chosen, (after.resolution or {})["resolved_by"]) == (told.poor.id, "somebody")


@pytest.mark.usefixtures("allowed")
async def test_a_person_who_comes_in_between_is_not_overruled(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the evidence and the decision."""
    told = await story(ledger, GOOD, POOR)
    conflict = await told.conflict()
    monkeypatch.setattr(
        "headwater.subscriptions.conflicts.resolve_by_evidence.resolve_conflict",
        after_somebody(told.poor.id),
    )
    assert not await resolve_by_evidence(conflict.id, ledger.engine.registry)
    assert (await told.after(conflict)).chosen == told.poor.id


def after_somebody(chosen: FetcherId) -> Callable[..., Awaitable[Conflict]]:
    async def resolve(conflict_id: int, *said: Any, **more: Any) -> Conflict:
        _, database, _ = said
        await resolve_conflict(conflict_id, chosen, database, "somebody")
        return await resolve_conflict(conflict_id, *said, **more)

    return resolve


def test_settings_say_how_much_evidence_is_asked_for(tmp_path: Path) -> None:
    usual = evidence_policy(Settings(data_dir=tmp_path))
    assert (usual.min_visits, usual.days, usual.auto_resolve) == (20, 30, False)
    said = Settings(
        data_dir=tmp_path, suggestion_min_visits=5, suggestion_days=7, auto_resolve=True
    )
    strict = evidence_policy(said)
    assert (strict.min_visits, strict.days, strict.auto_resolve) == (5, 7, True)
