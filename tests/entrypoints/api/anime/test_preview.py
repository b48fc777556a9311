"""What is asked beside collecting: proposals, previews, what is missing, and the calendar."""

from typing import Any

from headwater.anime.decide.decide_again import catch_up
from headwater.anime.episodes import preview
from headwater.anime.shows.tracking import TrackingPatch
from headwater.entrypoints.api.app import create_app
from headwater.settings import Settings
from tests.support.api_caller import Api
from tests.support.tracked_feed import URL, Harbour, ani, item, loli

ADMIN = "an-admin-token-of-the-tests"


async def tracked(harbour: Harbour, *items: str, **said: Any) -> str:
    """The path of a tracking that has looked at all of it."""
    harbour.publish(*items)
    answer = await harbour.api.post("/trackings", {"feed_url": URL, **said})
    assert answer.status == 201, answer.body
    harbour.feed_id = answer.json["feed_id"]
    await catch_up(harbour.engine.releases, answer.json["id"])
    return f"/trackings/{answer.json['id']}"


def verdicts(preview: Any) -> dict[str, str]:
    return {each["entry_uid"]: f"{each['action']}:{each['rule']}" for each in preview["entries"]}


# Proposals -------------------------------------------------------------------------------------


async def test_a_feed_proposes_its_show(harbour: Harbour) -> None:
    await harbour.follow(loli("02", day=9), ani("01", day=2), ani("02", day=9))
    found = (await harbour.api.get(f"/trackings/proposal?feed={harbour.feed_id}")).json
    assert found == {
        "feed_id": harbour.feed_id,
        "show": {
            "title": "Tides",
            "year": 2025,
            "season": 1,
            "episode_offset": 0,
            "episodes": None,
            "titles": ["Tides"],
            "kind": None,
            "specials": {},
        },
        "because": {
            "title": "The feed is called so.",
            "titles": "Only releases of these names are of this show.",
            "year": "Its first episode came out then.",
        },
        "groups": [{"name": "ANi", "releases": 2}, {"name": "LoliHouse", "releases": 1}],
        "titles": [{"name": "Tides", "releases": 3}],
        "releases": 3,
        "of_show": 3,
        "shows": [],
    }


async def test_a_feed_of_several_shows_proposes_the_one_that_is_named(harbour: Harbour) -> None:
    await harbour.follow(ani("01", day=2), item("b", "[X] Dunes - 01", day=2))
    path = f"/trackings/proposal?feed={harbour.feed_id}"
    several = (await harbour.api.get(path)).json
    assert several["show"] is None
    assert {each["name"] for each in several["titles"]} == {"Tides", "Dunes"}
    assert sorted((each["title"], each["titles"]) for each in several["shows"]) == [
        ("Dunes", ["Dunes"]),
        ("Tides", ["Tides"]),
    ]
    dunes = (await harbour.api.get(f"{path}&title=Dunes")).json
    assert dunes["show"]["titles"] == ["Dunes"]
    assert (await harbour.api.get("/trackings/proposal?feed=x")).status == 404


# Previews --------------------------------------------------------------------------------------


async def test_a_preview_says_what_each_rule_removes_and_why(harbour: Harbour) -> None:
    harbour.publish(
        loli("02", day=9),
        ani("02", day=9),
        item("hevc", "[ANi] Tides - 03 [HEVC]", day=16),
        item("pack", "[ANi] Tides - 01-12 [1080P]", day=17),
        item("empty", "[ANi] Tides - 04", torrent=False, day=18),
    )
    said = {"feed_url": URL, "exclude": ["hevc"], "preferences": {"groups": ["LoliHouse"]}}
    made = (await harbour.api.post("/trackings", {**said, "back_catalogue": True})).json
    found = (await harbour.api.get(f"/trackings/{made['id']}/preview")).json
    assert verdicts(found) == {
        "loli-02": "fetch:missing",
        "ani-02": "skip:not_the_best",
        "hevc": "removed:excluded_here",
        "pack": "removed:pack",
        "empty": "removed:nothing_to_fetch",
    }
    assert found["removed"] == {
        "excluded_everywhere": 0,
        "not_included_everywhere": 0,
        "excluded_here": 1,
        "not_included_here": 0,
        "pack": 1,
        "decided_before": 0,
        "before_watermark": 0,
        "nothing_to_fetch": 1,
    }
    assert found["decided"] == {"fetch": 1, "skip": 1}
    assert found["cut"] is False
    newest = found["entries"][0]
    assert (newest["entry_uid"], newest["published"]) == ("empty", "2025-12-18T10:00:00Z")
    (excluded,) = [each for each in found["entries"] if each["entry_uid"] == "hevc"]
    assert excluded["reason"] == "'hevc' matches 'HEVC'."
    assert await harbour.decided() == []
    assert await harbour.downloads() == []


async def test_a_preview_can_be_of_a_change_that_nobody_made(harbour: Harbour) -> None:
    path = await tracked(harbour, ani("02", day=9), loli("01", day=2))
    as_it_is = (await harbour.api.get(f"{path}/preview")).json
    assert set(verdicts(as_it_is).values()) == {"removed:before_watermark"}
    changed = await harbour.api.post(f"{path}/preview", {"since": None, "exclude": ["loli"]})
    assert verdicts(changed.json) == {"ani-02": "fetch:missing", "loli-01": "removed:excluded_here"}
    assert (await harbour.api.get(path)).json["exclude"] == []
    bad = await harbour.api.post(f"{path}/preview", {"exclude": ["("]}, idempotency_key="k")
    assert (bad.status, bad.error) == (422, "bad_pattern")


async def test_a_preview_is_made_anew_under_its_key(harbour: Harbour) -> None:
    path = await tracked(harbour, ani("02", day=9), loli("01", day=2))
    asked: dict[str, Any] = {"exclude": ["("]}
    refused = await harbour.api.post(f"{path}/preview", asked, idempotency_key="k")
    assert refused.status == 422  # so its key is free
    asked = {"since": None}
    first = await harbour.api.post(f"{path}/preview", asked, idempotency_key="k")
    assert set(verdicts(first.json).values()) == {"fetch:missing"}
    await harbour.api.patch(path, {"exclude": ["loli"]})
    again = await harbour.api.post(f"{path}/preview", asked, idempotency_key="k")
    assert (again.status, verdicts(again.json)["loli-01"]) == (200, "removed:excluded_here")
    other = await harbour.api.post(f"{path}/preview", {"packs": True}, idempotency_key="k")
    assert (other.status, other.error) == (422, "idempotency_mismatch")


async def test_a_preview_knows_what_is_there_and_what_it_would_replace(harbour: Harbour) -> None:
    said = {"back_catalogue": True, "preferences": {"groups": ["LoliHouse", "ANi"]}}
    path = await tracked(harbour, ani("01", day=2), **said)
    (there,) = await harbour.downloads()
    await harbour.end(there, "done")
    await harbour.arrive(loli("01", day=9), ani("01", day=2))
    found = (await harbour.api.get(f"{path}/preview")).json
    assert verdicts(found) == {"loli-01": "upgrade:group", "ani-01": "skip:known"}
    assert found["entries"][0]["replaces"] == [there.id]
    assert found["entries"][0]["slots"] == [{"season": 1, "episode": 1, "name": "S01E01"}]


async def test_a_preview_of_more_than_it_looks_at_says_so(harbour: Harbour) -> None:

    path = await tracked(harbour, ani("01", day=2), ani("02", day=2), ani("03", day=2))
    number = int(path.rpartition("/")[2])
    cut = await preview.preview(harbour.engine.releases, number, TrackingPatch(), most=2)
    assert (len(cut.entries), cut.is_cut) == (2, True)
    whole = await preview.preview(harbour.engine.releases, number, TrackingPatch(), most=4)
    assert (len(whole.entries), whole.is_cut) == (3, False)


# Episodes --------------------------------------------------------------------------------------


async def test_what_is_missing_is_told_with_the_reason(harbour: Harbour) -> None:
    await tracked(
        harbour,
        ani("05", day=30),
        item("hevc", "[ANi] Tides - 04 [HEVC]", day=23),
        ani("03", day=16),
        ani("01", day=2),
        exclude=["HEVC"],
        back_catalogue=True,
    )
    rows = {int(download.slots[0].number): download for download in await harbour.downloads()}
    await harbour.end(rows[1], "done")
    await harbour.end(rows[5], "failed")
    await harbour.run("UPDATE downloads SET detail = 'no seeds' WHERE state = 'failed'")
    whole = (await harbour.api.get("/shows/1/episodes")).json
    assert (whole["here"], whole["coming"], whole["missing"]) == (1, 1, 3)
    assert [(each["slot"]["name"], each["state"]) for each in whole["episodes"]] == [
        ("S01E01", "here"),
        ("S01E02", "missing"),
        ("S01E03", "coming"),
        ("S01E04", "missing"),
        ("S01E05", "missing"),
    ]
    (told,) = (await harbour.api.get("/trackings/missing")).json["shows"]
    assert (told["show_id"], told["title"]) == (1, "Tides")
    second, fourth, fifth = told["episodes"]
    assert (second["reason"], second["release_id"]) == ("No release of it was seen.", None)
    assert fourth["reason"] == "'HEVC' matches 'HEVC'."
    assert fourth["title"] == "[ANi] Tides - 04 [HEVC]"
    assert fourth["came_out"] == "2025-12-23T10:00:00Z"
    held = (await harbour.api.get(f"/releases/{fourth['release_id']}")).json
    assert held["entry_uid"] == "hevc"
    assert fifth["reason"] == "Its download was given up: no seeds"
    assert (await harbour.api.get("/trackings/missing?show=1")).json["shows"] == [told]
    await harbour.run(
        "UPDATE downloads SET state = 'dropped', detail = 'A person dropped it.'"
        " WHERE state = 'failed'"
    )
    (told,) = (await harbour.api.get("/trackings/missing")).json["shows"]
    assert told["episodes"][-1]["reason"] == "Its download was dropped: A person dropped it."


async def test_shows_that_miss_nothing_or_are_not_collected_are_not_told(harbour: Harbour) -> None:
    path = await tracked(harbour, ani("03", day=2), ani("01", day=2), back_catalogue=True)
    assert len((await harbour.api.get("/trackings/missing")).json["shows"]) == 1
    await harbour.api.delete(path)
    assert (await harbour.api.get("/trackings/missing")).json["shows"] == []
    assert len((await harbour.api.get("/trackings/missing?show=1")).json["shows"]) == 1
    assert (await harbour.api.get("/trackings/missing?show=7")).status == 404


# Calendar --------------------------------------------------------------------------------------


async def test_the_calendar_expects_what_came_every_week(harbour: Harbour) -> None:
    await tracked(
        harbour, ani("04", day=30), ani("03", day=23), ani("02", day=16), ani("01", day=9)
    )
    found = (await harbour.api.get("/trackings/calendar?days=10")).json["episodes"]
    assert found == [
        {
            "show_id": 1,
            "title": "Tides",
            "slot": {"season": 1, "episode": 4, "name": "S01E04"},
            "state": "came",
            "day": "2025-12-30",
            "moment": "2025-12-30T10:00:00Z",
        },
        {
            "show_id": 1,
            "title": "Tides",
            "slot": {"season": 1, "episode": 5, "name": "S01E05"},
            "state": "expected",
            "day": "2026-01-06",
            "moment": "2026-01-06T10:00:00Z",
        },
        {
            "show_id": 1,
            "title": "Tides",
            "slot": {"season": 1, "episode": 6, "name": "S01E06"},
            "state": "expected",
            "day": "2026-01-13",
            "moment": "2026-01-13T10:00:00Z",
        },
    ]
    ahead = (await harbour.api.get("/trackings/calendar?days=2&back=0&show=1")).json
    assert [each["slot"]["name"] for each in ahead["episodes"]] == ["S01E05"]
    assert (await harbour.api.get("/trackings/calendar?days=-1")).status == 422


async def test_the_calendar_can_be_subscribed_to(harbour: Harbour) -> None:
    await tracked(harbour, ani("01", day=30), show={"air_weekday": 1})
    answer = await harbour.api.get("/trackings/calendar.ics?days=8")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    assert b"SUMMARY:Tides S01E01\r\n" in answer.body
    assert b"DTSTART;VALUE=DATE:20260106\r\n" in answer.body
    again = await harbour.api.get(
        "/trackings/calendar.ics?days=8", if_none_match=answer.headers["etag"]
    )
    assert (again.status, again.body) == (304, b"")


async def test_a_readers_token_opens_the_calendar_and_nothing_beside_it(harbour: Harbour) -> None:
    await tracked(harbour, ani("01", day=30), show={"air_weekday": 1})
    reader = (await harbour.api.post("/readers", {"name": "Ada"})).json["id"]
    secret = (await harbour.api.post(f"/readers/{reader}/tokens")).json["token"]
    app = create_app(harbour.engine.services, Settings(admin_token=ADMIN))
    stranger, admin = Api(app), Api(app, ADMIN)
    for path in ("/trackings/calendar.ics", "/trackings/calendar"):
        assert (await stranger.get(path)).status == 401
        assert (await admin.get(path)).status == 200
    opened = await stranger.get(f"/trackings/calendar.ics?token={secret}")
    assert (opened.status, opened.body.count(b"BEGIN:VEVENT")) == (200, 5)
    assert (await stranger.get(f"/trackings/calendar?token={secret}")).status == 401
    assert (await stranger.get(f"/trackings?token={secret}")).status == 401
    wrong = await stranger.get(f"/trackings/calendar.ics?token={secret[:-4]}aaaa")
    assert wrong.status == 404
    empty = await stranger.get("/trackings/calendar.ics?token=")
    assert empty.status == 401
