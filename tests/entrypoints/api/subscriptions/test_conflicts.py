"""Conflicts over HTTP: opened once, decided once, and every decision kept with its reason."""

import asyncio

import orjson
import pytest

from headwater.core.errors import DatabaseError
from tests.support.clock import VirtualClock
from tests.support.log_lines import heard
from tests.support.scripted_fetchers import Registry

ADA = "https://ada.example/feed"


async def two_tied(registry: Registry) -> tuple[int, int]:
    """Two fetchers that can both, and a subscription that waits for a choice between them."""
    pair = await registry.joined("one"), await registry.joined("other")
    await registry.subscribed(ADA)
    return pair


async def test_a_tie_goes_to_the_oldest_until_somebody_decides(registry: Registry) -> None:
    one, other = await two_tied(registry)
    made = (await registry.api.get("/subscriptions/1")).json
    assert (made["fetcher_id"], made["assignment_status"]) == (one, "auto_assigned")
    shown = (await registry.api.get("/conflicts/1")).json
    assert shown["conflict_data"]["candidate_fetcher_ids"] == [one, other]
    kinds = [kind for kind, _ in await registry.events()]
    assert kinds == ["subscription_created", "conflict_opened"]


async def test_a_choice_changes_everything_at_once(
    registry: Registry, virtual_clock: VirtualClock
) -> None:
    one, other = await two_tied(registry)
    await virtual_clock.advance(60)
    said = {"fetcher_id": other, "resolution_reason": "it knows the torrents"}
    assert (await registry.api.post("/conflicts/1/resolve", said)).status == 200
    made = (await registry.api.get("/subscriptions/1")).json
    assert (made["fetcher_id"], made["assignment_status"]) == (other, "assigned")
    assert (made["auto_selected"], made["assigned_at"]) == (False, "2026-01-05T12:01:00Z")
    assert made["next_fetch_at"] == "2026-01-05T12:01:00Z"
    assert await registry.column(made["feed_id"], "shard") == -other
    (assigned, facts), (resolved, about) = (await registry.events())[-2:]
    assert (assigned, facts["fetcher_id"]) == ("subscription_assigned", other)
    assert facts["former_fetcher_id"] == one
    assert (resolved, about["resolved_fetcher_id"]) == ("conflict_resolved", other)
    decided = (await registry.history(1))[-1]
    assert decided == {
        "id": decided["id"],
        "at": "2026-01-05T12:01:00Z",
        "who": "loopback",
        "what": "conflict_resolved",
        "why": "it knows the torrents",
        "before": {
            "fetcher_id": one,
            "fetcher": "one",
            "assignment_status": "auto_assigned",
            "auto_selected": True,
            "is_active": True,
        },
        "after": {
            "fetcher_id": other,
            "fetcher": "other",
            "assignment_status": "assigned",
            "auto_selected": False,
            "is_active": True,
        },
        "conflict_id": 1,
    }


async def test_the_one_that_has_it_already_may_be_chosen_too(registry: Registry) -> None:
    one, _ = await two_tied(registry)
    before = (await registry.api.get("/subscriptions/1")).json
    assert (await registry.api.post("/conflicts/1/resolve", {"fetcher_id": one})).status == 200
    after = (await registry.api.get("/subscriptions/1")).json
    assert (after["fetcher_id"], after["assignment_status"]) == (one, "assigned")
    assert after["next_fetch_at"] == before["next_fetch_at"]
    kinds = [kind for kind, _ in await registry.events()]
    assert kinds[-1] == "conflict_resolved"
    assert "subscription_assigned" not in kinds


async def test_the_same_choice_again_has_no_effect_and_the_same_answer(
    registry: Registry, virtual_clock: VirtualClock
) -> None:
    _, other = await two_tied(registry)
    first = await registry.api.post("/conflicts/1/resolve", {"fetcher_id": other})
    told, decided = len(await registry.events()), len(await registry.history(1))
    await virtual_clock.advance(60)
    again = await registry.api.post("/conflicts/1/resolve", {"fetcher_id": other})
    assert (again.status, again.json) == (200, first.json)
    assert (len(await registry.events()), len(await registry.history(1))) == (told, decided)


async def test_another_choice_later_is_refused(registry: Registry) -> None:
    one, other = await two_tied(registry)
    await registry.api.post("/conflicts/1/resolve", {"fetcher_id": other})
    late = await registry.api.post("/conflicts/1/resolve", {"fetcher_id": one})
    assert (late.status, late.error) == (409, "already_resolved")
    assert late.json["resolved_fetcher_id"] == other
    assert (await registry.api.get("/subscriptions/1")).json["fetcher_id"] == other


async def test_of_several_who_decide_at_once_one_wins(registry: Registry) -> None:
    one, other = await two_tied(registry)
    answers = await asyncio.gather(
        *(
            registry.api.post("/conflicts/1/resolve", {"fetcher_id": choice})
            for choice in (one, other) * 4
        )
    )
    assert sorted(each.status for each in answers) == [200] * 4 + [409] * 4
    (winner,) = {each.json["resolved_fetcher_id"] for each in answers if each.status == 200}
    assert (await registry.api.get("/subscriptions/1")).json["fetcher_id"] == winner
    kinds = [kind for kind, _ in await registry.events()]
    assert kinds.count("conflict_resolved") == 1
    whats = [each["what"] for each in await registry.history(1)]
    assert whats.count("conflict_resolved") == 1


async def test_a_disabled_candidate_cannot_be_chosen(registry: Registry) -> None:
    one, other = await two_tied(registry)
    await registry.api.patch(f"/fetcher-modules/{other}", {"is_enabled": False})
    refused = await registry.api.post("/conflicts/1/resolve", {"fetcher_id": other})
    assert (refused.status, refused.error) == (400, "invalid_fetcher")
    assert refused.json["message"] == f"Fetcher {other} is not enabled"
    assert refused.json["candidates"] == [one, other]
    assert (await registry.api.get("/conflicts/1")).json["resolution_status"] == "unresolved"


async def test_a_candidate_that_is_gone_cannot_be_chosen(registry: Registry) -> None:
    one, other = await two_tied(registry)
    async with registry.engine.database.write() as tx:
        await tx.run("DELETE FROM fetcher_modules WHERE fetcher_id = ?", other)
    refused = await registry.api.post("/conflicts/1/resolve", {"fetcher_id": other})
    assert (refused.status, refused.error) == (400, "invalid_fetcher")
    assert refused.json["candidates"] == [one, other]
    shown = (await registry.api.get("/conflicts")).json["conflicts"][0]
    assert shown["candidate_fetchers"] == [{"fetcher_id": one, "name": "one"}]


async def test_a_detector_outside_opens_a_conflict(registry: Registry) -> None:
    one = await registry.joined("one", priority=1)
    await registry.subscribed(ADA)
    said = {
        "subscription_id": 1,
        "conflict_type": "multi_fetcher_match",
        "conflict_data": {
            "candidate_fetcher_ids": [1, one],
            "conflict_reason": "Multiple fetchers can handle anime feeds",
        },
    }
    made = await registry.api.post("/conflicts", said)
    assert (made.status, made.headers["location"]) == (201, "/conflicts/1")
    assert made.json["conflict_data"] == said["conflict_data"]
    assert made.json["candidate_fetchers"] == [
        {"fetcher_id": 1, "name": "feed"},
        {"fetcher_id": one, "name": "one"},
    ]
    assert (await registry.events())[-1][0] == "conflict_opened"
    assert (await registry.history(1))[-1]["what"] == "conflict_opened"
    resolved = await registry.api.post("/conflicts/1/resolve", {"fetcher_id": one})
    assert resolved.status == 200


async def test_a_detector_may_name_the_url_and_send_its_data_as_text(registry: Registry) -> None:
    one = await registry.joined("one", priority=1)
    await registry.subscribed(ADA)
    text = orjson.dumps({"candidate_fetcher_ids": [1, one]}).decode()
    made = await registry.api.post("/conflicts", {"rss_url": ADA, "conflict_data": text})
    assert made.status == 201
    assert made.json["conflict_type"] == "multi_fetcher_match"
    assert made.json["conflict_data"] == {"candidate_fetcher_ids": [1, one], "conflict_reason": ""}


async def test_what_holds_for_a_body_holds_for_data_that_is_sent_as_text(
    registry: Registry,
) -> None:
    await registry.subscribed(ADA)
    ids = '"candidate_fetcher_ids":[1,2]'
    for text in (
        "{" + ids + r',"conflict_reason":"a\u0000b"}',
        "{" + ids + r',"conflict_reason":"\ud800"}',
        "{" + ids + "," + ids + "}",
        "[" * 100_000,
    ):
        said = {"subscription_id": 1, "conflict_data": text}
        refused = await registry.api.post("/conflicts", said)
        assert (refused.status, refused.error) == (422, "validation_error")
        assert refused.json["detail"][0]["loc"] == ["body", "conflict_data"]


async def test_at_most_one_conflict_is_open_for_a_subscription(registry: Registry) -> None:
    one, other = await two_tied(registry)
    said = {"subscription_id": 1, "conflict_data": {"candidate_fetcher_ids": [1, other]}}
    answers = await asyncio.gather(*(registry.api.post("/conflicts", said) for _ in range(4)))
    assert [each.status for each in answers] == [200] * 4
    assert {each.json["conflict_id"] for each in answers} == {1}
    await registry.api.post("/conflicts/1/resolve", {"fetcher_id": one})
    answers = await asyncio.gather(*(registry.api.post("/conflicts", said) for _ in range(4)))
    assert sorted(each.status for each in answers) == [200, 200, 200, 201]
    assert len({each.json["conflict_id"] for each in answers}) == 1
    every = (await registry.api.get("/conflicts?status=all")).json["conflicts"]
    assert [each["resolution_status"] for each in every] == ["resolved", "unresolved"]


async def test_a_detector_that_names_nobody_known_is_refused(registry: Registry) -> None:
    await registry.subscribed(ADA)
    data = {"candidate_fetcher_ids": [1, 77]}
    unknown = await registry.api.post("/conflicts", {"subscription_id": 1, "conflict_data": data})
    assert (unknown.status, unknown.error) == (400, "invalid_fetcher")
    assert unknown.json["candidates"] == [1]
    data = {"candidate_fetcher_ids": [1, 2]}
    for said in ({"subscription_id": 9}, {"rss_url": "https://nobody.example/"}):
        missing = await registry.api.post("/conflicts", said | {"conflict_data": data})
        assert (missing.status, missing.error) == (404, "not_found")
    await registry.subscribed(ADA + "2")
    two = {"subscription_id": 1, "rss_url": ADA + "2", "conflict_data": data}
    assert (await registry.api.post("/conflicts", two)).status == 422
    await registry.api.delete("/subscriptions/1")
    gone = await registry.api.post("/conflicts", {"subscription_id": 1, "conflict_data": data})
    assert (gone.status, gone.error) == (409, "conflict")


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"conflict_data": {}},
        {"conflict_data": {"candidate_fetcher_ids": []}},
        {"conflict_data": {"candidate_fetcher_ids": [1]}},
        {"conflict_data": {"candidate_fetcher_ids": [1, 1]}},
        {"conflict_data": {"candidate_fetcher_ids": [1, "2"]}},
        {"conflict_data": {"candidate_fetcher_ids": [1, 2], "more": 1}},
        {"conflict_data": "{"},
        {"conflict_data": "[1, 2]"},
        {"conflict_data": {"candidate_fetcher_ids": [1, 2]}, "conflict_id": 5},
        {"conflict_data": {"candidate_fetcher_ids": [1, 2]}, "resolution_status": "resolved"},
        {"conflict_data": {"candidate_fetcher_ids": [1, 2]}, "conflict_type": "A B"},
    ],
)
async def test_a_conflict_that_says_nothing_is_refused(
    registry: Registry, said: dict[str, object]
) -> None:
    await registry.subscribed(ADA)
    refused = await registry.api.post("/conflicts", {"subscription_id": 1} | said)
    assert (refused.status, refused.error) == (422, "validation_error")


async def test_without_a_subscription_there_is_no_conflict(registry: Registry) -> None:
    data = {"candidate_fetcher_ids": [1, 2]}
    refused = await registry.api.post("/conflicts", {"conflict_data": data})
    assert (refused.status, refused.error) == (422, "validation_error")


async def test_conflicts_come_in_pages_and_by_status(registry: Registry) -> None:
    one = await registry.joined("one")
    await registry.joined("other")
    for number in range(3):
        await registry.subscribed(f"https://a{number}.example/feed")
    await registry.api.post("/conflicts/2/resolve", {"fetcher_id": one})
    page = (await registry.api.get("/conflicts?limit=1")).json
    assert [each["conflict_id"] for each in page["conflicts"]] == [1]
    rest = (await registry.api.get(f"/conflicts?cursor={page['next_cursor']}")).json
    assert [each["conflict_id"] for each in rest["conflicts"]] == [3]
    for status, expected in (("unresolved", [1, 3]), ("resolved", [2]), ("all", [1, 2, 3])):
        found = (await registry.api.get(f"/conflicts?status={status}")).json["conflicts"]
        assert [each["conflict_id"] for each in found] == expected
    assert (await registry.api.get("/conflicts?status=open")).status == 422


@pytest.mark.parametrize("text", ["0", "99", "x", "-1", "01", "9" * 40])
async def test_what_is_no_conflict_is_not_found(registry: Registry, text: str) -> None:
    assert (await registry.api.get(f"/conflicts/{text}")).status == 404
    resolve = f"/conflicts/{text}/resolve"
    assert (await registry.api.post(resolve, {"fetcher_id": 1})).status == 404


async def test_one_key_decides_once(registry: Registry) -> None:
    _, other = await two_tied(registry)
    said = {"fetcher_id": other}
    first = await registry.api.post("/conflicts/1/resolve", said, idempotency_key="k")
    again = await registry.api.post("/conflicts/1/resolve", said, idempotency_key="k")
    assert (first.status, again.status, again.body) == (200, 200, first.body)
    assert again.headers["idempotent-replayed"] == "true"


async def test_a_choice_that_fails_half_way_changes_nothing(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = await two_tied(registry)

    async def fails(*_: object, **__: object) -> None:
        raise DatabaseError("the disk is gone")

    monkeypatch.setattr("headwater.subscriptions.history_rows.insert_history", fails)
    answer = await registry.api.post("/conflicts/1/resolve", {"fetcher_id": other})
    assert (answer.status, answer.error) == (500, "database_error")
    assert answer.json["message"].startswith("Failed to resolve conflict: ")
    monkeypatch.undo()
    assert (await registry.api.get("/subscriptions/1")).json["fetcher_id"] == one
    assert (await registry.api.get("/conflicts/1")).json["resolution_status"] == "unresolved"
    assert len(await registry.events()) == 2


async def test_a_choice_stands_in_the_log(registry: Registry) -> None:
    _, other = await two_tied(registry)
    with heard() as lines:
        await registry.api.post("/conflicts/1/resolve", {"fetcher_id": other})
    levels = [line["log_level"] for line in lines if line["event"] == "conflict_resolved"]
    assert levels == ["info"]
