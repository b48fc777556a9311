"""Payloads read again over HTTP: bad questions are refused by name, good ones answered in full."""

import pytest

from tests.support.api_caller import Api
from tests.support.origin import Post, rss
from tests.support.scripted_engine import River

NOWHERE = "0197c1f0-5b0e-7c4e-9d1b-3f6f2f0a9b11"
BEFORE, AFTER = rss([Post("1", "One", "old")]), rss([Post("1", "One", "new"), Post("2", "Two")])


async def test_two_payloads_are_compared_older_first(api: Api, river: River) -> None:
    feed_id = await river.feed()
    old, new = await river.raw(feed_id, BEFORE), await river.raw(feed_id, AFTER, number=2)
    said = (await api.get(f"/raw/{old}/diff?with={new}")).json
    assert (said["before"]["fetch_id"], said["after"]["fetch_id"]) == (old, new)
    assert (said["feed_id"], said["same_bytes"], said["feed"], said["cut"]) == (
        feed_id, False, [], 0,
    )  # fmt: skip
    assert said["entries"] == [
        {
            "entry_uid": "1", "kind": "changed", "title": "One", "silent": True, "fetch_id": None,
            "fields": [{"name": "summary", "before": "old", "after": "new"}],
        },
        {
            "entry_uid": "2", "kind": "added", "title": "Two", "silent": False, "fetch_id": None,
            "fields": [],
        },
    ]  # fmt: skip


async def test_a_payload_that_is_no_feed_cannot_be_compared(api: Api, river: River) -> None:
    feed_id = await river.feed()
    old, new = (
        await river.raw(feed_id, b"<html>no</html>"),
        await river.raw(feed_id, AFTER, number=2),
    )
    refused = await api.get(f"/raw/{new}/diff?with={old}")
    assert (refused.status, refused.error, refused.json["fetch_id"]) == (409, "conflict", old)


async def test_entries_are_made_anew_and_told(api: Api, river: River) -> None:
    feed_id = await river.feed()
    fetch_id = await river.raw(feed_id, AFTER, number=2)
    looked = (await api.post(f"/feeds/{feed_id}/reparse", {"dry_run": True})).json
    assert (looked["dry_run"], looked["added"], looked["next"]) == (True, 2, None)
    assert (await api.get("/events")).json["last_seq"] == 0
    done = (await api.post(f"/feeds/{feed_id}/reparse", {})).json
    assert [(d["kind"], d["entry_uid"], d["fetch_id"]) for d in done["differences"]] == [
        ("added", "1", fetch_id), ("added", "2", fetch_id),
    ]  # fmt: skip
    events = (await api.get("/events")).json["events"]
    assert [event["payload"]["entry_uid"] for event in events] == ["1", "2"]
    again = (await api.post(f"/feeds/{feed_id}/reparse", {})).json
    assert (again["payloads"], again["same"], again["differences"]) == (1, 2, [])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"dry_run": "yes"}, "dry_run"),
        ({"who": 1}, "who"),
    ],
)
async def test_a_wrong_field_is_named(
    api: Api, river: River, body: dict[str, object], field: str
) -> None:
    refused = await api.post(f"/feeds/{await river.feed()}/reparse", body)
    assert refused.status == 422
    assert refused.json["detail"][0]["loc"][-1] == field


async def test_what_is_not_there_is_not_found(api: Api, river: River) -> None:
    feed_id = await river.feed()
    for path in (f"/raw/{NOWHERE}/diff", "/raw/x/diff"):
        assert (await api.get(path)).status == 404
    assert (await api.post(f"/feeds/{NOWHERE}/reparse", {})).status == 404
    assert (await api.post(f"/feeds/{feed_id}/reparse", {"after": "x"})).status == 404


async def test_one_wish_to_reparse_sent_twice_tells_the_same_twice(api: Api, river: River) -> None:
    feed_id = await river.feed()
    await river.raw(feed_id, AFTER, number=2)
    target = f"/feeds/{feed_id}/reparse"
    first = await api.post(target, {}, idempotency_key="k")
    again = await api.post(target, {}, idempotency_key="k")
    assert (first.json["added"], again.status, again.body) == (2, 200, first.body)
    assert again.headers["idempotent-replayed"] == "true"
    other = await api.post(target, {"limit": 1}, idempotency_key="k")
    assert (other.status, other.error) == (422, "idempotency_mismatch")


async def test_a_dry_run_is_answered_anew_under_its_key(api: Api, river: River) -> None:
    feed_id = await river.feed()
    await river.raw(feed_id, AFTER, number=2)
    target, dry = f"/feeds/{feed_id}/reparse", {"dry_run": True}
    assert (await api.post(target, dry, idempotency_key="k")).json["added"] == 2
    await api.post(target, {})
    assert (await api.post(target, dry, idempotency_key="k")).json["added"] == 0
    other = await api.post(target, {}, idempotency_key="k")
    assert (other.status, other.error) == (422, "idempotency_mismatch")
    async with river.engine.database.read() as view:
        assert [row.body for row in await view.rows("SELECT body FROM idempotency")] == [None]
