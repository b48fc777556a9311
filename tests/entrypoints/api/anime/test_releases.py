"""Releases over HTTP: every decision with its reason, and a person's word instead."""

from typing import Any

import pytest

from headwater.anime.decide.decide_again import catch_up
from headwater.entrypoints.api.app import create_app
from headwater.settings import Settings
from tests.support.api_caller import Api
from tests.support.clock import START
from tests.support.tracked_feed import Harbour, ani, item, loli

ODD = item("odd", "[ANi] Tides [1080P][CHT]")


async def kept(harbour: Harbour, *items: str, **wishes: Any) -> int:
    await harbour.follow(*items)
    tracking = await harbour.track(**wishes)
    await catch_up(harbour.engine.releases, tracking.id)
    return tracking.id


async def test_a_release_tells_all_but_its_addresses(harbour: Harbour) -> None:
    tracking = await kept(harbour, loli("01", day=30, infohash="ab" * 20))
    (found,) = (await harbour.api.get("/releases")).json["releases"]
    (download,) = await harbour.downloads()
    said = found.pop("release")
    assert found == {
        "id": 1,
        "tracking_id": tracking,
        "feed_id": harbour.feed_id,
        "entry_uid": "loli-01",
        "title": "[LoliHouse] Tides - 01 [1080p][CHS]",
        "action": "fetch",
        "rule": "missing",
        "reason": "Nothing is held for S01E01.",
        "slots": [{"season": 1, "episode": 1, "name": "S01E01"}],
        "infohash": "ab" * 20,
        "size": 314572800,
        "seeders": None,
        "doubts": [],
        "published": "2025-12-30T10:00:00Z",
        "first_seen": "2026-01-05T12:00:00Z",
        "found_at": "2026-01-05T12:00:00Z",
        "decided_at": "2026-01-05T12:00:00Z",
        "download": {"id": download.id, "state": "intended"},
    }
    assert (said["groups"], said["episode"], said["season"]) == (["LoliHouse"], 1, None)
    assert (await harbour.api.get("/releases/1")).json == found | {"release": said}


async def test_the_list_is_asked_by_tracking_show_action_and_rule(harbour: Harbour) -> None:
    tracking = await kept(harbour, loli("01"), ani("01"), ODD)

    async def uids(query: str) -> list[str]:
        answer = await harbour.api.get(f"/releases?{query}")
        assert answer.status == 200, answer.body
        return sorted(each["entry_uid"] for each in answer.json["releases"])

    assert await uids(f"tracking={tracking}") == ["ani-01", "loli-01", "odd"]
    assert await uids(f"tracking={tracking + 1}") == []
    assert await uids("show=1") == ["ani-01", "loli-01", "odd"]
    assert await uids("show=2") == []
    assert await uids("action=hold&action=skip") == ["ani-01", "odd"]
    assert await uids("rule=not_the_best") == ["ani-01"]
    assert (await harbour.api.get("/releases?rule=a%00b")).status == 422
    assert (await harbour.api.get("/releases?action=lost")).status == 422


async def test_pages_are_whole_and_end(harbour: Harbour) -> None:
    await kept(harbour, *(ani(f"{number:02}") for number in range(1, 6)))
    seen, cursor, pages = list[int](), "", 0
    while True:
        page = (await harbour.api.get(f"/releases?limit=2{cursor}")).json
        seen += [each["id"] for each in page["releases"]]
        pages += 1
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert (seen, pages) == ([5, 4, 3, 2, 1], 3)
    assert (await harbour.api.get("/releases?cursor=torn")).error == "bad_cursor"


async def test_a_held_one_is_taken_with_its_episode(harbour: Harbour) -> None:
    await kept(harbour, ODD)
    refused = await harbour.api.post("/releases/1/take")
    assert (refused.status, refused.error) == (422, "bad_input")
    taken = await harbour.api.post("/releases/1/take", {"season": 2, "episodes": [12.5]})
    assert taken.status == 200, taken.body
    assert taken.json["slots"] == [{"season": 2, "episode": 12.5, "name": "S02E12.5"}]
    assert (taken.json["action"], taken.json["rule"]) == ("fetch", "by_hand")
    assert taken.json["download"]["state"] == "intended"


async def test_the_season_of_the_show_is_the_usual_one(harbour: Harbour) -> None:
    await kept(harbour, ODD)
    taken = await harbour.api.post("/releases/1/take", {"episodes": [3]})
    assert [slot["name"] for slot in taken.json["slots"]] == ["S01E03"]


@pytest.mark.parametrize(
    "said",
    [
        {"season": 1},
        {"episodes": [True]},
        {"episodes": ["3"]},
        {"episodes": [0.3]},
        {"episodes": [-1]},
        {"episodes": [10_000]},
        {"episodes": [1e300]},
        {"episodes": [None]},
        {"season": 1.5, "episodes": [1]},
        {"chapter": 1},
        {"episodes": list(range(501))},
    ],
)
async def test_what_is_no_episode_is_refused(harbour: Harbour, said: dict[str, Any]) -> None:
    await kept(harbour, ODD)
    assert (await harbour.api.post("/releases/1/take", said)).status == 422
    assert await harbour.downloads() == []


async def test_a_repeated_request_takes_once(harbour: Harbour) -> None:
    await kept(harbour, loli("01"), ani("01"))
    number = (await harbour.row("ani-01")).id
    first = await harbour.api.post(f"/releases/{number}/take", {}, idempotency_key="one")
    again = await harbour.api.post(f"/releases/{number}/take", {}, idempotency_key="one")
    assert first.json == again.json
    assert again.headers["idempotent-replayed"] == "true"
    assert len(await harbour.told("release_found")) == 2


async def test_a_refused_one_is_refused_while_it_is_on_its_way(harbour: Harbour) -> None:
    await kept(harbour, ani("01"), ODD)
    number = (await harbour.row("ani-01")).id
    kept_back = await harbour.api.post(f"/releases/{number}/refuse")
    assert (kept_back.status, kept_back.error) == (409, "conflict")
    odd = (await harbour.row("odd")).id
    done = await harbour.api.post(f"/releases/{odd}/refuse")
    assert (done.status, done.json["action"], done.json["download"]) == (200, "refused", None)


async def test_backfill_says_what_came_of_it(harbour: Harbour) -> None:
    tracking = await kept(harbour, ani("02", day=20), ani("01", day=10), since=START)
    await harbour.clock.advance(1)
    since = {"since": "2025-12-15T00:00:00Z"}
    part = await harbour.api.post(f"/trackings/{tracking}/backfill", since)
    assert part.json == {
        "tracking_id": tracking,
        "fetch": 1,
        "upgrade": 0,
        "hold": 0,
        "skip": 0,
        "removed": 0,
    }
    await harbour.clock.advance(1)
    rest = await harbour.api.post(f"/trackings/{tracking}/backfill", idempotency_key="all")
    again = await harbour.api.post(f"/trackings/{tracking}/backfill", idempotency_key="all")
    assert (rest.json["fetch"], again.body) == (1, rest.body)
    assert again.headers["idempotent-replayed"] == "true"
    other = await harbour.api.post(f"/trackings/{tracking}/backfill", since, idempotency_key="all")
    assert (other.status, other.error) == (422, "idempotency_mismatch")
    bad = await harbour.api.post(f"/trackings/{tracking}/backfill", {"since": "yesterday"})
    assert bad.status == 422
    assert (await harbour.api.post("/trackings/99/backfill")).error == "not_found"


async def test_a_tracking_decides_anew_on_request(harbour: Harbour) -> None:
    tracking = await kept(harbour, loli("01"), ani("01"))
    (download,) = await harbour.downloads()
    await harbour.end(download, "failed")
    done = await harbour.api.post(f"/trackings/{tracking}/decide")
    assert (done.status, done.json["fetch"], done.json["skip"]) == (200, 1, 0)
    assert (await harbour.verdicts())["ani-01"] == "fetch:missing"


async def test_what_is_not_there_is_not_found(harbour: Harbour) -> None:
    for target in ("/releases/7", "/releases/x", "/releases/99999999999999999999"):
        assert (await harbour.api.get(target)).error == "not_found"
    for verb in ("take", "refuse"):
        assert (await harbour.api.post(f"/releases/7/{verb}")).error == "not_found"


async def test_reading_is_for_readers_and_deciding_for_admins(harbour: Harbour) -> None:
    await kept(harbour, ODD)
    guarded = Settings(admin_token="hush-hush-hush-hush")
    admin = Api(create_app(harbour.engine.services, guarded), token="hush-hush-hush-hush")
    made = await admin.post("/tokens", {"name": "eye", "scope": "read"})
    reader = Api(admin.app, token=made.json["token"])
    assert (await reader.get("/releases")).status == 200
    assert (await reader.post("/releases/1/take", {"episodes": [1]})).status == 403
    assert (await reader.post("/releases/1/refuse")).status == 403
    assert (await reader.post("/trackings/1/decide")).status == 403
    assert (await reader.post("/trackings/1/backfill")).status == 403
    assert (await Api(admin.app).get("/releases")).status == 401
