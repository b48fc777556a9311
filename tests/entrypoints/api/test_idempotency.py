"""Idempotency-Key: one effect per key, whatever happens in between (invariant A2)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from headwater.core import idempotency_rows
from headwater.core.errors import ConflictError
from headwater.core.idempotency import attempt_of
from headwater.core.ports import View
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.origin import Post, rss
from tests.support.scripted_engine import SECOND, River

FEED = rss([Post("1", "First")])


async def test_the_same_request_again_gets_the_same_answer(api: Api, river: River) -> None:
    url = river.web.serve("https://ada.example/feed", FEED)
    first = await api.post("/feeds", {"url": url}, idempotency_key="k1")
    await api.patch(f"/feeds/{first.json['id']}", {"title": "changed since"})
    again = await api.post("/feeds", {"url": url}, idempotency_key="k1")
    assert (again.status, again.body) == (201, first.body)
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["idempotent-replayed"] == "true"
    assert river.web.asked == [url]


async def test_another_body_path_or_query_under_the_same_key_is_422(api: Api, river: River) -> None:
    feed_id = await river.feed()
    later = {"url": "https://b.example/feed", "visit": "later"}
    assert (await api.post("/feeds", later, idempotency_key="k")).status == 201
    other = await api.post("/feeds", later | {"priority": 1}, idempotency_key="k")
    assert (other.status, other.error) == (422, "idempotency_mismatch")
    elsewhere = await api.post(f"/feeds/{feed_id}/refetch", idempotency_key="k")
    assert (elsewhere.status, elsewhere.error) == (422, "idempotency_mismatch")
    asked = await api.post(f"/feeds/{feed_id}/refetch", idempotency_key="q")
    assert asked.status == 202
    whole = await api.post(f"/feeds/{feed_id}/refetch?whole=true", idempotency_key="q")
    assert (whole.status, whole.error) == (422, "idempotency_mismatch")


async def test_a_failed_request_frees_its_key(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    url = "https://ada.example/feed"
    assert (await api.post("/feeds", {"url": url}, idempotency_key="k")).status == 502
    river.web.serve(url, FEED)
    await virtual_clock.advance(5)  # the host's turn
    assert (await api.post("/feeds", {"url": url}, idempotency_key="k")).status == 201


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_body_that_does_not_work_frees_its_key(api: Api, river: River) -> None:
    refused = await api.post("/groups", {"name": ""}, idempotency_key="k")
    assert (refused.status, refused.error) == (422, "validation_error")
    assert (await api.post("/groups", {"name": "News"}, idempotency_key="k")).status == 201


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_missing_thing_frees_its_key(api: Api) -> None:
    missing = await api.post("/groups/7/actions", {"action": "pause"}, idempotency_key="k")
    assert (missing.status, missing.error) == (404, "not_found")
    assert (await api.post("/groups", {"name": "News"}, idempotency_key="k")).status == 201


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_no_view_is_open_while_an_answer_is_remembered(
    api: Api, river: River, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever holds one connection and waits for another may wait for ever."""
    made = await api.post("/groups", {"name": "News"})
    key_hash = await begun(river.engine, b'{"name":"News"}', "/groups")
    async with river.engine.database.write() as tx:
        await idempotency_rows.set_key_resource(tx, key_hash, str(made.json["group_id"]))
    steps: list[str] = []
    reading, remembering = river.engine.database.read, idempotency_rows.set_key_answer

    @asynccontextmanager
    async def read() -> AsyncIterator[View]:
        async with reading() as view:
            steps.append("opened")
            yield view
        steps.append("closed")

    async def remember(*answer: Any) -> None:
        steps.append("remembered")
        await remembering(*answer)

    monkeypatch.setattr(river.engine.database, "read", read)
    monkeypatch.setattr(idempotency_rows, "set_key_answer", remember)
    ask = {"content-type": "application/json", "idempotency-key": "k"}
    again = await api.ask("POST", "/groups", b'{"name":"News"}', ask)
    assert (again.status, again.json) == (201, made.json)
    assert again.headers["location"] == made.headers["location"]
    assert steps == ["opened", "closed", "remembered"]


async def test_at_the_same_time_one_works_and_the_other_is_told_to_wait(
    api: Api, river: River
) -> None:
    url = river.web.serve("https://ada.example/feed", FEED)
    river.web.gate = asyncio.Event()
    first = asyncio.create_task(api.post("/feeds", {"url": url}, idempotency_key="k"))
    await river.web.reached.wait()
    second = await api.post("/feeds", {"url": url}, idempotency_key="k")
    assert (second.status, second.error) == (409, "idempotency_in_progress")
    assert second.headers["retry-after"] == "5"  # it may be done long before its 90 seconds end
    river.web.gate.set()
    assert (await first).status == 201
    assert river.web.asked == [url]


async def begun(engine: EngineParts, body: bytes, path: str = "/feeds") -> bytes:
    """A process took the key and died."""
    attempt = attempt_of("k", "loopback", "POST", path, body)
    async with engine.database.write() as tx:
        await idempotency_rows.claim_key(tx, attempt, engine.clock.now(), lease=timedelta(hours=1))
    return attempt.key_hash


async def test_after_a_crash_before_the_effect_the_retry_has_it(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    body = b'{"url":"https://b.example/feed","visit":"later"}'
    await begun(river.engine, body)
    ask = {"content-type": "application/json", "idempotency-key": "k"}
    assert (await api.ask("POST", "/feeds", body, ask)).status == 409
    await virtual_clock.advance(88)  # a fetch may take 30 seconds, and all the rest 60
    waiting = await api.ask("POST", "/feeds", body, ask)
    assert (waiting.status, waiting.headers["retry-after"]) == (409, "2")
    await virtual_clock.advance(2)
    assert (await api.ask("POST", "/feeds", body, ask)).status == 201
    assert len((await api.get("/feeds")).json["feeds"]) == 1


async def test_after_a_crash_behind_the_effect_the_retry_only_tells_of_it(
    api: Api, river: River
) -> None:
    body = b'{"url":"https://b.example/feed","visit":"later"}'
    key_hash = await begun(river.engine, body)
    feed_id = await river.feed("b")
    async with river.engine.database.write() as tx:
        await idempotency_rows.set_key_resource(tx, key_hash, feed_id)
    ask = {"content-type": "application/json", "idempotency-key": "k"}
    answer = await api.ask("POST", "/feeds", body, ask)
    assert (answer.status, answer.json["id"]) == (201, feed_id)
    assert answer.headers["location"] == f"/feeds/{feed_id}"
    assert answer.headers["idempotent-replayed"] == "true"
    assert (await api.ask("POST", "/feeds", body, ask)).body == answer.body


async def test_a_late_first_attempt_has_no_second_effect(river: River) -> None:
    """Its lease was over and somebody else took the key: its own transaction must fail."""
    key_hash = await begun(river.engine, b"{}")
    async with river.engine.database.write() as tx:
        await idempotency_rows.set_key_resource(tx, key_hash, "theirs")
    with pytest.raises(ConflictError):
        async with river.engine.database.write() as tx:
            await idempotency_rows.set_key_resource(tx, key_hash, "mine")


async def test_a_refetch_is_repeated_without_a_second_visit(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    feed_id = await river.feed()
    await river.set(feed_id, next_visit_at=river.now + 900 * SECOND)
    first = await api.post(f"/feeds/{feed_id}/refetch", idempotency_key="k")
    await virtual_clock.advance(5)
    await river.set(feed_id, last_fetch_at=river.now, next_visit_at=river.now + 900 * SECOND)
    again = await api.post(f"/feeds/{feed_id}/refetch", idempotency_key="k")
    assert (again.status, again.body) == (202, first.body)
    assert await river.column(feed_id, "next_visit_at") == river.now + 900 * SECOND


async def test_a_repeated_token_request_makes_no_second_token_and_shows_no_secret(
    api: Api, river: River
) -> None:
    first = await api.post("/tokens", {"name": "a"}, idempotency_key="k")
    again = await api.post("/tokens", {"name": "a"}, idempotency_key="k")
    assert first.json["token"].startswith("hw_")
    assert again.json == first.json | {"token": None}
    assert len((await api.get("/tokens")).json["tokens"]) == 1
    async with river.engine.database.read() as view:
        kept = await view.rows("SELECT * FROM idempotency")
    assert first.json["token"] not in repr(kept)


async def test_after_a_crash_behind_it_no_secret_is_shown_that_opens_nothing(
    api: Api, river: River
) -> None:
    """The token there is has another secret, which was lost with its answer."""
    made = (await api.post("/tokens", {"name": "a"})).json
    key_hash = await begun(river.engine, b'{"name":"a"}', "/tokens")
    async with river.engine.database.write() as tx:
        await idempotency_rows.set_key_resource(tx, key_hash, str(made["id"]))
    ask = {"content-type": "application/json", "idempotency-key": "k"}
    answer = await api.ask("POST", "/tokens", b'{"name":"a"}', ask)
    assert (answer.status, answer.json) == (201, made | {"token": None})
    assert len((await api.get("/tokens")).json["tokens"]) == 1


async def test_callers_do_not_share_keys(guarded: Callable[..., Api], river: River) -> None:
    admin = guarded()
    other = guarded((await admin.post("/tokens", {"name": "b", "scope": "admin"})).json["token"])
    one = {"url": "https://one.example/", "visit": "later"}
    two = {"url": "https://two.example/", "visit": "later"}
    assert (await admin.post("/feeds", one, idempotency_key="k")).status == 201
    assert (await other.post("/feeds", two, idempotency_key="k")).status == 201


async def test_old_keys_are_forgotten(api: Api, river: River, virtual_clock: VirtualClock) -> None:
    await api.post("/tokens", {"name": "a"}, idempotency_key="k")
    await virtual_clock.advance(60)
    async with river.engine.database.write() as tx:
        assert await idempotency_rows.delete_old_keys(tx, river.engine.clock.now()) == 1
    again = await api.post("/tokens", {"name": "a"}, idempotency_key="k")
    assert again.json["token"] is not None


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_odd_keys_are_400(api: Api) -> None:
    for key in ("", "k" * 256, "a\tb"):
        refused = await api.post("/tokens", {"name": "a"}, idempotency_key=key)
        assert (refused.status, refused.error) == (400, "bad_request")
    longest = await api.post("/tokens", {"name": "a"}, idempotency_key="k" * 255)
    assert longest.status == 201
    body, several = b'{"name":"a"}', [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    assert (await api.ask("POST", "/tokens", body, several)).status == 400
