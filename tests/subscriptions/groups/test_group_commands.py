"""Groups: what they say reaches every member, and one wish can be for all of them."""

import asyncio
from typing import Any

import pytest

from headwater.core.ports import Transaction
from headwater.subscriptions.groups import apply_group_values, group_rows
from headwater.subscriptions.groups.apply_group_values import finish_spreading, spread_group_change
from headwater.subscriptions.groups.group import Group, GroupPatch
from headwater.subscriptions.groups.group_commands import change_group
from tests.support.origin import Post
from tests.support.subscriptions_world import ADDRESSES, World


async def member(world: World, name: str, group_id: int | None = None, **facts: Any) -> Any:
    feed = world.origin.feed(f"/{name}.xml", [Post("1", "First")], address=ADDRESSES[0])
    return await world.subscribed(feed.url, group_id=group_id, **facts)


async def ways(world: World, made: dict[str, Any]) -> tuple[Any, ...]:
    feed = await world.feed(made)
    look = (await world.api.get(f"/subscriptions/{made['subscription_id']}")).json
    pace = feed["overrides"].get("interval_sec")
    return pace, feed["priority"], feed["categories"], look["config"]


async def act(world: World, group_id: int, **wish: Any) -> Any:
    answer = await world.api.post(f"/groups/{group_id}/actions", wish)
    assert answer.status == 200, answer.body
    return answer.json


async def changes_told(world: World) -> list[tuple[int, list[str]]]:
    events = (await world.api.get("/events?limit=500&type=subscription_changed")).json["events"]
    return [(each["payload"]["subscription_id"], each["payload"]["changed"]) for each in events]


async def test_a_group_is_made_listed_looked_at_renamed_and_deleted(world: World) -> None:
    made = await world.api.post(
        "/groups", {"name": "News", "description": "what happens", "priority": 80}
    )
    group_id = made.json["group_id"]
    assert (made.status, made.headers["location"]) == (201, f"/groups/{group_id}")
    assert {name: made.json[name] for name in ("name", "priority", "config", "members")} == {
        "name": "News",
        "priority": 80,
        "config": None,
        "members": 0,
    }
    assert (await world.api.post("/groups", {"name": "News"})).error == "conflict"
    renamed = await world.api.patch(f"/groups/{group_id}", {"name": "Old news"})
    assert (renamed.json["name"], renamed.json["description"]) == ("Old news", "what happens")
    assert [each["name"] for each in (await world.api.get("/groups")).json["groups"]] == [
        "Old news"
    ]
    gone = await world.api.delete(f"/groups/{group_id}")
    assert gone.json == {"group_id": group_id, "name": "Old news", "subscriptions_kept": 0}
    for answer in (
        await world.api.get(f"/groups/{group_id}"),
        await world.api.patch(f"/groups/{group_id}", {"name": "x"}),
        await world.api.delete(f"/groups/{group_id}"),
        await world.api.post(f"/groups/{group_id}/actions", {"action": "pause"}),
        await world.api.get("/groups/none"),
    ):
        assert answer.error == "not_found"


async def test_a_retried_post_makes_one_group(world: World) -> None:
    first = await world.api.post("/groups", {"name": "News"}, idempotency_key="k")
    again = await world.api.post("/groups", {"name": "News"}, idempotency_key="k")
    assert again.json == first.json


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": "x", "priority": 101},
        {"name": "x", "fetch_interval_minutes": 0},
        {"name": "x", "config": "no JSON"},
        {"name": "x", "members": 3},
        {"name": "x", "group_id": 7},
    ],
)
async def test_a_group_that_makes_no_sense_is_refused(world: World, body: Any) -> None:
    assert (await world.api.post("/groups", body)).status == 422


async def test_who_is_made_in_a_group_begins_by_its_word_and_keeps_its_own(world: World) -> None:
    group = await world.grouped(
        "News",
        fetch_interval_minutes=60,
        priority=80,
        categories=["news"],
        config={"a": 1},
    )
    quiet = await member(world, "quiet", group["group_id"])
    own = await member(
        world, "own", group["group_id"], fetch_interval_minutes=30, config={"b": 2}, priority=10
    )
    assert await ways(world, quiet) == (3_600, 80, ["news"], '{"a":1}')
    assert await ways(world, own) == (1_800, 10, ["news"], '{"b":2}')
    assert quiet["fetch_interval_minutes"] == 60


async def test_a_change_of_the_group_reaches_all_members_but_their_own_values(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply_group_values, "BATCH", 2)  # several transactions
    group = await world.grouped("News", priority=80)
    everybody = [await member(world, f"m{n}", group["group_id"]) for n in range(5)]
    own = await member(world, "own", group["group_id"], priority=10)
    patched = await world.api.patch(
        f"/groups/{group['group_id']}", {"priority": 20, "fetch_interval_minutes": 120}
    )
    assert (patched.json["members_changed"], patched.json["members_unchanged"]) == (6, 0)
    assert [await ways(world, each) for each in everybody] == [(7_200, 20, [], None)] * 5
    assert await ways(world, own) == (7_200, 10, [], None)
    told = [fields for _, fields in await changes_told(world)]
    assert told == [["fetch_interval_minutes", "priority"]] * 5 + [["fetch_interval_minutes"]]
    silent = await world.api.patch(f"/groups/{group['group_id']}", {"priority": None})
    assert (silent.json["priority"], silent.json["members_changed"]) == (None, 5)
    assert [await ways(world, each) for each in everybody] == [(7_200, 50, [], None)] * 5
    nothing = await world.api.patch(f"/groups/{group['group_id']}", {"priority": None})
    assert nothing.json["members_changed"] == 0


async def test_a_new_cadence_plans_the_next_visit_anew(world: World) -> None:
    group = await world.grouped("News")
    made = await member(world, "one", group["group_id"])
    await world.visit_all(seconds=1)
    await world.api.patch(f"/groups/{group['group_id']}", {"fetch_interval_minutes": 600})
    assert (await world.feed(made))["next_visit_at"] == "2026-01-05T22:00:01Z"


async def test_a_config_that_a_members_fetcher_refuses_is_left_out_for_it(world: World) -> None:
    async with world.engine.database.write() as tx:
        await tx.run(
            "UPDATE fetcher_modules SET config_schema = ? WHERE name = 'feed'",
            '{"type":"object","additionalProperties":false}',
        )
    group = await world.grouped("News")
    made = await member(world, "one", group["group_id"])
    patched = await world.api.patch(
        f"/groups/{group['group_id']}", {"config": {"a": 1}, "priority": 70}
    )
    (refused,) = patched.json["refused"]
    assert refused["subscription_id"] == made["subscription_id"]
    assert await ways(world, made) == (None, 70, [], None)


async def test_joining_moving_and_leaving_follow_the_groups_words(world: World) -> None:
    fast = await world.grouped("Fast", fetch_interval_minutes=10, priority=80)
    slow = await world.grouped("Slow", fetch_interval_minutes=600)
    made = await member(world, "one")
    where = f"/subscriptions/{made['subscription_id']}"
    joined = await world.api.put(f"/groups/{fast['group_id']}{where}")
    assert (joined.status, joined.json["group_id"]) == (200, fast["group_id"])
    assert await ways(world, made) == (600, 80, [], None)
    await world.api.patch(where, {"group_id": slow["group_id"]})
    assert await ways(world, made) == (36_000, 50, [], None)
    members = await world.api.get(f"/groups/{slow['group_id']}/subscriptions")
    assert [each["subscription_id"] for each in members.json["subscriptions"]] == [
        made["subscription_id"]
    ]
    stranger = await world.api.delete(f"/groups/{fast['group_id']}{where}")
    assert stranger.error == "not_found"
    left = await world.api.delete(f"/groups/{slow['group_id']}{where}")
    assert left.json["group_id"] is None
    assert await ways(world, made) == (None, 50, [], None)
    assert [fields for _, fields in await changes_told(world)][-1] == [
        "fetch_interval_minutes",
        "group_id",
    ]


async def test_a_value_that_is_put_back_is_the_groups_again(world: World) -> None:
    group = await world.grouped("News", priority=80)
    made = await member(world, "one", group["group_id"], priority=10)
    await world.api.patch(f"/subscriptions/{made['subscription_id']}", {"priority": None})
    assert (await world.feed(made))["priority"] == 80


async def test_an_unknown_group_is_refused_by_name(world: World) -> None:
    feed = world.origin.feed("/x.xml", [Post("1", "First")], address=ADDRESSES[0])
    answer = await world.api.post("/subscriptions", {"source_url": feed.url, "group_id": 77})
    assert (answer.error, answer.json["what"]) == ("not_found", "group")
    made = await member(world, "one")
    where = f"/subscriptions/{made['subscription_id']}"
    assert (await world.api.patch(where, {"group_id": 77})).error == "not_found"
    assert (await world.api.put(f"/groups/77{where}")).error == "not_found"


async def test_a_dissolved_group_leaves_its_subscriptions_as_if_it_had_never_spoken(
    world: World,
) -> None:
    group = await world.grouped("News", priority=80, fetch_interval_minutes=60)
    quiet = await member(world, "quiet", group["group_id"])
    own = await member(world, "own", group["group_id"], priority=10)
    gone = await world.api.delete(f"/groups/{group['group_id']}")
    assert gone.json["subscriptions_kept"] == 2
    assert await ways(world, quiet) == (None, 50, [], None)
    assert await ways(world, own) == (None, 10, [], None)
    listed = (await world.api.get("/subscriptions")).json["subscriptions"]
    assert [each["group_id"] for each in listed] == [None, None]


async def test_a_change_that_was_interrupted_is_finished_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply_group_values, "BATCH", 2)
    group = await world.grouped("News", priority=80)
    everybody = [await member(world, f"m{n}", group["group_id"]) for n in range(5)]
    async with world.engine.database.write() as tx:
        held = await group_rows.lock_group(tx, group["group_id"])
        await group_rows.update_group(
            tx, held, GroupPatch(shared={"priority": 20}), world.clock.now()
        )
    told = apply_group_values.SpreadResult()
    assert await apply_group_values._spread_batch(
        world.engine.registry, group["group_id"], told
    )  # then a crash
    assert [(await ways(world, each))[1] for each in everybody] == [20, 20, 80, 80, 80]
    # Somebody leaves whom the new word has not reached.
    last = everybody[-1]
    await world.api.patch(f"/subscriptions/{last['subscription_id']}", {"group_id": None})
    assert (await ways(world, last))[1] == 50
    await finish_spreading(world.engine.registry)
    assert [(await ways(world, each))[1] for each in everybody] == [20, 20, 20, 20, 50]
    await finish_spreading(world.engine.registry)


async def test_two_changes_at_once_end_with_every_member_at_the_groups_last_word(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply_group_values, "BATCH", 1)
    group = await world.grouped("News")
    everybody = [await member(world, f"m{n}", group["group_id"]) for n in range(3)]
    await asyncio.gather(
        *(
            change_group(
                group["group_id"], GroupPatch(shared={"priority": n}), world.engine.registry
            )
            for n in (20, 30, 40)
        )
    )
    await spread_group_change(world.engine.registry, group["group_id"])
    last = (await world.api.get(f"/groups/{group['group_id']}")).json["priority"]
    assert last in (20, 30, 40)
    assert [(await ways(world, each))[1] for each in everybody] == [last] * 3


async def test_members_are_paused_and_resumed_together(world: World) -> None:
    group = await world.grouped("News")
    everybody = [await member(world, f"m{n}", group["group_id"]) for n in range(2)]
    other = await member(world, "other")
    report = await act(world, group["group_id"], action="pause")
    assert (report["action"], report["done"], report["refused"]) == ("pause", 2, 0)
    assert [each["subscription_id"] for each in report["results"]] == [
        each["subscription_id"] for each in everybody
    ]
    assert [(await world.feed(each))["state"] for each in [*everybody, other]] == [
        "paused",
        "paused",
        "active",
    ]
    await act(world, group["group_id"], action="resume")
    assert [(await world.feed(each))["state"] for each in everybody] == ["active"] * 2


async def test_a_refetch_of_all_is_as_polite_as_one_by_hand(world: World) -> None:
    group = await world.grouped("News")
    fresh = await member(world, "fresh", group["group_id"])
    paused = await member(world, "paused", group["group_id"])
    await act(
        world,
        group["group_id"],
        action="pause",
        subscription_ids=[paused["subscription_id"]],
    )
    await world.visit_all()
    await world.clock.advance(20)
    report = await act(world, group["group_id"], action="refetch")
    assert report["done"] == 0
    assert [(each["error"], each["retry_after_sec"]) for each in report["results"]] == [
        ("too_soon", 40.0),
        ("conflict", None),
    ]
    await world.clock.advance(60)
    again = await act(world, group["group_id"], action="refetch")
    assert [each["done"] for each in again["results"]] == [True, False]
    assert (await world.feed(fresh))["next_visit_at"] == "2026-01-05T13:01:20Z"


async def test_members_are_set_moved_and_deleted_together(world: World) -> None:
    group, other = await world.grouped("News"), await world.grouped("Other", priority=90)
    everybody = [await member(world, f"m{n}", group["group_id"]) for n in range(3)]
    values = {"fetch_interval_minutes": 45, "categories": ["x"]}
    await act(world, group["group_id"], action="set", values=values)
    assert [await ways(world, each) for each in everybody] == [(2_700, 50, ["x"], None)] * 3
    some = [each["subscription_id"] for each in everybody[:2]]
    moved = await act(
        world, group["group_id"], action="move", to_group_id=other["group_id"],
        subscription_ids=some,
    )  # fmt: skip
    assert moved["done"] == 2
    assert [(await world.feed(each))["priority"] for each in everybody] == [90, 90, 50]
    gone = await act(world, other["group_id"], action="delete")
    assert gone["done"] == 2
    assert (await world.feed(everybody[0]))["state"] == "removed"
    hard = await act(world, group["group_id"], action="delete", hard=True)
    assert hard["done"] == 1
    assert (await world.api.get(f"/feeds/{everybody[2]['feed_id']}")).status == 404


async def test_strangers_are_refused_alone(world: World) -> None:
    group = await world.grouped("News")
    one, stranger = await member(world, "one", group["group_id"]), await member(world, "other")
    ids = [stranger["subscription_id"], one["subscription_id"], 999]
    report = await act(world, group["group_id"], action="pause", subscription_ids=ids)
    assert [each["error"] for each in report["results"]] == ["not_found", None, "not_found"]
    assert (await world.feed(stranger))["state"] == "active"


@pytest.mark.parametrize(
    "body",
    [
        {"action": "explode"},
        {"action": "set"},
        {"action": "set", "values": {}},
        {"action": "move"},
        {"action": "pause", "hard": True},
        {"action": "delete", "whole": True},
        {"action": "pause", "subscription_ids": [1, 1]},
        {"action": "pause", "cursor": "forged"},
        {"action": "set", "values": {"source_url": "https://evil.example"}},
    ],
)
async def test_a_wish_that_makes_no_sense_is_refused_whole(world: World, body: Any) -> None:
    group = await world.grouped("News")
    assert (await world.api.post(f"/groups/{group['group_id']}/actions", body)).status == 422


async def test_a_repeated_action_is_answered_with_the_same_report(world: World) -> None:
    group = await world.grouped("News")
    await member(world, "one", group["group_id"])
    where, wish = f"/groups/{group['group_id']}/actions", {"action": "refetch"}
    await world.visit_all()
    await world.clock.advance(100)
    first = await world.api.post(where, wish, idempotency_key="k")
    again = await world.api.post(where, wish, idempotency_key="k")
    assert (first.json["done"], again.json) == (1, first.json)
    assert again.headers["idempotent-replayed"] == "true"


@pytest.mark.parametrize(
    ("number", "status", "kept"),
    [("9" * 25, 201, '{"id":' + "9" * 25 + "}"), ("1e400", 422, None)],
)
async def test_a_number_is_kept_as_it_is_or_refused(
    world: World, number: str, status: int, kept: str | None
) -> None:
    body = f'{{"name": "Large", "config": {{"id": {number}}}}}'.encode()
    made = await world.api.ask("POST", "/groups", body, {"content-type": "application/json"})
    assert (made.status, made.json.get("config")) == (status, kept)


async def test_who_refused_one_config_of_the_group_still_hears_the_next(world: World) -> None:
    """What the group said before must not become the member's own word, for ever."""
    async with world.engine.database.write() as tx:
        await tx.run(
            "UPDATE fetcher_modules SET config_schema = ? WHERE name = 'feed'",
            '{"type":"object","properties":{"a":{"type":"integer"}}}',
        )
    group = await world.grouped("News", config={"a": 1})
    made = await member(world, "one", group["group_id"])
    where = f"/groups/{group['group_id']}"
    wrong = await world.api.patch(where, {"config": {"a": "a slip"}})
    assert len(wrong.json["refused"]) == 1
    right = await world.api.patch(where, {"config": {"a": 2}})
    assert right.json["refused"] == []
    assert await ways(world, made) == (None, 50, [], '{"a":2}')
    await world.api.delete(where)
    assert await ways(world, made) == (None, 50, [], None)


async def test_a_group_that_is_dissolved_is_held_once_for_all_who_leave_together(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Holding it counts its members: once for each of them took a large group a minute."""
    group = await world.grouped("News", priority=80)
    everybody = [await member(world, f"m{n}", group["group_id"]) for n in range(5)]
    held: list[int] = []
    hold = group_rows.lock_group

    async def counted(tx: Transaction, group_id: int) -> Group:
        held.append(group_id)
        return await hold(tx, group_id)

    monkeypatch.setattr(group_rows, "lock_group", counted)
    await world.api.delete(f"/groups/{group['group_id']}")
    assert held == [group["group_id"]]
    assert [await ways(world, each) for each in everybody] == [(None, 50, [], None)] * 5
