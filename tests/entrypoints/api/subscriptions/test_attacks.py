"""Attacks on the registry's way in: other people's fetchers, names, tokens and URLs (L and M)."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.entrypoints.api.app import create_app
from headwater.settings import Settings
from tests.entrypoints.api.test_attacks import served, wire
from tests.support.api_caller import Api
from tests.support.api_routes import RIGHTS
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.scripted_engine import ScriptedWeb, an_engine
from tests.support.scripted_fetchers import ScriptedFetchers

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

Guarded = Callable[..., Api]

ADMIN = "an-admin-token-of-the-tests"
ADA = "https://ada.example/feed"
SAID = {"service_name": "weather", "host": "weather.example", "port": 8080}

OPEN_TO: dict[str, set[tuple[str, str]]] = {
    "register": {("POST", "/services/register")},
    "publish": {("POST", "/internal/rss/item"), ("POST", "/internal/rss/items")},
    "fetcher": {
        ("POST", "/services/register"),
        ("GET", "/fetcher-modules/{fetcher_id}"),
        ("POST", "/fetcher-modules/{fetcher_id}/heartbeat"),
        ("GET", "/fetcher-modules/{fetcher_id}/subscriptions"),
        ("GET", "/fetcher-modules/{fetcher_id}/events"),
        ("POST", "/fetcher-modules/{fetcher_id}/claims"),
        ("POST", "/fetcher-modules/{fetcher_id}/claims/renew"),
        ("POST", "/fetcher-results"),
    },
}
"""Everything that these scopes open; what a fetcher's token opens, it opens for its own number."""

ONLY_ADMIN = {
    ("POST", "/services/register"),
    ("PATCH", "/fetcher-modules/{fetcher_id}"),
    ("POST", "/fetcher-modules/{fetcher_id}/heartbeat"),
    ("POST", "/subscriptions"),
    ("PATCH", "/subscriptions/{subscription_id}"),
    ("DELETE", "/subscriptions/{subscription_id:path}"),
    ("POST", "/conflicts"),
    ("POST", "/conflicts/{conflict_id}/resolve"),
}
"""What a `read` token must not reach here."""


@pytest.fixture
def engine(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> EngineParts:
    made = an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)
    made.fetchers = ScriptedFetchers()
    return made


@pytest.fixture
def guarded(engine: EngineParts, tmp_path: Path) -> Guarded:
    def app(token: str | None = ADMIN, **settings: object) -> Api:
        every = {"data_dir": tmp_path, "admin_token": ADMIN, "api_rate_per_minute": 100_000}
        return Api(create_app(engine.services, Settings(**every | settings)), token)  # type: ignore[arg-type]

    return app


async def token_of(guarded: Guarded, scope: str) -> str:
    made = await guarded().post("/tokens", {"name": scope, "scope": scope})
    return str(made.json["token"])


async def joined(guarded: Guarded, name: str = "weather") -> tuple[int, str]:
    """A fetcher's number and its own token."""
    joins = guarded(await token_of(guarded, "register"))
    made = (await joins.post("/services/register", SAID | {"service_name": name})).json
    return int(made["fetcher_id"]), str(made["token"])


def at(path: str, fetcher_id: int = 99) -> str:
    return path.replace(":path", "").replace("{fetcher_id}", str(fetcher_id)).replace("{", "")


async def reached(api: Api, method: str, path: str) -> bool:
    status = (await api.ask(method, path.replace("}", ""))).status
    assert status != 401, (method, path)
    return status != 403


async def test_154_each_scope_opens_what_is_its_own_and_nothing_else(guarded: Guarded) -> None:
    number, own_token = await joined(guarded)
    keys = {"register": await token_of(guarded, "register"), "fetcher": own_token}
    keys["publish"] = await token_of(guarded, "publish")
    closed = {route for route, right in RIGHTS.items() if right is not None}
    for scope, token in keys.items():
        caller = guarded(token)
        opened = {
            (method, path)
            for method, path in closed
            if not path.endswith("/events") and await reached(caller, method, at(path, number))
        }
        assert opened == {each for each in OPEN_TO[scope] if not each[1].endswith("/events")}


async def test_154_a_reader_changes_nothing_of_the_registry(guarded: Guarded) -> None:
    reads = guarded(await token_of(guarded, "read"))
    for method, path in ONLY_ADMIN:
        assert not await reached(reads, method, at(path)), (method, path)
    for path in ("/fetcher-modules", "/subscriptions", "/conflicts"):
        assert await reached(reads, "GET", path)


async def test_154_without_a_valid_token_nothing_of_the_registry_answers(guarded: Guarded) -> None:
    routes = [*ONLY_ADMIN, ("GET", "/subscriptions"), ("GET", "/conflicts")]
    for token in (None, "hw_wrong", ""):
        for method, path in routes:
            refused = await guarded(token).ask(method, at(path).replace("}", ""))
            assert (refused.status, refused.error) == (401, "unauthorized")


async def test_151_a_fetchers_token_opens_no_admin_route(guarded: Guarded) -> None:
    _, token = await joined(guarded)
    fetcher = guarded(token)
    for method, path in (
        ("GET", "/tokens"),
        ("POST", "/tokens"),
        ("POST", "/feeds"),
        ("GET", "/status"),
        ("POST", "/subscriptions"),
        ("GET", "/events"),
    ):
        assert (await fetcher.ask(method, path)).status == 403, (method, path)


async def test_151_a_token_whose_fetcher_is_gone_opens_nothing(
    guarded: Guarded, engine: EngineParts
) -> None:
    number, token = await joined(guarded)
    async with engine.database.write() as tx:
        await tx.run("DELETE FROM fetcher_modules WHERE fetcher_id = ?", number)
    own = guarded(token)
    for target in (f"/fetcher-modules/{number}", f"/fetcher-modules/{number}/subscriptions"):
        assert (await own.get(target)).status == 403
    assert (await own.post("/services/register", SAID)).status == 403
    assert (await own.post("/fetcher-modules/None/heartbeat")).status in (403, 404)


async def test_166_what_belongs_to_another_fetcher_stays_closed(guarded: Guarded) -> None:
    mine, token = await joined(guarded, "mine")
    other, _ = await joined(guarded, "other")
    made = await guarded().post("/subscriptions", {"source_url": ADA, "fetcher_id": other})
    assert made.status == 201
    fetcher = guarded(token)
    for method, path in OPEN_TO["fetcher"]:
        if "{fetcher_id}" in path:
            refused = await fetcher.ask(method, at(path, other).replace("}", ""))
            assert (refused.status, refused.error) == (403, "forbidden"), path
    own = (await fetcher.get(f"/fetcher-modules/{mine}/subscriptions")).json
    assert (own["urls"], own["subscriptions"]) == ([], [])
    for disguise in (f"0{mine}", f"{mine}%20", f"{mine}.0", f"%{ord(str(mine)):02x}", "None", ""):
        status = (await fetcher.get(f"/fetcher-modules/{disguise}/subscriptions")).status
        assert status in (200, 403, 404)
        if disguise != f"%{ord(str(mine)):02x}":
            assert status != 200


async def test_166_a_fetcher_cannot_delete_or_look_at_subscriptions(guarded: Guarded) -> None:
    _, token = await joined(guarded)
    await guarded().post("/subscriptions", {"source_url": ADA})
    fetcher = guarded(token)
    for method, target in (
        ("DELETE", "/subscriptions/1"),
        ("DELETE", f"/subscriptions/{quote(ADA, safe='')}"),
        ("PATCH", "/subscriptions/1"),
        ("GET", "/subscriptions/1"),
        ("GET", "/subscriptions/1/history"),
    ):
        assert (await fetcher.ask(method, target)).status == 403
    assert (await guarded().get("/subscriptions/1")).json["is_active"] is True


async def test_167_nobody_assigns_what_is_ours_to_say(guarded: Guarded) -> None:
    admin = guarded()
    await admin.post("/subscriptions", {"source_url": ADA})
    before = (await admin.get("/subscriptions/1")).json
    for field, value in (
        ("subscription_id", 5),
        ("created_at", "2020-01-01T00:00:00Z"),
        ("feed_id", "x"),
        ("fence", 9),
        ("shard", -1),
        ("assignment_status", "auto_assigned"),
        ("auto_selected", True),
        ("is_admin", True),
        ("last_fetched_at", "2020-01-01T00:00:00Z"),
    ):
        assert (await admin.patch("/subscriptions/1", {field: value})).status == 422, field
        assert (await admin.post("/subscriptions", {"source_url": ADA, field: value})).status == 422
        assert (await admin.post("/services/register", SAID | {field: value})).status == 422
        assert (await admin.patch("/fetcher-modules/1", {field: value})).status == 422
        said = {"fetcher_id": 1, field: value}
        assert (await admin.post("/conflicts/1/resolve", said)).status in (404, 422)
    assert (await admin.get("/subscriptions/1")).json == before


async def test_176_joining_needs_a_token_made_for_it(guarded: Guarded) -> None:
    for token in (None, "hw_wrong"):
        refused = await guarded(token).post("/services/register", SAID)
        assert (refused.status, refused.error) == (401, "unauthorized")
    for scope in ("read", "publish"):
        refused = await guarded(await token_of(guarded, scope)).post("/services/register", SAID)
        assert (refused.status, refused.error) == (403, "forbidden")
    assert len((await guarded().get("/fetcher-modules")).json["fetcher_modules"]) == 2


async def test_176_with_the_setting_nobody_is_asked_before_an_admin_says_so(
    guarded: Guarded,
) -> None:
    token = await token_of(guarded, "register")
    joins = guarded(token, fetchers_start_disabled=True)
    made = (await joins.post("/services/register", SAID | {"priority": 1_000})).json
    assert made["is_enabled"] is False
    taken = await guarded().post("/subscriptions", {"source_url": ADA})
    assert (taken.status, taken.json["fetcher_id"]) == (201, 1)
    again = await joins.post("/services/register", SAID)
    assert again.json["is_enabled"] is False


@pytest.mark.parametrize(
    "base_url",
    [
        "http://127.0.0.1:8080",
        "http://localhost:8080",
        "http://169.254.169.254",
        "http://[::1]:8080",
        "http://[::ffff:169.254.169.254]",
        "http://2130706433",
        "http://0x7f000001",
        "http://10.0.0.1",
        "http://weather.example:22",
        "inproc:feed",
        "file:///etc/passwd",
        "http://user:pass@weather.example",
        "http://weather.example/..;/admin",
        "http://weather.example/%2e%2e/admin",
        "http://weather.example/?x=",
        "http://weather.example/#x",
        "http://weather.example\\@evil.example",
    ],
)
async def test_177_a_base_url_that_leads_elsewhere_is_refused(
    guarded: Guarded, base_url: str
) -> None:
    joins = guarded(await token_of(guarded, "register"))
    refused = await joins.post("/services/register", SAID | {"base_url": base_url})
    assert (refused.status, refused.error in ("bad_url", "blocked_address")) == (422, True)


async def test_179_a_name_belongs_to_whoever_registered_it(guarded: Guarded) -> None:
    number, token = await joined(guarded)
    stranger = guarded(await token_of(guarded, "register"))
    _, other_token = await joined(guarded, "other")
    evil = SAID | {"host": "evil.example"}
    for thief in (stranger, guarded(other_token)):
        for said in (SAID, evil, evil | {"rotate": True}):
            taken = await thief.post("/services/register", said)
            assert (taken.status, taken.error) == (409, "name_taken")
            assert "token" not in taken.json
    shown = (await guarded().get(f"/fetcher-modules/{number}")).json
    assert shown["base_url"] == "http://weather.example:8080"
    assert (await guarded(token).post(f"/fetcher-modules/{number}/heartbeat")).status == 200


async def test_179_a_built_in_fetcher_cannot_be_replaced(guarded: Guarded) -> None:
    for caller in (guarded(), guarded(await token_of(guarded, "register"))):
        taken = await caller.post("/services/register", SAID | {"service_name": "feed"})
        assert (taken.status, taken.error) == (409, "name_taken")


async def test_181_no_crowd_of_fetchers_can_join(guarded: Guarded) -> None:
    joins = guarded(await token_of(guarded, "register"), max_fetchers=5)
    answers = await asyncio.gather(
        *(joins.post("/services/register", SAID | {"service_name": f"f{n}"}) for n in range(20))
    )
    assert sum(each.status == 201 for each in answers) == 5
    assert {each.status for each in answers} == {201, 409}


async def test_186_only_an_enabled_candidate_can_be_chosen_and_by_one_admin(
    guarded: Guarded, engine: EngineParts
) -> None:
    admin = guarded()
    one, two, three = [
        (await admin.post("/services/register", SAID | {"service_name": name})).json["fetcher_id"]
        for name in ("one", "two", "three")
    ]
    await admin.post("/subscriptions", {"source_url": ADA})
    await admin.patch(f"/fetcher-modules/{three}", {"is_enabled": False})
    for fetcher_id in (1, 99, three):
        refused = await admin.post("/conflicts/1/resolve", {"fetcher_id": fetcher_id})
        assert (refused.status, refused.error) == (400, "invalid_fetcher")
        assert refused.json["candidates"] == [one, two, three]
    answers = await asyncio.gather(
        *(
            admin.post("/conflicts/1/resolve", {"fetcher_id": choice})
            for choice in (one, two, one, two)
        )
    )
    assert sorted(each.status for each in answers) == [200, 200, 409, 409]


BANGUMI = "https://mikanani.me/RSS/Bangumi?bangumiId=3215&subgroupid=370"


@pytest.mark.parametrize(
    "url",
    [
        BANGUMI,
        "https://a.example/with%20space/and%2Fslash?q=a%26b&c=%25",
        "https://a.example/",
        "https://a.example/a/../b?x=..%2f..",
        "https://a.example/1",
        "https://a.example/\u65e5\u672c?q=\u8a9e",
        "https://a.example/subscriptions/1/history",
    ],
)
async def test_187_a_url_is_decoded_exactly_once(guarded: Guarded, url: str) -> None:
    admin = guarded()
    stored = (await admin.post("/subscriptions", {"source_url": url})).json["source_url"]
    once = quote(stored, safe="")
    twice = quote(once, safe="")
    assert (await admin.delete(f"/subscriptions/{twice}")).status == 404
    gone = await admin.delete(f"/subscriptions/{once}")
    assert (gone.status, gone.json["rss_url"]) == (200, stored)


async def test_187_a_url_that_was_not_encoded_deletes_nothing_else(guarded: Guarded) -> None:
    """Its query would be lost on the way, and the rest be another source."""
    admin = guarded()
    plain = "https://mikanani.me/RSS/Bangumi"
    for url in (plain, BANGUMI):
        assert (await admin.post("/subscriptions", {"source_url": url})).status == 201
    refused = await admin.delete(f"/subscriptions/{BANGUMI}")
    assert (refused.status, refused.error) == (422, "bad_input")
    half = await admin.delete("/subscriptions/https:%2F%2Fmikanani.me/RSS/Bangumi?bangumiId=3215")
    assert half.status == 422
    both = (await admin.get("/subscriptions")).json["subscriptions"]
    assert [each["source_url"] for each in both] == [plain, BANGUMI]
    gone = await admin.delete(f"/subscriptions/{plain}")
    assert (gone.status, gone.json["rss_url"]) == (200, plain)


@pytest.mark.parametrize(
    "target",
    [
        "/subscriptions/",
        "/subscriptions/..%2f1",
        "/subscriptions/%2e%2e",
        "/subscriptions/.%2f..%2f1",
        "/subscriptions/1%00",
        "/subscriptions/1%20",
        "/subscriptions/%2531",
        "/subscriptions/%EF%BC%91",
        "/subscriptions/%ff",
        "/subscriptions/1/",
        "/subscriptions/1%2f",
        "/subscriptions/%2f1",
        "/subscriptions/ada.example/feed",
        "/subscriptions/%2F%2Fada.example%2Ffeed",
        "/subscriptions/https%3A%2F%2Fada.example%2F",
        "/subscriptions/https%3A%2F%2Fada.example",
        "/subscriptions/%25",
        "/subscriptions/https%3A%2F%2Fada.example%2Ffeed%00",
    ],
)
async def test_187_odd_paths_match_no_row(guarded: Guarded, target: str) -> None:
    admin = guarded()
    await admin.post("/subscriptions", {"source_url": ADA})
    assert (await admin.delete(target)).status in (404, 405, 422)
    assert (await admin.delete(target + "?hard=true")).status in (404, 405, 422)
    assert (await admin.get("/subscriptions/1")).json["is_active"] is True


async def test_187_on_the_wire_a_url_is_decoded_once_too(guarded: Guarded) -> None:
    admin = guarded()
    await admin.post("/subscriptions", {"source_url": BANGUMI})
    head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {ADMIN}\r\nConnection: close\r\n\r\n"
    async with served(admin) as port:
        for target, status in (
            (quote(quote(BANGUMI, safe=""), safe=""), b" 404 "),
            (quote(BANGUMI, safe="?&=/:"), b" 422 "),
            (quote(BANGUMI, safe=""), b" 200 "),
        ):
            request = f"DELETE /subscriptions/{target} HTTP/1.1\r\n{head}".encode()
            assert status in (await wire(port, request))[:20]


async def test_187_an_encoded_number_is_that_number(guarded: Guarded) -> None:
    admin = guarded()
    await admin.post("/subscriptions", {"source_url": ADA})
    gone = await admin.delete("/subscriptions/%31")
    assert (gone.status, gone.json["subscription_id"]) == (200, 1)
