"""What is promised about readers over HTTP holds when they are kept in Redis, beside the database.

The Idempotency-Keys stay in the database: the two places have no transaction in common.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.entrypoints.api.app import create_app
from headwater.personal_feeds.redis.store import PersonalRedis
from headwater.personal_feeds.served_feeds import PersonalFeeds, PersonalPolicy
from headwater.settings import Settings
from tests.entrypoints.api.personal_feeds import test_readers
from tests.support.api_caller import Api
from tests.support.brokers import OwnServer
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.personal_redis import own_server, pen, store
from tests.support.scripted_engine import ScriptedWeb, an_engine

__all__ = ["own_server", "pen", "store"]

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


@pytest.fixture
def engine(
    database: SqlDatabase, virtual_clock: VirtualClock, store: PersonalRedis, tmp_path: Path
) -> EngineParts:
    made = an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)
    made.personal = store
    made.personal_feeds = PersonalFeeds(store, virtual_clock, PersonalPolicy())
    return made


@pytest.fixture
def api(engine: EngineParts, tmp_path: Path) -> Api:
    return Api(create_app(engine.services, Settings(data_dir=tmp_path)))


@pytest.fixture
def guarded(engine: EngineParts, tmp_path: Path) -> Callable[..., Api]:
    def app(token: str | None = "an-admin-token", **settings: Any) -> Api:
        every: dict[str, Any] = {"data_dir": tmp_path, "admin_token": "an-admin-token"} | settings
        return Api(create_app(engine.services, Settings(**every)), token)

    return app


test_made_found_and_listed = test_readers.test_a_reader_is_made_found_and_listed
test_pages = test_readers.test_readers_are_listed_in_the_order_they_were_made_page_by_page
test_only_what_is_named_changes = test_readers.test_only_what_is_named_changes
test_a_name_is_there_once = test_readers.test_a_name_is_there_once
test_a_removed_reader = test_readers.test_a_removed_reader_takes_the_tokens_along
test_names_are_exact = (
    test_readers.test_names_of_categories_are_exact_texts_and_nothing_in_them_is_a_pattern
)
test_odd_ids = test_readers.test_there_is_nobody_under_an_odd_id
test_settings_bound = test_readers.test_settings_bound_readers_categories_and_tokens
test_a_token_is_shown_once = test_readers.test_a_token_is_shown_once_with_the_addresses_it_opens
test_a_grace = test_readers.test_a_rotated_token_works_until_its_grace_is_over
test_rotated_once = test_readers.test_a_token_is_rotated_once_and_not_after_its_end
test_all_rotated = test_readers.test_all_tokens_of_a_reader_may_be_rotated_at_the_same_time
test_revoked = test_readers.test_a_revoked_token_opens_nothing_and_revoking_twice_is_revoking_once
test_no_token_of_another = test_readers.test_a_reader_reaches_no_token_of_another
test_one_reader = test_readers.test_a_repeated_request_makes_one_reader
test_one_token = test_readers.test_a_repeated_request_makes_one_token_and_shows_it_once
test_a_crash = test_readers.test_after_a_crash_behind_the_effect_the_retry_finds_what_was_made


async def test_it_is_said_which_place_cannot_be_reached(api: Api, own_server: OwnServer) -> None:
    own_server.kill()
    try:
        answer = await api.get("/readers")
    finally:
        own_server.start()
    assert answer.status == 500
    assert answer.json == {
        "error": "connection_error",
        "message": "Redis cannot be reached. Try again in a moment.",
        "detail": "Redis cannot be reached. Try again in a moment.",
        "status_code": 500,
    }
    assert answer.headers["retry-after"] == "5"


async def test_a_reader_that_another_tool_made_is_looked_after_like_ours(
    api: Api, engine: EngineParts, pen: Any
) -> None:
    await pen.set("rss:user:user 42:categories", '["garden"]')
    await pen.set("rss:token:plain-old-token", "user 42")
    await engine.personal.upkeep(0)
    (there,) = (await api.get("/readers")).json["readers"]
    assert (there["id"], there["categories"]) == ("user 42", ["garden"])
    changed = await api.patch("/readers/user%2042", {"categories": ["garden", "sea"]})
    assert changed.json["categories"] == ["garden", "sea"]
    assert await pen.get("rss:user:user 42:categories") == '["garden","sea"]'
    assert await test_readers.opens(engine, "plain-old-token") == "user 42"
    (old,) = (await api.get("/readers/user%2042/tokens")).json["tokens"]
    target = f"/readers/user%2042/tokens/{old['id']}/rotate"
    turned = await api.post(target, {"grace_hours": 0})
    assert turned.status == 200
    assert await test_readers.opens(engine, "plain-old-token") is None
    assert await test_readers.opens(engine, turned.json["token"]) == "user 42"
