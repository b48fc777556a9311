"""What may be chosen in a conflict."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from headwater.core.errors import AlreadyResolved, InvalidFetcher
from headwater.core.values.ids import FetcherId
from headwater.subscriptions.conflicts.conflict import Conflict, is_new_choice

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
OPEN = Conflict(
    id=15, subscription_id=42, source_url="https://a.example/", type="multi_fetcher_match",
    candidates=(FetcherId(1), FetcherId(3), FetcherId(5)), reason="a tie", status="unresolved",
    resolution=None, resolved_at=None, created_at=NOON, updated_at=NOON, candidate_names={},
)  # fmt: skip
DECIDED = replace(OPEN, status="resolved", resolution={"resolved_fetcher_id": 3})
CLOSED = replace(OPEN, status="resolved", resolution={"resolved_fetcher_id": None})


def test_a_candidate_may_be_chosen() -> None:
    assert is_new_choice(OPEN, FetcherId(3)) is True


def test_the_same_choice_again_is_nothing_to_do() -> None:
    assert is_new_choice(DECIDED, FetcherId(3)) is False


@pytest.mark.parametrize("conflict", [OPEN, DECIDED, CLOSED])
def test_who_is_no_candidate_is_refused_with_those_who_are(conflict: Conflict) -> None:
    with pytest.raises(InvalidFetcher, match="Fetcher 2 is not a candidate") as refused:
        is_new_choice(conflict, FetcherId(2))
    assert refused.value.status == 400
    assert refused.value.facts["candidates"] == [1, 3, 5]


@pytest.mark.parametrize(("conflict", "chosen"), [(DECIDED, 3), (CLOSED, None)])
def test_what_was_decided_is_not_decided_otherwise(conflict: Conflict, chosen: int | None) -> None:
    with pytest.raises(AlreadyResolved) as refused:
        is_new_choice(conflict, FetcherId(5))
    assert (refused.value.status, refused.value.facts["resolved_fetcher_id"]) == (409, chosen)
