"""Fetchers over HTTP: joining with a token and a key of one's own, and what operators decide."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from headwater.core.values.signature import key_of_secret
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.address import about_fetcher
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.scripted_fetchers import Registry

Guarded = Callable[..., Api]

SAID: dict[str, Any] = {"service_name": "weather", "host": "weather.example", "port": 8080}


async def a_token(guarded: Guarded, scope: str, name: str = "x") -> str:
    made = await guarded().post("/tokens", {"name": name, "scope": scope})
    return str(made.json["token"])


async def test_a_service_joins_once_and_says_the_same_as_often_as_it_likes(
    guarded: Guarded,
) -> None:
    joins = guarded(await a_token(guarded, "register"))
    made = await joins.post("/services/register", SAID)
    assert (made.status, made.headers["location"]) == (201, "/fetcher-modules/3")
    again = await joins.post("/services/register", SAID | {"version": "2.0.0"})
    assert (again.status, again.json["fetcher_id"], again.json["version"]) == (200, 3, "2.0.0")
    assert (again.json["token"], again.json["signing_key"]) == (None, None)
    assert (await joins.post("/services/register", SAID)).status == 200


async def test_the_token_opens_the_fetchers_own_things_and_nothing_else(guarded: Guarded) -> None:
    joins = guarded(await a_token(guarded, "register"))
    made = (await joins.post("/services/register", SAID)).json
    own = guarded(made["token"])
    fetcher = made["fetcher_id"]
    assert (await own.post(f"/fetcher-modules/{fetcher}/heartbeat")).status == 200
    assert (await own.get(f"/fetcher-modules/{fetcher}/subscriptions")).status == 200
    assert (await own.get(f"/fetcher-modules/{fetcher}")).status == 200
    for target in ("/fetcher-modules/1", "/fetcher-modules/1/subscriptions"):
        assert (await own.get(target)).status == 403
    assert (await own.post("/fetcher-modules/1/heartbeat")).status == 403
    for target in ("/fetcher-modules", "/subscriptions", "/feeds", "/events", "/conflicts"):
        refused = await own.get(target)
        assert (refused.status, refused.error) == (403, "forbidden"), target
    changed = await own.patch(f"/fetcher-modules/{fetcher}", {"priority": 1_000})
    assert changed.status == 403


async def test_a_fetcher_registers_again_with_its_own_token(guarded: Guarded) -> None:
    joins = guarded(await a_token(guarded, "register"))
    made = (await joins.post("/services/register", SAID)).json
    own = guarded(made["token"])
    moved = await own.post("/services/register", SAID | {"host": "moved.example"})
    assert (moved.status, moved.json["base_url"]) == (200, "http://moved.example:8080")
    other = await own.post("/services/register", SAID | {"service_name": "other"})
    assert (other.status, other.error) == (403, "forbidden")
    assert (await joins.post("/services/register", SAID)).status == 200


async def test_the_key_is_kept_sealed_and_is_the_one_that_was_shown(registry: Registry) -> None:
    made = (await registry.api.post("/services/register", SAID)).json
    async with registry.engine.database.read() as view:
        kept = await fetcher_rows.get_owner(view, made["fetcher_id"])
    assert kept.signing_key is not None
    key = key_of_secret(made["signing_key"])
    assert key not in kept.signing_key
    about = about_fetcher("weather")
    assert registry.engine.vault.open(kept.signing_key, about=about) == key


async def test_rotating_ends_the_old_token_and_the_old_key(guarded: Guarded) -> None:
    joins = guarded(await a_token(guarded, "register"))
    first = (await joins.post("/services/register", SAID)).json
    target = f"/fetcher-modules/{first['fetcher_id']}/heartbeat"
    second = await guarded(first["token"]).post("/services/register", SAID | {"rotate": True})
    assert second.status == 200
    assert second.json["token"] not in (None, first["token"])
    assert second.json["signing_key"] not in (None, first["signing_key"])
    assert (await guarded(first["token"]).post(target)).status == 401
    assert (await guarded(second.json["token"]).post(target)).status == 200


async def test_a_token_that_was_revoked_is_replaced_by_rotating(guarded: Guarded) -> None:
    joins = guarded(await a_token(guarded, "register"))
    first = (await joins.post("/services/register", SAID)).json
    (token,) = [
        each
        for each in (await guarded().get("/tokens")).json["tokens"]
        if each["scope"] == "fetcher"
    ]
    assert token["name"] == "fetcher weather"
    assert (await guarded().delete(f"/tokens/{token['id']}")).status == 200
    assert (await guarded(first["token"]).post("/services/register", SAID)).status == 401
    new = (await joins.post("/services/register", SAID | {"rotate": True})).json
    target = f"/fetcher-modules/{first['fetcher_id']}/heartbeat"
    assert (await guarded(new["token"]).post(target)).status == 200


async def test_nobody_can_ask_for_a_fetchers_token_directly(guarded: Guarded) -> None:
    refused = await guarded().post("/tokens", {"name": "x", "scope": "fetcher"})
    assert (refused.status, refused.error) == (422, "validation_error")


async def test_an_admin_speaks_for_every_registered_fetcher(guarded: Guarded) -> None:
    joins = guarded(await a_token(guarded, "register"))
    made = (await joins.post("/services/register", SAID)).json
    moved = await guarded().post("/services/register", SAID | {"host": "moved.example"})
    assert (moved.status, moved.json["fetcher_id"]) == (200, made["fetcher_id"])
    assert (await joins.post("/services/register", SAID)).status == 200


async def test_two_at_the_same_moment_make_one_fetcher(guarded: Guarded) -> None:
    joins = guarded(await a_token(guarded, "register"))
    answers = await asyncio.gather(*(joins.post("/services/register", SAID) for _ in range(8)))
    assert sorted(each.status for each in answers) == [200] * 7 + [201]
    (made,) = [each.json for each in answers if each.status == 201]
    assert [each.json["token"] for each in answers if each.status == 200] == [None] * 7
    target = f"/fetcher-modules/{made['fetcher_id']}/heartbeat"
    assert (await guarded(made["token"]).post(target)).status == 200


async def test_one_key_joins_once_and_shows_the_secret_once(registry: Registry) -> None:
    first = await registry.api.post("/services/register", SAID, idempotency_key="k")
    again = await registry.api.post("/services/register", SAID, idempotency_key="k")
    assert (first.status, again.status) == (201, 201)
    assert again.json == first.json | {"token": None, "signing_key": None}
    async with registry.engine.database.read() as view:
        rows = await view.rows("SELECT body FROM idempotency")
    assert first.json["token"] not in str([row.body for row in rows])


async def test_fetchers_may_have_to_wait_for_an_admin(guarded: Guarded) -> None:
    admin = guarded(fetchers_start_disabled=True)
    made = (await admin.post("/services/register", SAID)).json
    assert made["is_enabled"] is False
    said = {"source_url": "https://a.example/feed", "fetcher_id": made["fetcher_id"]}
    refused = await admin.post("/subscriptions", said)
    assert (refused.status, refused.error) == (500, "broadcast_failed")
    target = f"/fetcher-modules/{made['fetcher_id']}"
    assert (await admin.patch(target, {"is_enabled": True})).json["is_enabled"] is True
    assert (await admin.post("/services/register", SAID)).json["is_enabled"] is True
    assert (await admin.post("/subscriptions", said)).status == 201


async def test_no_more_may_join_than_the_setting_says(guarded: Guarded) -> None:
    admin = guarded(max_fetchers=2)
    for name in ("one", "two"):
        assert (await admin.post("/services/register", SAID | {"service_name": name})).status == 201
    full = await admin.post("/services/register", SAID | {"service_name": "three"})
    assert (full.status, full.error) == (409, "conflict")
    assert full.json["max_fetchers"] == 2
    assert (await admin.post("/services/register", SAID | {"service_name": "two"})).status == 200


async def test_priority_is_said_when_joining_and_is_the_operators_ever_after(
    registry: Registry,
) -> None:
    made = (await registry.api.post("/services/register", SAID | {"priority": 70})).json
    assert made["priority"] == 70
    target = f"/fetcher-modules/{made['fetcher_id']}"
    assert (await registry.api.patch(target, {"priority": 20})).json["priority"] == 20
    again = await registry.api.post("/services/register", SAID | {"priority": 900})
    assert again.json["priority"] == 20


async def test_a_name_of_a_built_in_fetcher_is_taken(registry: Registry) -> None:
    for name in ("feed", "mikanani"):
        taken = await registry.api.post("/services/register", SAID | {"service_name": name})
        assert (taken.status, taken.error) == (409, "name_taken")


@pytest.mark.parametrize(
    "said",
    [
        {"service_name": ""},
        {"service_name": " "},
        {"service_name": "a\nb"},
        {"port": 0},
        {"port": 65_536},
        {"port": "8080"},
        {"host": ""},
        {"host": None},
        {"port": None},
        {"priority": -1},
        {"priority": 2**63},
        {"version": ""},
        {"wants_news": "yes"},
        {"is_enabled": True},
        {"fetcher_id": 1},
        {"token_id": 1},
        {"registered_by": "admin"},
    ],
)
async def test_a_registration_that_does_not_work_is_refused(
    registry: Registry, said: dict[str, object]
) -> None:
    refused = await registry.api.post("/services/register", SAID | said)
    assert (refused.status, refused.error) == (422, "validation_error")


async def test_a_schema_that_is_none_is_refused(registry: Registry) -> None:
    for schema in ('{"type": 5}', "{", {"$ref": "https://evil.example/schema"}):
        refused = await registry.api.post("/services/register", SAID | {"config_schema": schema})
        assert (refused.status, refused.error) == (422, "bad_config_schema"), schema


async def test_operators_change_what_is_theirs(
    registry: Registry, virtual_clock: VirtualClock
) -> None:
    fetcher = await registry.joined("weather")
    await virtual_clock.advance(5)
    target = f"/fetcher-modules/{fetcher}"
    changed = await registry.api.patch(
        target, {"base_url": "https://weather.example/v1/", "description": "rain"}
    )
    assert changed.json["base_url"] == "https://weather.example/v1"
    assert (changed.json["description"], changed.json["priority"]) == ("rain", 100)
    assert changed.json["updated_at"] == "2026-01-05T12:00:05Z"
    for said in ({"name": "x"}, {"is_enabled": None}, {"priority": None}, {"base_url": None}):
        assert (await registry.api.patch(target, said)).status == 422
    private = await registry.api.patch(target, {"base_url": "http://10.0.0.1:8080"})
    assert (private.status, private.error) == (422, "blocked_address")


async def test_a_built_in_fetcher_stays_in_process(registry: Registry) -> None:
    moved = await registry.api.patch("/fetcher-modules/1", {"base_url": "https://evil.example"})
    assert (moved.status, moved.error) == (409, "conflict")
    changed = await registry.api.patch("/fetcher-modules/1", {"priority": 11})
    assert (changed.status, changed.json["priority"]) == (200, 11)
    assert changed.json["base_url"] == "inproc:feed"


async def test_a_heartbeat_is_remembered(registry: Registry, virtual_clock: VirtualClock) -> None:
    fetcher = await registry.joined("weather")
    await virtual_clock.advance(30)
    seen = await registry.api.post(f"/fetcher-modules/{fetcher}/heartbeat")
    assert seen.json == {
        "fetcher_id": fetcher,
        "last_seen_at": "2026-01-05T12:00:30Z",
        "is_enabled": True,
    }
    shown = (await registry.api.get(f"/fetcher-modules/{fetcher}")).json
    assert shown["last_seen_at"] == "2026-01-05T12:00:30Z"


async def test_one_heartbeat_sent_twice_is_one_sign_of_life(
    registry: Registry, virtual_clock: VirtualClock
) -> None:
    fetcher = await registry.joined("weather")
    target = f"/fetcher-modules/{fetcher}/heartbeat"
    first = await registry.api.post(target, idempotency_key="k")
    await virtual_clock.advance(30)
    again = await registry.api.post(target, idempotency_key="k")
    assert (again.status, again.body) == (200, first.body)
    assert again.headers["idempotent-replayed"] == "true"
    shown = (await registry.api.get(f"/fetcher-modules/{fetcher}")).json
    assert shown["last_seen_at"] == "2026-01-05T12:00:00Z"
    other = await registry.api.post(f"{target}?again=1", idempotency_key="k")
    assert (other.status, other.error) == (422, "idempotency_mismatch")


async def test_whatever_a_fetcher_asks_is_a_sign_of_life(
    guarded: Guarded, virtual_clock: VirtualClock
) -> None:
    joins = guarded(await a_token(guarded, "register"))
    made = (await joins.post("/services/register", SAID)).json
    await virtual_clock.advance(90)
    target = f"/fetcher-modules/{made['fetcher_id']}"
    assert (await guarded(made["token"]).get(f"{target}/subscriptions")).status == 200
    assert (await guarded().get(target)).json["last_seen_at"] == "2026-01-05T12:01:30Z"


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_database_that_fails_before_the_route_leaves_an_empty_list_too(
    guarded: Guarded, registry: Registry
) -> None:
    reads = guarded(await a_token(guarded, "read"))
    async with registry.engine.database.write() as tx:
        await tx.run("ALTER TABLE api_tokens RENAME TO elsewhere")
    for target, name in (
        ("/subscriptions", "subscriptions"),
        ("/conflicts", "conflicts"),
        ("/fetcher-modules", "fetcher_modules"),
    ):
        answer = await reads.get(target)
        assert (answer.status, answer.error) == (500, "database_error")
        assert answer.json[name] == []


async def test_urls_come_in_pages(registry: Registry) -> None:
    fetcher = await registry.joined("weather")
    for number in range(3):
        await registry.subscribed(f"https://a{number}.example/feed?token=t{number}")
    target = f"/fetcher-modules/{fetcher}/subscriptions?limit=2"
    page = (await registry.api.get(target)).json
    assert page["urls"] == [
        "https://a0.example/feed?token=t0",
        "https://a1.example/feed?token=t1",
    ]
    rest = (await registry.api.get(f"{target}&cursor={page['next_cursor']}")).json
    assert (rest["urls"], rest["next_cursor"]) == (["https://a2.example/feed?token=t2"], None)


@pytest.mark.parametrize("text", ["0", "99", "x", "-1", "01", "9" * 40])
async def test_what_is_no_fetcher_is_not_found(registry: Registry, text: str) -> None:
    for method, target in (
        ("GET", f"/fetcher-modules/{text}"),
        ("GET", f"/fetcher-modules/{text}/subscriptions"),
        ("POST", f"/fetcher-modules/{text}/heartbeat"),
    ):
        assert (await registry.api.ask(method, target)).status == 404
    assert (await registry.api.patch(f"/fetcher-modules/{text}", {"priority": 1})).status == 404
