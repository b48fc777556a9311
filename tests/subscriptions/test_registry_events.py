"""What events of the registry say, and what they never say."""

from datetime import UTC, datetime

from headwater.core.values.ids import FeedId, FeedPk, FetcherId
from headwater.events import event
from headwater.subscriptions import registry_events
from headwater.subscriptions.conflicts.conflict import Conflict
from headwater.subscriptions.subscription import Subscription

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
COMMON = {
    "subscription_id": 42,
    "feed_id": "f",
    "source_url": "https://a.example/?token=REDACTED",
    "source_type": "rss",
    "fetcher_id": 3,
    "fetcher": "forum",
    "assignment_status": "assigned",
}


def wanted(fetcher_id: int = 3, fetcher: str = "forum") -> Subscription:
    return Subscription(
        id=42, fetcher_id=FetcherId(fetcher_id), fetcher_name=fetcher, feed_id=FeedId("f"),
        feed_pk=FeedPk(7), source_url="https://a.example/?token=hunter2", source_type="rss",
        name="Mine", description=None, last_fetched_at=None, next_fetch_at=NOON,
        fetch_interval_minutes=15, is_active=True, config='{"password":"hunter2"}',
        assignment_status="assigned", auto_selected=False, assigned_at=NOON, group_id=None,
        created_at=NOON, updated_at=NOON,
    )  # fmt: skip


CONFLICT = Conflict(
    id=15, subscription_id=42, source_url="https://a.example/?token=hunter2",
    type="multi_fetcher_match", candidates=(FetcherId(1), FetcherId(3)), reason="a tie",
    status="resolved", resolved_at=NOON, created_at=NOON, updated_at=NOON, candidate_names={},
    resolution={"resolved_fetcher_id": 3, "resolution_reason": "better", "resolved_by": "ada"},
)  # fmt: skip
TOLD = [
    registry_events.subscription_created(wanted()),
    registry_events.subscription_changed(wanted(), ["name", "config"]),
    registry_events.subscription_assigned(wanted(), wanted(1, "feed"), "better"),
    registry_events.subscription_deleted(
        wanted(), "https://b.example/?key=hunter2", "2026-01-05T12:00:00Z", hard=True
    ),
    registry_events.conflict_opened(CONFLICT, wanted()),
    registry_events.conflict_resolved(CONFLICT, wanted()),
]


def test_every_event_of_the_registry_says_whose_it_is() -> None:
    for each in TOLD:
        assert each.feed_id == "f"
        assert each.payload.items() >= COMMON.items()


def test_each_says_what_is_its_own() -> None:
    own = {each.type: set(each.payload) - set(COMMON) for each in TOLD}
    assert own == {
        "subscription_created": {"revived"},
        "subscription_changed": {"changed"},
        "subscription_assigned": {"former_fetcher_id", "former_fetcher", "reason"},
        "subscription_deleted": {"url", "deleted_at", "hard"},
        "conflict_opened": {"conflict_id", "conflict_type", "candidate_fetcher_ids"},
        "conflict_resolved": {
            "conflict_id", "conflict_type", "candidate_fetcher_ids", "resolved_fetcher_id",
            "reason",
        },
    }  # fmt: skip
    changed, assigned, resolved = TOLD[1].payload, TOLD[2].payload, TOLD[5].payload
    assert changed["changed"] == ["config", "name"]
    assert (assigned["former_fetcher_id"], assigned["former_fetcher"]) == (1, "feed")
    assert (resolved["resolved_fetcher_id"], resolved["reason"]) == (3, "better")


def test_no_secret_is_told() -> None:
    for each in TOLD:
        assert "hunter2" not in str(each.payload)
        assert each.type in event.EVENT_TYPES
