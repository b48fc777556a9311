"""Subscriptions over HTTP: one per source, however spelt; changed, let go and brought back."""

import pytest

from tests.support.clock import VirtualClock
from tests.support.log_lines import heard
from tests.support.origin import Post, rss
from tests.support.scripted_engine import ScriptedWeb
from tests.support.scripted_fetchers import NO, Registry

ADA = "https://ada.example/feed"


@pytest.mark.parametrize(
    "spelling",
    [
        "  https://ada.example/feed  ",
        "https://ADA.Example/feed",
        "https://ada.example:443/feed",
        "https://ada.example/feed#top",
        "HTTPS://ada.example/feed",
        "feed:https://ada.example/feed",
        "https://ada.example/x/../feed",
    ],
)
async def test_another_spelling_of_a_url_is_the_same_source(
    registry: Registry, spelling: str
) -> None:
    made = await registry.subscribed(ADA)
    again = await registry.api.post("/subscriptions", {"rss_url": spelling})
    assert (again.status, again.error) == (409, "duplicate_url")
    assert again.json["subscription_id"] == made.json["subscription_id"]


@pytest.mark.parametrize(
    "other",
    [
        "http://ada.example/feed",
        "https://ada.example:8443/feed",
        "https://ada.example/Feed",
        "https://ada.example/feed?page=1",
        "https://ada.example/feed/",
    ],
)
async def test_another_url_is_another_source(registry: Registry, other: str) -> None:
    await registry.subscribed(ADA)
    assert (await registry.subscribed(other)).json["source_url"] == other


async def test_both_names_of_the_url_may_be_said_when_they_agree(registry: Registry) -> None:
    both = {"source_url": ADA, "rss_url": ADA}
    assert (await registry.api.post("/subscriptions", both)).status == 201
    for said in ({"source_url": ADA, "rss_url": ADA + "2"}, {}, {"name": "no source"}):
        refused = await registry.api.post("/subscriptions", said)
        assert (refused.status, refused.error) == (422, "validation_error")


@pytest.mark.parametrize(
    "said",
    [
        {"subscription_id": 7},
        {"id": 7},
        {"feed_id": "x"},
        {"is_active": False},
        {"assignment_status": "assigned"},
        {"auto_selected": False},
        {"assigned_at": "2026-01-01T00:00:00Z"},
        {"created_at": "2026-01-01T00:00:00Z"},
        {"next_fetch_at": "2026-01-01T00:00:00Z"},
        {"fetch_interval_minutes": 0},
        {"fetch_interval_minutes": "60"},
        {"fetch_interval_minutes": 10**9},
        {"fetcher_id": "1"},
        {"fetcher_id": 0},
        {"fetcher_id": 2**63},
        {"fetcher_id": True},
        {"source_type": ""},
        {"source_type": "rss\n"},
        {"source_type": "a" * 65},
        {"name": "a\u0007b"},
        {"name": ""},
        {"config": 5},
        {"config": ["a"]},
        {"priority": 101},
        {"categories": ["a", "a"]},
    ],
)
async def test_a_field_that_does_not_work_is_refused(
    registry: Registry, said: dict[str, object]
) -> None:
    refused = await registry.api.post("/subscriptions", {"source_url": ADA} | said)
    assert (refused.status, refused.error) == (422, "validation_error")
    assert (await registry.api.get("/subscriptions")).json["subscriptions"] == []


@pytest.mark.parametrize(
    "url", ["ftp://a.example/", "https://u:p@a.example/", "javascript:1", "a", "https://"]
)
async def test_a_url_that_nobody_may_ask_for_is_refused(registry: Registry, url: str) -> None:
    refused = await registry.api.post("/subscriptions", {"source_url": url})
    assert (refused.status, refused.error) == (422, "bad_url")


async def test_a_source_on_a_private_address_is_refused(registry: Registry) -> None:
    refused = await registry.api.post("/subscriptions", {"source_url": "http://169.254.169.254/"})
    assert (refused.status, refused.error) == (422, "blocked_address")


async def test_the_first_visit_is_due_at_once_and_nothing_was_fetched(
    registry: Registry, web: ScriptedWeb
) -> None:
    made = (await registry.subscribed(ADA, priority=80, categories=["news"])).json
    assert web.asked == []
    assert registry.engine.database.woken("feeds").is_set()
    feed = (await registry.api.get(f"/feeds/{made['feed_id']}")).json
    assert (feed["state"], feed["priority"], feed["categories"]) == ("active", 80, ["news"])
    assert feed["next_visit_at"] == made["next_fetch_at"] == "2026-01-05T12:00:00Z"
    assert made["fetch_interval_minutes"] == 15


async def test_what_a_registered_fetcher_visits_is_nothing_for_our_workers(
    registry: Registry,
) -> None:
    fetcher = await registry.joined("remote")
    theirs = (await registry.subscribed(ADA, fetcher_id=fetcher)).json
    ours = (await registry.subscribed(ADA + "2", fetcher_id=1)).json
    assert await registry.column(theirs["feed_id"], "shard") == -fetcher
    assert 0 <= int(str(await registry.column(ours["feed_id"], "shard"))) < 1024


async def test_a_feed_that_was_added_has_a_subscription_too(
    registry: Registry, web: ScriptedWeb
) -> None:
    url = web.serve(ADA, rss([Post("1", "First")]))
    feed = (await registry.api.post("/feeds", {"url": url})).json
    (made,) = (await registry.api.get("/subscriptions")).json["subscriptions"]
    assert (made["feed_id"], made["source_url"]) == (feed["id"], ADA)
    assert made["last_fetched_at"] == "2026-01-05T12:00:00Z"
    again = await registry.api.post("/subscriptions", {"source_url": ADA})
    assert (again.status, again.error) == (409, "duplicate_url")


async def test_one_of_a_url_can_be_looked_up(registry: Registry) -> None:
    made = (await registry.subscribed("https://ada.example/feed?id=7&x=y")).json
    found = await registry.api.get("/subscriptions?source_url=https://ADA.example/feed?id=7%26x=y")
    assert found.json["subscriptions"] == [made]
    none = await registry.api.get("/subscriptions?source_url=https://ada.example/feed")
    assert none.json["subscriptions"] == []


async def test_one_of_a_url_is_also_what_else_was_asked_for(registry: Registry) -> None:
    one = await registry.joined("one")
    group = (await registry.api.post("/groups", {"name": "News"})).json["group_id"]
    made = (await registry.subscribed(ADA, fetcher_id=one, group_id=group)).json

    async def found(query: str) -> list[str]:
        page = await registry.api.get(f"/subscriptions?source_url={ADA}&{query}")
        return [each["source_url"] for each in page.json["subscriptions"]]

    assert await found(f"fetcher_id={one}&group_id={group}") == [made["source_url"]]
    assert await found(f"fetcher_id={one + 1}") == []
    assert await found(f"group_id={group + 1}") == []


async def test_pages_go_through_all_of_them_in_order(registry: Registry) -> None:
    for number in range(5):
        await registry.subscribed(f"https://a{number}.example/feed")
    await registry.api.delete("/subscriptions/3")
    seen, target = [], "/subscriptions?limit=2"
    while target:
        page = (await registry.api.get(target)).json
        seen.append([each["subscription_id"] for each in page["subscriptions"]])
        more = page["next_cursor"]
        target = f"/subscriptions?limit=2&cursor={more}" if more else ""
    assert seen == [[1, 2], [4, 5]]
    every = await registry.api.get("/subscriptions?include_inactive=true&limit=500")
    assert [each["subscription_id"] for each in every.json["subscriptions"]] == [1, 2, 3, 4, 5]
    assert [each["is_active"] for each in every.json["subscriptions"]][2] is False
    wrong = await registry.api.get("/conflicts?cursor=" + "x" * 20)
    assert (wrong.status, wrong.error) == (422, "bad_cursor")


async def test_only_what_is_named_is_changed(registry: Registry) -> None:
    made = (await registry.subscribed(ADA, name="Ada", config={"a": 1})).json
    changed = await registry.api.patch(
        "/subscriptions/1",
        {"description": "about Ada", "fetch_interval_minutes": 90, "priority": 70},
    )
    assert changed.status == 200
    assert changed.json["name"] == "Ada"
    assert changed.json["config"] == '{"a":1}'
    assert changed.json["description"] == "about Ada"
    assert changed.json["fetch_interval_minutes"] == 90
    feed = (await registry.api.get(f"/feeds/{made['feed_id']}")).json
    assert (feed["priority"], feed["overrides"]["interval_sec"]) == (70, 5_400)
    back = await registry.api.patch(
        "/subscriptions/1",
        {"name": None, "fetch_interval_minutes": None, "config": None, "priority": None},
    )
    assert (back.json["name"], back.json["config"]) == (None, None)
    feed = (await registry.api.get(f"/feeds/{made['feed_id']}")).json
    assert (feed["priority"], feed["overrides"]["interval_sec"]) == (50, None)


async def test_a_change_is_told_and_written_down_with_its_before_and_after(
    registry: Registry,
) -> None:
    await registry.subscribed(ADA, name="Ada")
    await registry.api.patch("/subscriptions/1", {"name": "Ada L.", "categories": ["maths"]})
    await registry.api.patch("/subscriptions/1", {"name": "Ada L."})
    kind, told = (await registry.events())[-1]
    assert kind == "subscription_changed"
    assert told["changed"] == ["categories", "name"]
    assert [each["what"] for each in await registry.history(1)] == ["created", "changed"]
    decided = (await registry.history(1))[-1]
    assert decided["who"] == "loopback"
    assert decided["before"] == {"name": "Ada", "categories": []}
    assert decided["after"] == {"name": "Ada L.", "categories": ["maths"]}


async def test_another_fetcher_takes_over_once_it_has_said_yes(
    registry: Registry, virtual_clock: VirtualClock
) -> None:
    fetcher = await registry.joined("remote", priority=1)
    made = (await registry.subscribed(ADA)).json
    assert made["fetcher_id"] == 1
    fence = int(str(await registry.column(made["feed_id"], "fence")))
    registry.fetchers.answers["http://remote.example:8080"] = NO
    refused = await registry.api.patch("/subscriptions/1", {"fetcher_id": fetcher})
    assert (refused.status, refused.error) == (400, "no_capable_fetcher")
    assert (await registry.api.get("/subscriptions/1")).json["fetcher_id"] == 1
    registry.fetchers.answers.clear()
    await virtual_clock.advance(60)
    changed = (await registry.api.patch("/subscriptions/1", {"fetcher_id": fetcher})).json
    assert (changed["fetcher_id"], changed["assignment_status"]) == (fetcher, "assigned")
    assert changed["assigned_at"] == changed["next_fetch_at"] == "2026-01-05T12:01:00Z"
    assert await registry.column(made["feed_id"], "shard") == -fetcher
    assert int(str(await registry.column(made["feed_id"], "fence"))) > fence
    assert [kind for kind, _ in await registry.events()][-1] == "subscription_assigned"
    decided = (await registry.history(1))[-1]
    assert decided["what"] == "assigned"
    assert decided["before"]["fetcher"] == "feed"  # type: ignore[index]
    assert decided["after"]["fetcher"] == "remote"  # type: ignore[index]


async def test_naming_a_fetcher_settles_an_open_conflict(registry: Registry) -> None:
    await registry.joined("one")
    other = await registry.joined("other")
    await registry.subscribed(ADA)
    await registry.api.patch("/subscriptions/1", {"fetcher_id": other})
    (conflict,) = (await registry.api.get("/conflicts?status=all")).json["conflicts"]
    assert conflict["resolution_status"] == "resolved"
    assert conflict["resolution_data"]["resolved_fetcher_id"] == other
    assert conflict["resolution_data"]["resolution_reason"] == "reassigned"
    kinds = [kind for kind, _ in await registry.events()]
    assert kinds[-2:] == ["subscription_assigned", "conflict_resolved"]


async def test_an_unknown_fetcher_cannot_take_over(registry: Registry) -> None:
    await registry.subscribed(ADA)
    refused = await registry.api.patch("/subscriptions/1", {"fetcher_id": 99})
    assert (refused.status, refused.error) == (500, "broadcast_failed")


@pytest.mark.parametrize("said", [{"is_active": None}, {"fetcher_id": None}, {"source_url": ADA}])
async def test_a_change_that_means_nothing_is_refused(
    registry: Registry, said: dict[str, object]
) -> None:
    await registry.subscribed(ADA)
    refused = await registry.api.patch("/subscriptions/1", said)
    assert (refused.status, refused.error) == (422, "validation_error")


async def test_a_config_must_fit_its_fetchers_schema(registry: Registry) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    picky = await registry.joined("picky", config_schema=schema)
    for config in (None, {}, {"n": "one"}, '{"n": 1.5}'):
        said = {"source_url": ADA, "fetcher_id": picky, "config": config}
        refused = await registry.api.post("/subscriptions", said)
        assert (refused.status, refused.error) == (422, "bad_config"), config
    assert (await registry.api.get("/feeds")).json["feeds"] == []
    await registry.subscribed(ADA, fetcher_id=picky, config='{ "n": 1 }')
    assert (await registry.api.get("/subscriptions/1")).json["config"] == '{ "n": 1 }'
    refused = await registry.api.patch("/subscriptions/1", {"config": {"n": None}})
    assert (refused.status, refused.error) == (422, "bad_config")
    await registry.subscribed(ADA + "2", fetcher_id=1)
    refused = await registry.api.patch("/subscriptions/2", {"fetcher_id": picky})
    assert (refused.status, refused.error) == (422, "bad_config")
    taken = await registry.api.patch("/subscriptions/2", {"fetcher_id": picky, "config": {"n": 2}})
    assert (taken.status, taken.json["config"]) == (200, '{"n":2}')


async def test_a_config_that_is_no_object_is_refused(registry: Registry) -> None:
    for config in ("", "[]", "5", "{", "null"):
        said = {"source_url": ADA, "config": config}
        answer = await registry.api.post("/subscriptions", said)
        if config == "":
            assert (answer.status, answer.json["config"]) == (201, None)
            await registry.api.delete("/subscriptions/1?hard=true")
        else:
            assert (answer.status, answer.error) == (422, "bad_config"), config


async def test_one_key_subscribes_once(registry: Registry) -> None:
    said = {"source_url": ADA}
    first = await registry.api.post("/subscriptions", said, idempotency_key="k")
    again = await registry.api.post("/subscriptions", said, idempotency_key="k")
    assert (first.status, again.status) == (201, 201)
    assert (again.body, again.headers["idempotent-replayed"]) == (first.body, "true")
    assert again.headers["location"] == "/subscriptions/1"
    other = await registry.api.post("/subscriptions", {"rss_url": ADA}, idempotency_key="k")
    assert (other.status, other.error) == (422, "idempotency_mismatch")
    assert len(await registry.events()) == 1


async def test_a_refused_wish_frees_its_key(registry: Registry) -> None:
    said = {"source_url": ADA, "source_type": "odd"}
    refused = await registry.api.post("/subscriptions", said, idempotency_key="k")
    assert refused.status == 400
    await registry.joined("odd-fetcher")
    made = await registry.api.post("/subscriptions", said, idempotency_key="k")
    assert made.status == 201


async def test_the_history_tells_who_and_why(registry: Registry) -> None:
    one = await registry.joined("one")
    other = await registry.joined("other")
    await registry.subscribed(ADA)
    created, opened = await registry.history(1)
    assert (created["what"], created["who"], created["before"]) == ("created", "loopback", None)
    assert created["after"] == {
        "fetcher_id": one,
        "fetcher": "one",
        "assignment_status": "auto_assigned",
        "auto_selected": True,
        "is_active": True,
    }
    assert opened["what"] == "conflict_opened"
    assert opened["conflict_id"] == 1
    assert opened["after"]["candidates"] == [one, other]  # type: ignore[index]
    page = (await registry.api.get("/subscriptions/1/history?limit=1")).json
    assert [each["what"] for each in page["history"]] == ["conflict_opened"]
    rest = await registry.api.get(f"/subscriptions/1/history?cursor={page['next_cursor']}")
    assert [each["what"] for each in rest.json["history"]] == ["created"]


@pytest.mark.parametrize("text", ["0", "99", "01", "-1", "x", "1.0", "9" * 30, "%20", "+1"])
async def test_what_is_no_subscription_is_not_found(registry: Registry, text: str) -> None:
    await registry.subscribed(ADA)
    for target in (f"/subscriptions/{text}", f"/subscriptions/{text}/history"):
        missing = await registry.api.get(target)
        assert (missing.status, missing.error) == (404, "not_found")
    assert (await registry.api.delete(f"/subscriptions/{text}")).status == 404
    assert (await registry.api.patch(f"/subscriptions/{text}", {"name": "x"})).status == 404


async def test_a_group_that_does_not_exist_cannot_be_joined(registry: Registry) -> None:
    refused = await registry.api.post("/subscriptions", {"source_url": ADA, "group_id": 9})
    assert (refused.status, refused.error) == (404, "not_found")
    assert refused.json["what"] == "group"
    assert (await registry.api.get("/feeds")).json["feeds"] == []


async def test_lines_in_the_log_have_the_levels_they_should(registry: Registry) -> None:
    with heard() as lines:
        await registry.subscribed(ADA)
        await registry.api.post("/subscriptions", {"source_url": ADA})
        await registry.api.post("/subscriptions", {"source_url": ADA + "2", "fetcher_id": 99})
        await registry.api.delete("/subscriptions/1")
    told = [(line["event"], line["log_level"]) for line in lines]
    assert ("subscription_created", "info") in told
    assert ("duplicate_url", "warning") in told
    assert ("broadcast_failed", "error") in told
    assert ("subscription_deleted", "info") in told


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_database_that_fails_leaves_an_empty_list(registry: Registry) -> None:
    async with registry.engine.database.write() as tx:
        await tx.run("ALTER TABLE rss_subscriptions RENAME TO elsewhere")
    answer = await registry.api.get("/subscriptions")
    assert (answer.status, answer.error) == (500, "database_error")
    assert answer.json["subscriptions"] == []
    assert answer.json["message"].startswith("Failed to list subscriptions: ")
    assert answer.headers["retry-after"] == "5"
    assert b"elsewhere" not in answer.body
    assert b"no such table" not in answer.body
    conflicts = await registry.api.get("/conflicts")
    assert (conflicts.status, conflicts.json["conflicts"]) == (500, [])
    refused = await registry.api.post("/subscriptions", {"source_url": ADA})
    assert (refused.status, refused.error) == (500, "database_error")
    assert refused.json["message"].startswith("Failed to create subscription: ")


async def test_a_fetcher_that_is_switched_off_while_it_says_yes_gets_nothing(
    registry: Registry,
) -> None:
    fetcher = await registry.joined("remote", priority=300)

    async def switch_off() -> None:
        await registry.api.patch(f"/fetcher-modules/{fetcher}", {"is_enabled": False})

    registry.fetchers.meanwhile = switch_off
    refused = await registry.api.post("/subscriptions", {"source_url": ADA})
    assert (refused.status, refused.error) == (500, "broadcast_failed")
    assert (await registry.api.get("/feeds")).json["feeds"] == []
