"""Looking after sinks over HTTP: test messages, secrets that are changed, dead letters."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import BadSignature
from headwater.core.values.signature import key_of_secret, verify
from tests.support.clock import VirtualClock
from tests.support.fetcher_server import Receiver
from tests.support.sinks_api import OTHER, SECRET, Desk, opened_desk


@pytest.fixture
async def desk(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[Desk]:
    async with opened_desk(database, virtual_clock, tmp_path) as desk:
        yield desk


async def test_a_test_message_is_signed_and_is_in_no_log(desk: Desk) -> None:
    async with Receiver() as receiver:
        await desk.made(options={"url": f"{receiver.base_url}/in"}, secrets={"secret": SECRET})
        answer = await desk.api.post("/sinks/chat/test", {}, idempotency_key="k")
        again = await desk.api.post("/sinks/chat/test", {}, idempotency_key="k")
    assert answer.json == again.json
    (heard,) = receiver.heard
    event_id = answer.json["event_id"]
    assert answer.json == {
        "name": "chat",
        "event_id": event_id,
        "delivered": True,
        "error": None,
        "detail": None,
    }
    now = desk.engine.clock.now()
    assert verify(key_of_secret(SECRET), heard.headers, heard.body, now) == event_id
    assert (heard.json["seq"], heard.json["id"], heard.json["type"]) == (0, event_id, "test")
    assert heard.json["payload"]["sink"] == "chat"
    assert await desk.rows("events") == []
    after = await desk.shown()
    assert (after["cursor"], after["delivered"], after["state"]) == (0, 0, "active")


async def test_what_a_receiver_says_to_a_test_is_told_and_changes_nothing(desk: Desk) -> None:
    async with Receiver(status=503) as receiver:
        await desk.made(options={"url": receiver.base_url}, enabled=False)
        refused = (await desk.api.post("/sinks/chat/test")).json
    assert (refused["delivered"], refused["error"]) == (False, "http_503")
    nobody = (await desk.api.post("/sinks/chat/test")).json
    assert (nobody["delivered"], nobody["error"]) == (False, "connect_error")
    assert (await desk.shown())["failures"] == 0


async def test_only_webhooks_are_tested_and_signed(desk: Desk) -> None:
    await desk.made("tap", kind="ndjson", options={})
    for route in ("test", "rotate-secret", "rotate-secret?finish=true"):
        refused = await desk.api.post(f"/sinks/tap/{route}")
        assert (refused.status, refused.json["reason"]) == (409, "not_a_webhook")


async def signers(desk: Desk, receiver: Receiver, *secrets: str) -> list[bool]:
    """Which of these secrets the next message is signed with."""
    await desk.api.post("/sinks/chat/test")
    heard, now = receiver.heard[-1], desk.engine.clock.now()

    def signs(secret: str) -> bool:
        try:
            verify(key_of_secret(secret), heard.headers, heard.body, now)
        except BadSignature:
            return False
        return True

    return [signs(secret) for secret in secrets]


async def test_both_secrets_sign_until_the_change_is_finished(desk: Desk) -> None:
    async with Receiver() as receiver:
        await desk.made(options={"url": receiver.base_url}, secrets={"secret": SECRET})
        assert await signers(desk, receiver, SECRET) == [True]
        turned = await desk.api.post("/sinks/chat/rotate-secret", idempotency_key="k")
        new = turned.json["secret"]
        again = await desk.api.post("/sinks/chat/rotate-secret", idempotency_key="k")
        assert (turned.status, again.json["secret"]) == (200, None)
        assert await signers(desk, receiver, SECRET, new) == [True, True]
        refused = await desk.api.post("/sinks/chat/rotate-secret")
        assert (refused.status, refused.error) == (409, "conflict")
        for _ in range(2):
            finished = await desk.api.post("/sinks/chat/rotate-secret?finish=true")
            assert (finished.status, finished.json["secret"]) == (200, None)
            assert await signers(desk, receiver, SECRET, new) == [False, True]


async def test_a_secret_of_ones_own_is_taken_and_not_shown(desk: Desk) -> None:
    async with Receiver() as receiver:
        await desk.made(options={"url": receiver.base_url}, secrets={"secret": SECRET})
        bad = await desk.api.post("/sinks/chat/rotate-secret", {"secret": "whsec_eA=="})
        assert (bad.status, bad.json["field"]) == (422, "secret")
        both = await desk.api.post("/sinks/chat/rotate-secret?finish=true", {"secret": OTHER})
        assert (both.status, both.json["field"]) == (422, "secret")
        assert await signers(desk, receiver, SECRET, OTHER) == [True, False]
        turned = await desk.api.post("/sinks/chat/rotate-secret", {"secret": OTHER})
        assert turned.json["secret"] is None
        assert await signers(desk, receiver, SECRET, OTHER) == [True, True]


async def test_two_changes_of_a_secret_at_once_are_one(desk: Desk) -> None:
    await desk.made()
    both = await asyncio.gather(*(desk.api.post("/sinks/chat/rotate-secret") for _ in range(2)))
    assert sorted(answer.status for answer in both) == [200, 409]


async def test_dead_letters_are_paged_tried_again_and_let_go(desk: Desk) -> None:
    await desk.tell(9)
    await desk.made()
    await desk.bury(2, 5, 7)
    assert (await desk.shown())["dead_letters"] == 3
    first = (await desk.api.get("/sinks/chat/dead-letters?limit=2")).json
    assert first["name"] == "chat"
    assert first["dead_letters"][0] == {
        "seq": 2,
        "event_id": "event-2",
        "type": "new_entry",
        "attempts": 3,
        "error": "http_422",
        "detail": "no",
        "died_at": "1970-01-01T00:00:00Z",
        "retry_asked": False,
    }
    where = f"/sinks/chat/dead-letters?cursor={first['next_cursor']}"
    rest = (await desk.api.get(where)).json
    assert [each["seq"] for each in rest["dead_letters"]] == [7]
    retry = "/sinks/chat/dead-letters/retry"
    asked = await desk.api.post(retry, {"seqs": [5, 6]}, idempotency_key="k")
    assert asked.json == {"name": "chat", "asked": 1}
    assert (await desk.api.post(retry, {"seqs": [5, 6]}, idempotency_key="k")).json == asked.json
    letters = (await desk.api.get("/sinks/chat/dead-letters")).json["dead_letters"]
    assert [each["retry_asked"] for each in letters] == [False, True, False]
    assert (await desk.api.post(retry, {"all": True})).json["asked"] == 3
    one = await desk.api.delete("/sinks/chat/dead-letters?seq=2&seq=3")
    assert one.json == {"name": "chat", "forgotten": 1}
    assert (await desk.api.delete("/sinks/chat/dead-letters?all=true")).json["forgotten"] == 2
    assert len(await desk.rows("events")) == 9


@pytest.mark.parametrize(
    ("method", "target", "said"),
    [
        ("POST", "/retry", {}),
        ("POST", "/retry", {"all": False}),
        ("POST", "/retry", {"all": True, "seqs": [2]}),
        ("POST", "/retry", {"seqs": []}),
        ("POST", "/retry", {"seqs": [2, 2]}),
        ("POST", "/retry", {"seqs": [0]}),
        ("POST", "/retry", {"seqs": ["2"]}),
        ("POST", "/retry", {"seqs": list(range(1, 502))}),
        ("DELETE", "", None),
        ("DELETE", "?all=false", None),
        ("DELETE", "?all=true&seq=2", None),
        ("DELETE", "?seq=x", None),
        ("DELETE", "?seq=0", None),
    ],
)
@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_dead_letters_are_touched_only_by_a_plain_word(
    desk: Desk, method: str, target: str, said: Any
) -> None:
    await desk.made()
    await desk.bury(2, 5)
    before = await desk.rows("dead_letters")
    where = f"/sinks/chat/dead-letters{target}"
    refused = await (desk.api.post(where, said) if method == "POST" else desk.api.delete(where))
    assert refused.status == 422, refused.body
    assert await desk.rows("dead_letters") == before


async def test_a_sink_whose_secrets_do_not_open_can_still_be_switched_off(desk: Desk) -> None:
    await desk.made()
    async with desk.engine.database.write() as tx:
        await tx.run("UPDATE sinks SET secrets = ?", b"sealed with another key")
    assert (await desk.api.patch("/sinks/chat", {"enabled": False})).json["state"] == "disabled"
    refused = await desk.api.post("/sinks/chat/test")
    assert (refused.status, refused.error) == (500, "secret_unreadable")
    assert (await desk.api.delete("/sinks/chat")).status == 200
