"""Shows over HTTP: made, changed, removed; one of each title, season and year."""

from headwater.anime.decide.decide_again import catch_up
from tests.support.tracked_feed import URL, Harbour, ani

TIDES = {
    "title": "Tides",
    "year": 2025,
    "season": 2,
    "episode_offset": -12,
    "episodes": 13,
    "titles": ["Tides", "潮汐"],
    "kind": "OVA",
    "specials": {"12.5": 1},
    "air_weekday": 5,
}


async def test_a_show_is_made_found_and_listed(harbour: Harbour) -> None:
    made = await harbour.api.post("/shows", TIDES)
    assert (made.status, made.headers["location"]) == (201, "/shows/1")
    moment = "2026-01-05T12:00:00Z"
    assert made.json == {"id": 1, **TIDES, "created_at": moment, "updated_at": moment}
    assert (await harbour.api.get("/shows/1")).json == made.json
    assert (await harbour.api.get("/shows")).json == {"shows": [made.json], "next_cursor": None}


async def test_shows_are_listed_page_by_page(harbour: Harbour) -> None:
    for title in ("a", "b", "c"):
        await harbour.api.post("/shows", {"title": title})
    first = (await harbour.api.get("/shows?limit=2")).json
    rest = (await harbour.api.get(f"/shows?limit=2&cursor={first['next_cursor']}")).json
    titles = [each["title"] for each in (*first["shows"], *rest["shows"])]
    assert (titles, rest["next_cursor"]) == (["a", "b", "c"], None)


async def test_only_what_is_named_changes(harbour: Harbour) -> None:
    made = (await harbour.api.post("/shows", TIDES)).json
    await harbour.clock.advance(60)
    changed = (await harbour.api.patch("/shows/1", {"year": None, "kind": None})).json
    assert changed == made | {"year": None, "kind": None, "updated_at": "2026-01-05T12:01:00Z"}
    await harbour.clock.advance(60)
    assert (await harbour.api.patch("/shows/1", {"season": 2})).json == changed


async def test_there_is_one_of_each_title_season_and_year(harbour: Harbour) -> None:
    await harbour.api.post("/shows", {"title": "Tides"})
    again = await harbour.api.post("/shows", {"title": "Tides"})
    assert (again.status, again.error, again.json["show_id"]) == (409, "conflict", 1)
    assert (await harbour.api.post("/shows", {"title": "Tides", "season": 2})).status == 201
    refused = await harbour.api.patch("/shows/2", {"season": 1})
    assert (refused.status, refused.json["show_id"]) == (409, 1)


async def test_what_no_library_could_hold_is_refused(harbour: Harbour) -> None:
    for said in (
        {},
        {"title": " "},
        {"title": "x" * 513},
        {"title": "x", "year": 25},
        {"title": "x", "season": 10_000},
        {"title": "x", "episodes": 0},
        {"title": "x", "kind": "NCOP"},
        {"title": "x", "specials": {"OVA1": -1}},
        {"title": "x", "colour": "blue"},
    ):
        assert (await harbour.api.post("/shows", said)).error == "validation_error"
    assert (await harbour.api.get("/shows/1")).error == "not_found"
    assert (await harbour.api.get("/shows/x")).error == "not_found"


async def test_a_show_that_is_tracked_stays(harbour: Harbour) -> None:
    harbour.publish(ani("01", day=2))
    made = (await harbour.api.post("/trackings", {"feed_url": URL, "back_catalogue": True})).json
    await catch_up(harbour.engine.releases, made["id"])
    refused = await harbour.api.delete("/shows/1")
    assert (refused.status, refused.error) == (409, "conflict")
    await harbour.api.delete(f"/trackings/{made['id']}")
    gone = await harbour.api.delete("/shows/1")
    assert gone.json == {"id": 1, "title": "Tides", "removed": True}
    assert await harbour.decided() == []
    assert await harbour.downloads() == []
