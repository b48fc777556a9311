"""Sinks over HTTP, on either database: made, changed, replayed, and never telling a secret."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.values.signature import key_of_secret
from tests.support.clock import VirtualClock
from tests.support.sinks_api import FEED, HOOK, SECRET, Desk, opened_desk

ADMIN = "an-admin-token-of-the-tests"
GOOD: dict[str, Any] = {"name": "chat", "kind": "webhook", "options": {"url": HOOK}}


@pytest.fixture
async def desk(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[Desk]:
    async with opened_desk(database, virtual_clock, tmp_path) as desk:
        yield desk


async def test_a_sink_is_made_listed_looked_at_and_removed(desk: Desk) -> None:
    made = await desk.api.post(
        "/sinks",
        GOOD | {"secrets": {"secret": SECRET}},
    )
    assert (made.status, made.headers["location"]) == (201, "/sinks/chat")
    assert made.json["secret"] is None
    record = {name: value for name, value in made.json.items() if name != "secret"}
    assert record == {
        "name": "chat",
        "kind": "webhook",
        "origin": "api",
        "options": {"url": HOOK, "timeout_sec": 10.0},
        "has_secrets": True,
        "wanted": {"types": [], "feeds": [], "categories": []},
        "enabled": True,
        "state": "active",
        "stopped": None,
        "max_attempts": 36,
        "cursor": 0,
        "lag": 0,
        "delivered": 0,
        "last_delivered_at": None,
        "dead_letters": 0,
        "replays": 0,
        "failures": 0,
        "attempts": 0,
        "failing_since": None,
        "last_error": None,
        "last_detail": None,
        "next_try_at": None,
        "created_at": "2026-01-05T12:00:00Z",
        "updated_at": "2026-01-05T12:00:00Z",
    }
    assert await desk.shown() == record
    assert (await desk.api.get("/sinks")).json == {"sinks": [record], "next_cursor": None}
    gone = await desk.api.delete("/sinks/chat")
    assert gone.json == {"name": "chat", "kind": "webhook", "cursor": 0}
    for answer in (
        await desk.api.get("/sinks/chat"),
        await desk.api.patch("/sinks/chat", {"enabled": True}),
        await desk.api.delete("/sinks/chat"),
        await desk.api.post("/sinks/chat/replay", {"from": "beginning"}),
        await desk.api.post("/sinks/chat/test"),
        await desk.api.post("/sinks/chat/rotate-secret"),
        await desk.api.post("/sinks/chat/rotate-secret?finish=true"),
        await desk.api.get("/sinks/chat/dead-letters"),
        await desk.api.post("/sinks/chat/dead-letters/retry", {"all": True}),
        await desk.api.delete("/sinks/chat/dead-letters?all=true"),
    ):
        assert (answer.status, answer.error) == (404, "not_found")


async def test_a_secret_that_we_made_is_shown_once_and_kept_sealed(desk: Desk) -> None:
    made = await desk.api.post(
        "/sinks",
        GOOD,
        idempotency_key="k",
    )
    secret = made.json["secret"]
    assert len(key_of_secret(secret)) == 32
    again = await desk.api.post(
        "/sinks",
        GOOD,
        idempotency_key="k",
    )
    assert (again.status, again.headers["idempotent-replayed"]) == (201, "true")
    assert again.json == made.json | {"secret": None}
    answers = [await desk.api.get("/sinks"), await desk.api.get("/sinks/chat")]
    assert all(secret.encode() not in answer.body for answer in answers)
    for table in ("sinks", "idempotency"):
        assert secret not in str(await desk.rows(table))
    assert len(await desk.rows("sinks")) == 1


async def test_sinks_are_paged_in_the_order_they_were_made(desk: Desk) -> None:
    for name in ("c", "a", "b"):
        await desk.made(name)
    first = (await desk.api.get("/sinks?limit=2")).json
    assert [each["name"] for each in first["sinks"]] == ["c", "a"]
    rest = (await desk.api.get(f"/sinks?limit=2&cursor={first['next_cursor']}")).json
    assert [each["name"] for each in rest["sinks"]] == ["b"]
    assert rest["next_cursor"] is None
    assert (await desk.api.get("/sinks?cursor=nonsense")).error == "bad_cursor"


@pytest.mark.parametrize(
    ("start", "cursor"),
    [
        ({}, 5),
        ({"from": "beginning"}, 0),
        ({"from": 0}, 0),
        ({"from": 1}, 0),
        ({"from": 4}, 3),
        ({"from": 6}, 5),
        ({"from": "2026-01-05T12:00:00Z"}, 0),
        ({"from": "2026-01-05T13:00:30+01:00"}, 2),
        ({"from": "2026-01-05T12:01:00Z"}, 2),
        ({"from": "2027-01-01T00:00:00Z"}, 5),
    ],
)
async def test_a_new_sink_begins_at_the_end_or_where_it_is_told_to(
    desk: Desk, virtual_clock: VirtualClock, start: dict[str, Any], cursor: int
) -> None:
    await desk.tell(2)
    await virtual_clock.advance(60)
    await desk.tell(3)
    made = await desk.made(**start)
    assert (made["cursor"], made["lag"]) == (cursor, 5 - cursor)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name"),
    ({"name": "a" * 65}, "name"),
    ({"name": "../up"}, "name"),
    ({"name": "a b"}, "name"),
    ({"name": "chat\n"}, "name"),
    ({"name": None}, "name"),
    ({"kind": "pigeon"}, "kind"),
    ({"kind": 5}, "kind"),
    ({"options": []}, "options"),
    ({"options": {}}, "url"),
    ({"options": {"url": "ftp://example.org/"}}, "url"),
    ({"options": {"url": "http://10.0.0.1/"}}, "url"),
    ({"options": {"url": 5}}, "url"),
    ({"options": {"url": HOOK, "colour": "red"}}, "colour"),
    ({"options": {"url": HOOK, "timeout_sec": "soon"}}, "timeout_sec"),
    ({"options": {"url": HOOK, "timeout_sec": True}}, "timeout_sec"),
    ({"options": {"url": [HOOK]}}, "url"),
    ({"secrets": {"secret": "short"}}, "secret"),
    ({"secrets": {"secret": 5}}, "secret"),
    ({"secrets": {"word": "x"}}, "word"),
    ({"secrets": "x"}, "secrets"),
    ({"kind": "redis", "options": {"url": "redis://a"}, "secrets": {"password": ""}}, "password"),
    ({"kind": "nats", "options": {"url": "http://a"}}, "url"),
    ({"kind": "ndjson", "options": {"path": "../up"}}, "path"),
    ({"kind": "ndjson", "options": {}, "secrets": {"secret": "x"}}, "secret"),
    ({"options": {"url": HOOK, "timeout_sec": 2**62}}, "timeout_sec"),
    ({"wanted": {"types": ["old_entry"]}}, "types"),
    ({"wanted": {"feeds": ["my feed"]}}, "feeds"),
    ({"wanted": {"categories": [""]}}, "categories"),
    ({"wanted": {"moods": ["good"]}}, "moods"),
    ({"wanted": None}, "wanted"),
    ({"enabled": "yes"}, "enabled"),
    ({"max_attempts": 0}, "max_attempts"),
    ({"max_attempts": True}, "max_attempts"),
    ({"from": -1}, "from"),
    ({"from": 2}, "from"),
    ({"from": True}, "from"),
    ({"from": None}, "from"),
    ({"from": "yesterday"}, "from"),
    ({"from": "2026-01-05T12:00:00"}, "from"),
    ({"from": 2**63}, "from"),
    ({"cursor": 5}, "cursor"),
]


CHANGEABLE = {"options", "secrets", "wanted", "enabled", "max_attempts"}


def fields_named(answer: Any) -> set[str]:
    """What an envelope says is wrong, whoever noticed it."""
    said = answer.json
    places = said["detail"] if isinstance(said["detail"], list) else []
    named = {str(part) for place in places for part in place["loc"]}
    return named | {str(said.get("field"))}


@pytest.mark.parametrize(("part", "field"), BAD, ids=str)
@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_what_does_not_work_is_named_and_nothing_is_written(
    desk: Desk, part: dict[str, Any], field: str
) -> None:
    answer = await desk.api.post("/sinks", GOOD | part, idempotency_key="k")
    assert answer.status == 422, answer.body
    assert answer.error in {"validation_error", "bad_input", "bad_url", "blocked_address"}
    assert field in fields_named(answer)
    assert await desk.rows("sinks") == []
    assert (await desk.api.post("/sinks", GOOD, idempotency_key="k")).status == 201


@pytest.mark.parametrize(
    ("part", "field"),
    [
        *(pair for pair in BAD if pair[0].keys() <= CHANGEABLE and pair[0] != {"options": {}}),
        ({"name": "other"}, "name"),
        ({"kind": "redis"}, "kind"),
        ({"options": {"url": None}}, "url"),
        ({"secrets": {"secret": None}}, "secret"),
        ({"options": {"timeout_sec": 3}, "wanted": {"types": ["x"]}}, "types"),
    ],
    ids=str,
)
@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_change_that_does_not_work_is_named_and_changes_nothing(
    desk: Desk, part: dict[str, Any], field: str
) -> None:
    await desk.made()
    before = await desk.rows("sinks")
    answer = await desk.api.patch("/sinks/chat", part)
    assert answer.status == 422, answer.body
    assert field in fields_named(answer)
    assert await desk.rows("sinks") == before


async def test_only_what_is_named_changes_and_null_is_the_default_again(desk: Desk) -> None:
    await desk.tell(3)
    await desk.made(
        options={"url": HOOK, "timeout_sec": 3}, wanted={"types": ["new_entry"], "feeds": [FEED]}
    )
    said = {"options": {"timeout_sec": None}, "wanted": {"feeds": []}, "max_attempts": None}
    changed = (await desk.api.patch("/sinks/chat", said)).json
    assert changed["options"] == {"url": HOOK, "timeout_sec": 10.0}
    assert changed["wanted"] == {"types": ["new_entry"], "feeds": [], "categories": []}
    assert (changed["max_attempts"], changed["cursor"]) == (None, 3)
    disabled = (await desk.api.patch("/sinks/chat", {"enabled": False})).json
    assert (disabled["state"], disabled["max_attempts"]) == ("disabled", None)


async def test_no_change_leaves_everything_as_it_is(desk: Desk) -> None:
    await desk.made()
    await desk.note(stopped="gone", failures=7, last_error="http_410", last_detail="")
    before = await desk.rows("sinks")
    nothing: list[dict[str, Any]] = [{}, {"options": {}}, {"wanted": {}, "secrets": {}}]
    for said in nothing:
        answer = await desk.api.patch("/sinks/chat", said)
        assert (answer.status, answer.json["state"]) == (200, "stopped")
    assert await desk.rows("sinks") == before


@pytest.mark.parametrize("name", ["a%00b", "%F0%9F%8C%8A", "a%20b", "%2E%2E", "x" * 70, "chat%0A"])
async def test_what_cannot_be_a_name_is_not_found(desk: Desk, name: str) -> None:
    await desk.made()
    for answer in (
        await desk.api.get(f"/sinks/{name}"),
        await desk.api.post(f"/sinks/{name}/replay", {"from": "beginning"}),
        await desk.api.delete(f"/sinks/{name}/dead-letters?all=true"),
    ):
        assert (answer.status, answer.error) == (404, "not_found")


async def test_a_url_is_shown_without_its_secrets_and_may_come_back_so(desk: Desk) -> None:
    url = "https://hooks.example.org/in?token=geheim&room=5"
    shown = "https://hooks.example.org/in?token=REDACTED&room=5"
    made = await desk.made(options={"url": url})
    assert made["options"]["url"] == shown
    sent_back = {"options": {"url": shown, "timeout_sec": 4}}
    changed = (await desk.api.patch("/sinks/chat", sent_back)).json
    assert changed["options"] == {"url": shown, "timeout_sec": 4.0}
    assert url in str(await desk.rows("sinks"))


async def test_a_password_in_a_url_becomes_a_secret_and_does_not_move_with_it(desk: Desk) -> None:
    made = await desk.made(
        "stream", kind="redis", options={"url": "redis://:geheim@redis.example.org"}
    )
    assert (made["has_secrets"], made["secret"], made["max_attempts"]) == (True, None, None)
    assert "geheim" not in str(made)
    assert "geheim" not in str(await desk.rows("sinks"))
    elsewhere = {"options": {"url": "redis://other.example.org"}}
    refused = await desk.api.patch("/sinks/stream", elsewhere)
    assert (refused.status, refused.json["field"]) == (422, "secrets")
    without = await desk.api.patch("/sinks/stream", elsewhere | {"secrets": {"password": None}})
    assert without.json["has_secrets"] is False
    with_new = await desk.api.patch(
        "/sinks/stream", {"options": {"url": "redis://:neu@third.example.org"}}
    )
    assert with_new.json["has_secrets"] is True


@pytest.mark.parametrize(
    ("kind", "here", "elsewhere", "shown"),
    [
        ("redis", "redis://:pw@a:1", "redis://:pw@b:2", "redis://b:2"),
        ("nats", "nats://tok@a:1", "nats://tok@b:2", "nats://b:2"),
    ],
)
async def test_a_secret_in_the_new_url_is_said_again(
    kind: str, here: str, elsewhere: str, shown: str, desk: Desk
) -> None:
    said = {"name": "stream", "kind": kind, "options": {"url": here}}
    assert (await desk.api.post("/sinks", said)).status == 201
    moved = await desk.api.patch("/sinks/stream", {"options": {"url": elsewhere}})
    assert (moved.status, moved.json["options"]["url"]) == (200, shown)
    assert moved.json["has_secrets"] is True


async def test_a_change_ends_the_pause_and_starts_what_was_stopped(desk: Desk) -> None:
    await desk.made()
    await desk.note(stopped="gone", failures=7, attempts=2, last_error="http_410", last_detail="")
    stopped = await desk.shown()
    assert (stopped["state"], stopped["stopped"], stopped["failures"]) == ("stopped", "gone", 7)
    started = (await desk.api.patch("/sinks/chat", {"enabled": True})).json
    assert (started["state"], started["failures"], started["last_error"]) == ("active", 0, None)


async def test_the_next_try_is_told_while_it_waits_and_a_lease_is_nobodys_business(
    desk: Desk,
) -> None:
    await desk.made()
    await desk.note(next_try_at=1_767_614_460_000_000)
    assert (await desk.shown())["next_try_at"] is None
    await desk.note(failures=1, last_error="timeout", last_detail="10 s")
    waiting = await desk.shown()
    assert (waiting["state"], waiting["next_try_at"]) == ("waiting", "2026-01-05T12:01:00Z")
    assert (waiting["last_error"], waiting["last_detail"]) == ("timeout", "10 s")


@pytest.mark.parametrize(
    ("start", "cursor"), [("beginning", 0), (3, 2), ("2026-01-05T12:01:00Z", 2), (6, 5)]
)
async def test_a_replay_moves_the_cursor_back_once_however_often_it_is_asked_for(
    desk: Desk, virtual_clock: VirtualClock, start: str | int, cursor: int
) -> None:
    await desk.tell(2)
    await virtual_clock.advance(60)
    await desk.tell(3)
    await desk.made()
    for _ in range(2):
        moved = await desk.api.post("/sinks/chat/replay", {"from": start}, idempotency_key="k")
        assert moved.status == 200, moved.body
        assert (moved.json["cursor"], moved.json["lag"]) == (cursor, 5 - cursor)
    assert (await desk.shown())["replays"] == 1


async def test_a_replay_leaves_out_nothing_that_was_not_delivered_yet(desk: Desk) -> None:
    await desk.tell(5)
    await desk.made(**{"from": "beginning"})
    moved = await desk.api.post("/sinks/chat/replay", {"from": 4})
    assert (moved.json["cursor"], moved.json["lag"]) == (0, 5)


@pytest.mark.parametrize("said", [{}, {"from": "end"}, {"from": 9}, {"from": ""}, {"from": 1.5}])
async def test_a_replay_from_nowhere_is_refused(desk: Desk, said: dict[str, Any]) -> None:
    await desk.tell(5)
    await desk.made()
    refused = await desk.api.post("/sinks/chat/replay", said)
    assert refused.status == 422
    assert "from" in fields_named(refused)
    after = await desk.shown()
    assert (after["cursor"], after["replays"]) == (5, 0)


async def test_two_of_one_name_at_once_are_one(desk: Desk) -> None:
    both = await asyncio.gather(*(desk.api.post("/sinks", GOOD) for _ in range(2)))
    assert sorted(answer.status for answer in both) == [201, 409]
    (refused,) = [answer for answer in both if answer.status == 409]
    assert (refused.error, refused.json["name"]) == ("conflict", "chat")
    assert len(await desk.rows("sinks")) == 1


async def test_two_changes_at_once_are_both_kept(desk: Desk) -> None:
    await desk.made()
    await asyncio.gather(
        desk.api.patch("/sinks/chat", {"options": {"timeout_sec": 4}}),
        desk.api.patch("/sinks/chat", {"wanted": {"types": ["new_entry"]}}),
        desk.api.patch("/sinks/chat", {"wanted": {"feeds": [FEED]}}),
    )
    after = await desk.shown()
    assert after["options"]["timeout_sec"] == 4
    assert after["wanted"] == {"types": ["new_entry"], "feeds": [FEED], "categories": []}


async def test_there_are_not_more_sinks_than_the_settings_allow(desk: Desk) -> None:
    few = desk.guarded(None, sinks_max=1)
    assert (await few.post("/sinks", GOOD)).status == 201
    refused = await few.post("/sinks", GOOD | {"name": "other"})
    assert (refused.status, refused.json["sinks_max"]) == (409, 1)
    assert (await few.post("/sinks", GOOD)).json["name"] == "chat"


async def test_a_read_token_looks_and_does_nothing(desk: Desk) -> None:
    await desk.made()
    admin = desk.guarded(ADMIN, admin_token=ADMIN)
    token = (await admin.post("/tokens", {"name": "x", "scope": "read"})).json["token"]
    reader = desk.guarded(token, admin_token=ADMIN)
    for target in ("/sinks", "/sinks/chat", "/sinks/chat/dead-letters"):
        assert (await reader.get(target)).status == 200
    for answer in (
        await reader.post("/sinks", GOOD | {"name": "other"}),
        await reader.patch("/sinks/chat", {"enabled": False}),
        await reader.delete("/sinks/chat"),
        await reader.post("/sinks/chat/replay", {"from": "beginning"}),
        await reader.post("/sinks/chat/test"),
        await reader.post("/sinks/chat/rotate-secret"),
        await reader.post("/sinks/chat/dead-letters/retry", {"all": True}),
        await reader.delete("/sinks/chat/dead-letters?all=true"),
    ):
        assert (answer.status, answer.error) == (403, "forbidden")
    assert (await desk.shown())["enabled"] is True
