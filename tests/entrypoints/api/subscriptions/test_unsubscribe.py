"""Letting subscriptions go, softly and for good, and bringing them back with their history."""

from tests.support.clock import VirtualClock
from tests.support.scripted_fetchers import Registry

ADA = "https://ada.example/feed"


async def test_unsubscribing_softly_keeps_everything_and_closes_its_conflict(
    registry: Registry, virtual_clock: VirtualClock
) -> None:
    await registry.joined("one")
    await registry.joined("other")
    made = (await registry.subscribed(ADA)).json
    await virtual_clock.advance(10)
    gone = await registry.api.delete("/subscriptions/1")
    assert (gone.status, gone.json["rows_deleted"]) == (200, 1)
    shown = (await registry.api.get("/subscriptions/1")).json
    assert (shown["is_active"], shown["next_fetch_at"]) == (False, None)
    assert (await registry.api.get(f"/feeds/{made['feed_id']}")).json["state"] == "removed"
    (conflict,) = (await registry.api.get("/conflicts?status=all")).json["conflicts"]
    assert conflict["resolution_status"] == "resolved"
    assert conflict["resolution_data"]["resolved_fetcher_id"] is None
    assert conflict["resolution_data"]["resolution_reason"] == "subscription_deleted"
    assert [kind for kind, _ in await registry.events()] == [
        "subscription_created",
        "conflict_opened",
        "conflict_resolved",
        "subscription_deleted",
    ]
    again = await registry.api.delete("/subscriptions/1")
    assert (again.status, again.json["rows_deleted"]) == (200, 0)
    assert len(await registry.events()) == 4


async def test_what_comes_back_has_its_number_its_feed_and_its_history(
    registry: Registry, virtual_clock: VirtualClock
) -> None:
    first = (await registry.subscribed(ADA, name="Ada")).json
    await registry.api.delete("/subscriptions/1")
    await virtual_clock.advance(10)
    again = (await registry.subscribed("https://ADA.example:443/feed", name="Ada again")).json
    for field in ("subscription_id", "feed_id", "created_at"):
        assert again[field] == first[field]
    assert (again["is_active"], again["name"]) == (True, "Ada again")
    assert again["next_fetch_at"] == again["updated_at"] == "2026-01-05T12:00:10Z"
    assert [each["what"] for each in await registry.history(1)] == [
        "created",
        "deleted",
        "revived",
    ]
    kind, told = (await registry.events())[-1]
    assert (kind, told["revived"]) == ("subscription_created", True)


async def test_a_subscription_is_switched_off_and_on_again(
    registry: Registry, virtual_clock: VirtualClock
) -> None:
    fetcher = await registry.joined("remote")
    made = (await registry.subscribed(ADA, name="Ada", config={"a": 1}, fetcher_id=fetcher)).json
    off = (await registry.api.patch("/subscriptions/1", {"is_active": False})).json
    assert (off["is_active"], off["next_fetch_at"]) == (False, None)
    refused = await registry.api.patch("/subscriptions/1", {"name": "other"})
    assert (refused.status, refused.error) == (409, "conflict")
    await virtual_clock.advance(100)
    on = (await registry.api.patch("/subscriptions/1", {"is_active": True, "name": "B"})).json
    assert (on["is_active"], on["name"], on["config"]) == (True, "B", made["config"])
    assert on["fetcher_id"] == fetcher
    assert on["next_fetch_at"] == "2026-01-05T12:01:40Z"
    assert await registry.column(on["feed_id"], "shard") == -fetcher
    assert [each["what"] for each in await registry.history(1)] == [
        "created",
        "deleted",
        "revived",
        "changed",
    ]
    same = await registry.api.patch("/subscriptions/1", {"is_active": True})
    assert (same.status, len(await registry.history(1))) == (200, 4)


async def test_deleting_for_good_leaves_one_event(registry: Registry) -> None:
    made = (await registry.subscribed("https://ada.example/feed?token=hush")).json
    gone = await registry.api.delete("/subscriptions/1?hard=true")
    assert (gone.status, gone.json["rows_deleted"], gone.json["hard"]) == (200, 1, True)
    for target in ("/subscriptions/1", "/subscriptions/1/history", f"/feeds/{made['feed_id']}"):
        assert (await registry.api.get(target)).status == 404
    kind, told = (await registry.events())[-1]
    assert kind == "subscription_deleted"
    assert (told["feed_id"], told["hard"]) == (made["feed_id"], True)
    assert told["source_url"] == "https://ada.example/feed?token=REDACTED"
    assert "hush" not in str(await registry.events())
    assert (await registry.api.delete("/subscriptions/1?hard=true")).status == 404


async def test_a_softly_deleted_one_can_be_deleted_for_good_by_its_url(
    registry: Registry,
) -> None:
    await registry.subscribed(ADA)
    target = "/subscriptions/https%3A%2F%2Fada.example%2Ffeed"
    assert (await registry.api.delete(target)).status == 200
    assert (await registry.api.delete(target)).status == 404
    assert (await registry.api.delete(target + "?hard=true")).status == 200
    assert (await registry.api.get("/subscriptions/1")).status == 404


async def test_who_comes_back_to_another_fetcher_is_told_of_before_it_is_told_where_to(
    registry: Registry,
) -> None:
    """Whoever follows the events in order must end with the fetcher that has it now."""
    first, second = await registry.joined("first"), await registry.joined("second", priority=10)
    await registry.subscribed("https://sources.example/a")
    await registry.api.delete("/subscriptions/1")
    back = await registry.api.patch("/subscriptions/1", {"is_active": True, "fetcher_id": second})
    assert (back.status, back.json["fetcher_id"]) == (200, second)
    told = [(name, payload["fetcher_id"]) for name, payload in await registry.events()]
    assert told[-2:] == [("subscription_created", first), ("subscription_assigned", second)]
