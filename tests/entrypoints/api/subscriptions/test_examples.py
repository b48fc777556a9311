"""Requests and answers word for word, as programs written against the first design send them."""

import orjson

from headwater.core.values.ids import FetcherId
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.fetcher import FetcherPatch
from tests.support.clock import VirtualClock
from tests.support.scripted_fetchers import NO, TIMEOUT, Registry

NOW = "2026-01-05T12:00:00Z"
SERIALS = "https://mikanani.me/rss/serials"
BANGUMI = "https://mikanani.me/RSS/Bangumi?bangumiId=3215"
MIKANANI = 2
"""The number of the built-in fetcher; `feed` is 1."""


async def test_a_subscription_of_a_named_fetcher(registry: Registry) -> None:
    made = await registry.api.post(
        "/subscriptions",
        {
            "fetcher_id": MIKANANI,
            "rss_url": SERIALS,
            "name": "Mikanani Latest",
            "description": "Latest anime releases",
            "fetch_interval_minutes": 60,
            "config": '{"source": "mikanani"}',
        },
    )
    assert made.status == 201
    assert made.headers["location"] == "/subscriptions/1"
    feed_id = made.json["feed_id"]
    assert made.json == {
        "subscription_id": 1,
        "fetcher_id": MIKANANI,
        "source_url": SERIALS,
        "rss_url": SERIALS,
        "source_type": "rss",
        "name": "Mikanani Latest",
        "description": "Latest anime releases",
        "last_fetched_at": None,
        "next_fetch_at": NOW,
        "fetch_interval_minutes": 60,
        "is_active": True,
        "config": '{"source": "mikanani"}',
        "assignment_status": "assigned",
        "auto_selected": False,
        "assigned_at": NOW,
        "feed_id": feed_id,
        "group_id": None,
        "has_credentials": False,
        "created_at": NOW,
        "updated_at": NOW,
    }
    assert registry.fetchers.asked == []
    assert (await registry.api.get("/subscriptions/1")).json == made.json
    assert (await registry.api.get(f"/feeds/{feed_id}")).json["title"] == "Mikanani Latest"


async def test_the_same_url_again_is_a_conflict(registry: Registry) -> None:
    made = await registry.subscribed(SERIALS)
    again = await registry.api.post("/subscriptions", {"fetcher_id": 1, "rss_url": SERIALS})
    assert (again.status, again.error) == (409, "duplicate_url")
    assert again.json["message"] == (
        "Subscription already exists for this URL: https://mikanani.me/rss/serials"
    )
    assert again.json["subscription_id"] == made.json["subscription_id"]
    assert again.json["feed_id"] == made.json["feed_id"]


async def test_the_list_holds_active_subscriptions(registry: Registry) -> None:
    first = (await registry.subscribed(SERIALS, name="Mikanani Latest")).json
    second = (await registry.subscribed("https://example.com/rss/anime.xml")).json
    gone = (await registry.subscribed("https://example.com/gone")).json
    assert (await registry.api.delete(f"/subscriptions/{gone['subscription_id']}")).status == 200
    answer = await registry.api.get("/subscriptions")
    assert answer.status == 200
    assert answer.json == {"subscriptions": [first, second], "next_cursor": None}


async def test_what_a_fetcher_is_to_visit(registry: Registry) -> None:
    anime = "https://example.com/rss/anime.xml"
    first = (await registry.subscribed(SERIALS)).json
    fetcher = await registry.joined("mikanani-fetcher")
    second = (await registry.subscribed(anime, fetcher_id=fetcher)).json
    await registry.subscribed("https://example.com/other", fetcher_id=1)
    answer = await registry.api.get(f"/fetcher-modules/{fetcher}/subscriptions")
    assert answer.status == 200
    assert answer.json == {
        "fetcher_id": fetcher,
        "urls": [anime],
        "subscriptions": [second],
        "next_cursor": None,
    }
    own = await registry.api.get(f"/fetcher-modules/{MIKANANI}/subscriptions")
    assert (own.json["fetcher_id"], own.json["urls"]) == (MIKANANI, [SERIALS])
    assert own.json["subscriptions"] == [first]


async def test_the_list_of_fetchers(registry: Registry) -> None:
    await registry.api.post(
        "/services/register",
        {
            "service_name": "mikanani-fetcher",
            "host": "localhost",
            "port": 3001,
            "version": "1.0.0",
            "description": "Mikanani RSS fetcher",
        },
    )
    answer = await registry.api.get("/fetcher-modules")
    assert answer.status == 200
    built_in, mikanani, joined = answer.json["fetcher_modules"]
    assert (built_in["name"], built_in["is_builtin"], built_in["priority"]) == ("feed", True, 10)
    assert (mikanani["name"], mikanani["is_builtin"], mikanani["priority"]) == (
        "mikanani",
        True,
        100,
    )
    assert joined == {
        "fetcher_id": 3,
        "name": "mikanani-fetcher",
        "version": "1.0.0",
        "description": "Mikanani RSS fetcher",
        "base_url": "http://localhost:3001",
        "priority": 50,
        "is_enabled": True,
        "is_builtin": False,
        "config_schema": None,
        "wants_news": False,
        "last_seen_at": NOW,
        "created_at": NOW,
        "updated_at": NOW,
    }


async def test_unsubscribing_by_url(registry: Registry) -> None:
    made = (await registry.subscribed(SERIALS)).json
    encoded = "https%3A%2F%2Fmikanani.me%2Frss%2Fserials"
    answer = await registry.api.delete(f"/subscriptions/{encoded}")
    assert answer.status == 200
    assert answer.json == {
        "message": "Subscription deleted successfully",
        "subscription_id": made["subscription_id"],
        "source_url": SERIALS,
        "rss_url": SERIALS,
        "rows_deleted": 1,
        "hard": False,
    }
    again = await registry.api.delete(f"/subscriptions/{encoded}")
    assert (again.status, again.error) == (404, "not_found")
    assert again.json["message"] == (
        "Subscription not found for URL: https://mikanani.me/rss/serials"
    )


async def a_conflict(registry: Registry) -> tuple[int, int, int]:
    """Of two fetchers that can both: the conflict's number and theirs, the older first."""
    one = await registry.joined("bangumi-fetcher", priority=200)
    other = await registry.joined("generic-fetcher", priority=200)
    await registry.subscribed(SERIALS)
    (conflict,) = (await registry.api.get("/conflicts")).json["conflicts"]
    return conflict["conflict_id"], one, other


async def test_pending_conflicts_with_the_names_of_their_candidates(registry: Registry) -> None:
    conflict_id, one, other = await a_conflict(registry)
    answer = await registry.api.get("/conflicts")
    assert answer.status == 200
    reason = (
        "2 fetchers of the priority 200 can handle this; the oldest takes it until somebody decides"
    )
    assert answer.json["conflicts"] == [
        {
            "conflict_id": conflict_id,
            "subscription_id": 1,
            "source_url": SERIALS,
            "rss_url": SERIALS,
            "conflict_type": "multi_fetcher_match",
            "conflict_data": {"candidate_fetcher_ids": [one, other], "conflict_reason": reason},
            "candidate_fetchers": [
                {"fetcher_id": one, "name": "bangumi-fetcher"},
                {"fetcher_id": other, "name": "generic-fetcher"},
            ],
            "resolution_status": "unresolved",
            "resolution_data": None,
            "resolved_at": None,
            "created_at": NOW,
            "updated_at": NOW,
        }
    ]


async def test_resolving_a_conflict(registry: Registry, virtual_clock: VirtualClock) -> None:
    conflict_id, _, other = await a_conflict(registry)
    await virtual_clock.advance(300)
    answer = await registry.api.post(f"/conflicts/{conflict_id}/resolve", {"fetcher_id": other})
    assert answer.status == 200
    assert answer.json == {
        "message": "Conflict resolved successfully",
        "conflict_id": conflict_id,
        "subscription_id": 1,
        "resolved_fetcher_id": other,
        "resolved_at": "2026-01-05T12:05:00Z",
    }
    resolved = (await registry.api.get("/conflicts?status=resolved")).json["conflicts"][0]
    assert resolved["resolution_status"] == "resolved"
    assert resolved["resolution_data"]["resolved_fetcher_id"] == other
    assert resolved["resolution_data"]["resolved_at"] == "2026-01-05T12:05:00Z"
    assert resolved["resolved_at"] == resolved["updated_at"] == "2026-01-05T12:05:00Z"
    assert (await registry.api.get("/conflicts")).json["conflicts"] == []
    assert (await registry.api.get("/subscriptions/1")).json["fetcher_id"] == other


async def test_a_fetcher_that_is_no_candidate_cannot_be_chosen(registry: Registry) -> None:
    conflict_id, one, other = await a_conflict(registry)
    answer = await registry.api.post(f"/conflicts/{conflict_id}/resolve", {"fetcher_id": 1})
    assert (answer.status, answer.error) == (400, "invalid_fetcher")
    assert answer.json["message"] == "Fetcher 1 is not a candidate for this conflict"
    assert answer.json["candidates"] == [one, other]


async def test_a_conflict_that_does_not_exist(registry: Registry) -> None:
    answer = await registry.api.post("/conflicts/15/resolve", {"fetcher_id": 1})
    assert (answer.status, answer.error) == (404, "not_found")
    assert answer.json["message"] == "Conflict not found: 15"


async def test_a_fetcher_is_chosen_automatically(registry: Registry) -> None:
    fetcher = await registry.joined("mikanani-fetcher", priority=101)
    answer = await registry.api.post(
        "/subscriptions", {"source_url": BANGUMI, "name": "Test Anime"}
    )
    assert answer.status == 201
    shown = {
        name: answer.json[name]
        for name in (
            "subscription_id",
            "fetcher_id",
            "source_url",
            "name",
            "source_type",
            "assignment_status",
            "auto_selected",
            "assigned_at",
        )
    }
    assert shown == {
        "subscription_id": 1,
        "fetcher_id": fetcher,
        "source_url": BANGUMI,
        "name": "Test Anime",
        "source_type": "rss",
        "assignment_status": "auto_assigned",
        "auto_selected": True,
        "assigned_at": None,
    }
    assert registry.fetchers.asked == [("http://mikanani-fetcher.example:8080", BANGUMI, "rss")]


async def test_a_named_fetcher_confirms(registry: Registry) -> None:
    fetcher = await registry.joined("mikanani-fetcher")
    await registry.joined("somebody-else", priority=900)
    said = {"fetcher_id": fetcher, "source_url": BANGUMI, "name": "Test Anime"}
    answer = await registry.api.post("/subscriptions", said)
    assert answer.status == 201
    assert answer.json["assignment_status"] == "assigned"
    assert answer.json["auto_selected"] is False
    assert answer.json["assigned_at"] == NOW
    assert [base for base, _, _ in registry.fetchers.asked] == [
        "http://mikanani-fetcher.example:8080"
    ]


async def test_a_named_fetcher_that_cannot_or_does_not_answer(registry: Registry) -> None:
    fetcher = await registry.joined("mikanani-fetcher")
    for answer_of_it in (NO, TIMEOUT):
        registry.fetchers.answers["http://mikanani-fetcher.example:8080"] = answer_of_it
        said = {"fetcher_id": fetcher, "source_url": BANGUMI, "name": "Test Anime"}
        answer = await registry.api.post("/subscriptions", said)
        assert (answer.status, answer.error) == (400, "no_capable_fetcher")
        assert answer.json["message"] == (
            f"Fetcher {fetcher} cannot handle this subscription request"
        )
    assert (await registry.api.get("/subscriptions")).json["subscriptions"] == []
    assert (await registry.api.get("/feeds")).json["feeds"] == []


async def test_nobody_can_handle_it(registry: Registry) -> None:
    await registry.joined("one")
    await registry.joined("other")
    registry.fetchers.answers = {
        "http://one.example:8080": NO,
        "http://other.example:8080": TIMEOUT,
    }
    said = {"source_url": BANGUMI, "source_type": "podcast-index"}
    answer = await registry.api.post("/subscriptions", said)
    assert (answer.status, answer.error) == (400, "no_capable_fetcher")
    assert answer.json["message"] == "No fetcher can handle this subscription request"


async def test_a_question_that_cannot_be_put(registry: Registry) -> None:
    unknown = await registry.api.post("/subscriptions", {"source_url": BANGUMI, "fetcher_id": 77})
    assert (unknown.status, unknown.error) == (500, "broadcast_failed")
    for built_in in (1, MIKANANI):
        changed = await registry.api.patch(f"/fetcher-modules/{built_in}", {"is_enabled": False})
        assert changed.json["is_enabled"] is False
    for said in ({"fetcher_id": MIKANANI}, {}):
        refused = await registry.api.post("/subscriptions", {"source_url": BANGUMI} | said)
        assert (refused.status, refused.error) == (500, "broadcast_failed")
    await registry.api.patch("/fetcher-modules/1", {"is_enabled": True})
    async with registry.engine.database.write() as tx:
        now = registry.engine.clock.now()
        await fetcher_rows.update_fetcher(
            tx, FetcherId(MIKANANI), FetcherPatch(is_enabled=True), now
        )
        await tx.run("UPDATE fetcher_modules SET base_url = '' WHERE fetcher_id = 2")
    refused = await registry.api.post("/subscriptions", {"source_url": BANGUMI})
    assert (refused.status, refused.error) == (500, "broadcast_failed")


async def test_registering_as_the_first_fetcher_did(registry: Registry) -> None:
    said = {"service_name": "mikanani-fetcher", "host": "localhost", "port": 3001}
    given = said | {"base_url": "http://localhost:3001"}
    made = await registry.api.post("/services/register", given)
    assert made.status == 201
    assert made.json["base_url"] == "http://localhost:3001"
    assert made.json["token"].startswith("hw_")
    assert made.json["signing_key"].startswith("whsec_")
    again = await registry.api.post("/services/register", said)
    assert again.status == 200
    assert again.json == made.json | {"token": None, "signing_key": None}


async def test_config_goes_in_as_an_object_too_and_comes_out_as_text(registry: Registry) -> None:
    made = await registry.subscribed(SERIALS, config={"source_type": "mikanani", "depth": 2})
    assert orjson.loads(made.json["config"]) == {"source_type": "mikanani", "depth": 2}
