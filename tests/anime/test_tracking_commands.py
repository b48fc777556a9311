"""Trackings made, changed and removed: what is proposed, what is visited, what stays known."""

from typing import Any

from headwater.anime.decide.decide_again import catch_up
from headwater.anime.shows import tracking_rows
from headwater.anime.shows.tracking import NewTracking
from headwater.anime.tracking_commands import TrackPolicy, apply_track_policy, create_tracking
from headwater.core.values.instant import rfc3339
from headwater.feeds import feed_rows
from headwater.feeds.change_feed import change_feed
from headwater.feeds.feed import Feed, FeedPatch
from tests.support.tracked_feed import URL, Harbour, ani, item, loli

NOON = "2026-01-05T12:00:00Z"


async def tracked(harbour: Harbour, *items: str, **said: Any) -> dict[str, Any]:
    """The feed is new, and is tracked by its URL."""
    harbour.publish(*items)
    answer = await harbour.api.post("/trackings", {"feed_url": URL, **said})
    assert answer.status == 201, answer.body
    harbour.feed_id = answer.json["feed_id"]
    return dict(answer.json)


async def feed_of(harbour: Harbour) -> Feed:
    async with harbour.engine.database.read() as view:
        return await feed_rows.get_feed(view, harbour.feed_id)


async def caught_up(harbour: Harbour, tracking_id: int) -> dict[str, str]:
    await catch_up(harbour.engine.releases, tracking_id)
    return await harbour.verdicts()


# Making ----------------------------------------------------------------------------------------


async def test_a_url_alone_is_enough(harbour: Harbour) -> None:
    made = await tracked(harbour, loli("02", day=9), ani("01", day=2))
    assert made["show"] | {"created_at": "", "updated_at": ""} == {
        "id": 1,
        "title": "Tides",
        "year": 2025,
        "season": 1,
        "episode_offset": 0,
        "episodes": None,
        "titles": ["Tides"],
        "kind": None,
        "specials": {},
        "air_weekday": None,
        "created_at": "",
        "updated_at": "",
    }
    assert (made["id"], made["feed_title"], made["feed_state"]) == (1, "Tides", "active")
    assert (made["enabled"], made["packs"], made["save_path"]) == (True, False, "")
    assert made["preferences"] == {
        "groups": [],
        "aliases": {},
        "subtitles": ["简日", "简", "繁日", "繁"],
        "further": ["version"],
        "resolutions": [],
        "sources": [],
        "stop": None,
    }
    assert (await harbour.api.get("/feeds")).json["feeds"][0]["id"] == made["feed_id"]
    assert harbour.web.asked == [URL]


async def test_only_what_comes_out_later_is_collected(harbour: Harbour) -> None:
    made = await tracked(harbour, loli("02", day=9), ani("01", day=2))
    assert (made["since"], made["earlier_releases"]) == ("2025-12-09T10:00:00Z", 2)
    await harbour.arrive(loli("03", day=10), loli("02", day=9), ani("01", day=2))
    assert await caught_up(harbour, made["id"]) == {
        "ani-01": "removed:before_watermark",
        "loli-02": "removed:before_watermark",
        "loli-03": "fetch:missing",
    }


async def test_the_back_catalogue_comes_on_request(harbour: Harbour) -> None:
    made = await tracked(harbour, loli("02", day=9), ani("01", day=2), back_catalogue=True)
    assert (made["since"], made["earlier_releases"]) == (None, 0)
    assert await caught_up(harbour, made["id"]) == {
        "ani-01": "fetch:missing",
        "loli-02": "fetch:missing",
    }


async def test_a_feed_that_lists_nothing_yet_begins_now(harbour: Harbour) -> None:
    made = await tracked(harbour, show={"title": "Tides"})
    assert (made["since"], made["earlier_releases"]) == (NOON, 0)


async def test_what_is_said_counts_more_than_what_is_proposed(harbour: Harbour) -> None:
    said: dict[str, Any] = {"title": "潮汐", "year": None, "season": 2, "titles": []}
    said["air_weekday"] = 6
    made = await tracked(harbour, ani("01", day=2), show=said)
    show = made["show"]
    assert {name: show[name] for name in said} == said


async def test_everything_can_be_said_at_once(harbour: Harbour) -> None:
    made = await tracked(
        harbour,
        ani("01", day=2),
        preferences={
            "groups": ["LoliHouse", "ANi"],
            "aliases": {"loli": "LoliHouse"},
            "subtitles": ["CHT", "CHS+JPN"],
            "further": ["resolution", "version"],
            "stop": {"group": "LoliHouse", "subtitles": "简日"},
        },
        include=["1080"],
        exclude=["HEVC"],
        packs=True,
        save_path="Anime",
        enabled=False,
        since="2025-12-01T00:00:00+08:00",
    )
    assert made["preferences"] == {
        "groups": ["LoliHouse", "ANi"],
        "aliases": {"loli": "LoliHouse"},
        "subtitles": ["繁", "简日"],
        "further": ["resolution", "version"],
        "resolutions": [],
        "sources": [],
        "stop": {"group": "LoliHouse", "subtitles": "简日"},
    }
    assert (made["include"], made["exclude"], made["packs"]) == (["1080"], ["HEVC"], True)
    assert (made["save_path"], made["enabled"]) == ("Anime", False)
    assert (made["since"], made["earlier_releases"]) == ("2025-11-30T16:00:00Z", 0)


async def test_a_feed_of_several_shows_asks_which_is_meant(harbour: Harbour) -> None:
    both = (ani("01", day=2), item("b", "[ANi] Dunes - 01 [1080P]", day=2))
    harbour.publish(*both)
    refused = await harbour.api.post("/trackings", {"feed_url": URL})
    assert (refused.status, refused.error) == (422, "bad_input")
    assert sorted(refused.json["titles"]) == ["Dunes", "Tides"]
    assert (await harbour.api.get("/trackings")).json["trackings"] == []
    made = await tracked(harbour, *both, show={"title": "Dunes"}, back_catalogue=True)
    assert made["show"]["titles"] == ["Dunes"]
    assert await caught_up(harbour, made["id"]) == {
        "ani-01": "skip:other_show",
        "b": "fetch:missing",
    }


async def test_a_second_feed_of_the_same_show_shares_it(harbour: Harbour) -> None:
    first = await tracked(harbour, ani("01", day=2))
    other = "https://elsewhere.example/feed"
    body = f"<rss version='2.0'><channel><title>x</title>{ani('01', day=2)}</channel></rss>"
    harbour.web.serve(other, body.encode())
    second = (await harbour.api.post("/trackings", {"feed_url": other})).json
    assert (second["show"]["id"], second["id"]) == (first["show"]["id"], 2)
    again = await harbour.api.post("/trackings", {"feed_url": other})
    assert (again.status, again.error) == (409, "conflict")
    third = await harbour.api.post("/trackings", {"feed_url": other, "show_id": 1})
    assert (third.status, third.error) == (409, "conflict")


OTHER = "https://elsewhere.example/feed"


def serve_other(harbour: Harbour, *items: str) -> None:
    body = f"<rss version='2.0'><channel><title>x</title>{''.join(items)}</channel></rss>"
    harbour.web.serve(OTHER, body.encode())


async def test_a_show_that_is_whatever_its_feed_holds_is_not_all_of_a_mixed_feed(
    harbour: Harbour,
) -> None:
    """Else every show of that feed would come into the folder of this one."""
    await tracked(harbour, ani("01", day=2), show={"title": "Tides", "titles": []})
    serve_other(harbour, ani("02", day=2), item("b", "[ANi] Dunes - 03 [1080P]", day=2))
    for wish in ({"show_id": 1}, {"show": {"title": "Tides", "year": 2025}}):
        refused = await harbour.api.post("/trackings", {"feed_url": OTHER, **wish})
        assert (refused.status, refused.error) == (409, "conflict"), wish
        assert sorted(refused.json["titles"]) == ["Dunes", "Tides"]
    named = await harbour.api.patch("/shows/1", {"titles": ["Tides"]})
    assert named.status == 200
    made = await harbour.api.post("/trackings", {"feed_url": OTHER, "show_id": 1})
    assert made.status == 201


async def test_one_feed_is_not_collected_twice_under_two_titles(harbour: Harbour) -> None:
    """Else every release would be downloaded into two folders."""
    await tracked(harbour, ani("01", day=2))
    assert (await harbour.api.patch("/shows/1", {"title": "My Tides"})).status == 200
    again = await harbour.api.post("/trackings", {"feed_url": URL})
    assert (again.status, again.error) == (409, "conflict")
    assert (again.json["tracking_id"], again.json["show_id"]) == (1, 1)
    assert "My Tides" in again.json["message"]
    assert (await harbour.api.get("/shows")).json["shows"][1:] == []
    await harbour.api.patch("/shows/1", {"titles": []})
    whatever = await harbour.api.post("/trackings", {"feed_url": URL})
    assert (whatever.status, whatever.error) == (409, "conflict")
    sequel = await harbour.api.post("/trackings", {"feed_url": URL, "show": {"season": 2}})
    assert sequel.status == 201


async def test_only_the_shows_own_earlier_releases_count(harbour: Harbour) -> None:
    both = (ani("01", day=2), ani("02", day=9), item("b", "[ANi] Dunes - 01 [1080P]", day=2))
    made = await tracked(harbour, *both, show={"title": "Dunes"})
    assert made["earlier_releases"] == 1
    unknown = await tracked(harbour, *both, show={"title": "Nope"})
    assert unknown["earlier_releases"] == 0


async def test_what_another_feed_calls_a_show_is_its_name_too(harbour: Harbour) -> None:
    first = await tracked(harbour, ani("01", day=2))
    assert first["show"]["titles"] == ["Tides"]
    serve_other(harbour, item("a", "[B] 潮汐 / Tides - 02 [1080P]", day=3))
    wish = {"feed_url": OTHER, "show": {"title": "Tides", "year": first["show"]["year"]}}
    second = (await harbour.api.post("/trackings", wish)).json
    assert second["show"]["id"] == first["show"]["id"]
    assert sorted(second["show"]["titles"]) == ["Tides", "潮汐"]


async def test_a_key_makes_one_tracking(harbour: Harbour) -> None:
    harbour.publish(ani("01", day=2))
    said = {"feed_url": URL}
    first = await harbour.api.post("/trackings", said, idempotency_key="k")
    again = await harbour.api.post("/trackings", said, idempotency_key="k")
    assert (first.status, again.status, again.json) == (201, 201, first.json)
    assert again.headers["idempotent-replayed"] == "true"


async def test_what_makes_no_sense_is_refused_before_anybody_is_asked(harbour: Harbour) -> None:
    harbour.publish(ani("01", day=2))
    nonsense: list[tuple[dict[str, Any], str]] = [
        ({}, "validation_error"),
        ({"feed_url": URL, "feed_id": "x"}, "validation_error"),
        ({"feed_url": URL, "show_id": 1, "show": {"title": "x"}}, "validation_error"),
        ({"feed_url": URL, "exclude": ["(?<=x)"]}, "bad_pattern"),
        ({"feed_url": URL, "save_path": "../x"}, "bad_input"),
        ({"feed_url": URL, "preferences": {"subtitles": ["klingon"]}}, "bad_input"),
        ({"feed_url": URL, "preferences": {"stop": {"group": "x"}}}, "bad_input"),
        ({"feed_url": URL, "show": {"season": -1}}, "validation_error"),
        ({"feed_url": URL, "show": {"air_weekday": 7}}, "validation_error"),
        ({"feed_url": URL, "since": "yesterday"}, "validation_error"),
        ({"feed_id": "0"}, "not_found"),
        ({"feed_id": "01900000-0000-7000-8000-000000000009"}, "not_found"),
    ]
    answers = [(await harbour.api.post("/trackings", said)).error for said, _ in nonsense]
    assert answers == [error for _, error in nonsense]
    assert harbour.web.asked == []


async def test_a_feed_that_is_not_visited_is_not_tracked(harbour: Harbour) -> None:
    await harbour.follow(ani("01", day=2))
    await harbour.api.patch(f"/feeds/{harbour.feed_id}", {"state": "paused"})
    refused = await harbour.api.post("/trackings", {"feed_id": harbour.feed_id})
    assert (refused.status, refused.json["state"]) == (409, "paused")


async def test_the_first_tracking_makes_the_sink_and_the_last_takes_it_away(
    harbour: Harbour,
) -> None:
    assert await harbour.sinks() == []
    made = await tracked(harbour, ani("01", day=2), enabled=False)
    assert await harbour.sinks() == []
    await harbour.clock.advance(1)
    await harbour.api.patch(f"/trackings/{made['id']}", {"enabled": True})
    (sink,) = await harbour.sinks()
    assert sink.runs


# Visits ----------------------------------------------------------------------------------------


async def test_a_tracked_feed_rests_no_longer_than_half_an_hour(harbour: Harbour) -> None:
    made = await tracked(harbour, ani("01", day=2))
    for _ in range(6):
        await harbour.arrive(ani("01", day=2))
    feed = await feed_of(harbour)
    assert feed.schedule.interval_sec == 1_800.0
    assert feed.schedule.reason is not None
    assert "releases are collected from it" in feed.schedule.reason
    await harbour.api.delete(f"/trackings/{made['id']}")
    await harbour.arrive(ani("01", day=2))
    feed = await feed_of(harbour)
    assert feed.overrides.ceiling_sec is None
    assert feed.schedule.interval_sec > 1_800.0


async def test_a_publishers_wish_counts_more_than_the_half_hour(harbour: Harbour) -> None:
    await tracked(harbour, ani("01", day=2))
    await harbour.arrive(ani("01", day=2), "<ttl>120</ttl>")
    feed = await feed_of(harbour)
    now = harbour.clock.now()
    assert feed.schedule.next_visit_at is not None
    assert (feed.schedule.next_visit_at - now).total_seconds() >= 7_200


async def test_a_feed_that_is_followed_already_is_visited_at_once(harbour: Harbour) -> None:
    await harbour.follow(ani("01", day=2))
    await harbour.clock.advance(120)
    before = await feed_of(harbour)
    assert before.schedule.next_visit_at is not None
    assert before.schedule.next_visit_at > harbour.clock.now()
    made = await harbour.api.post("/trackings", {"feed_id": harbour.feed_id})
    assert (await feed_of(harbour)).schedule.next_visit_at == harbour.clock.now()
    assert harbour.engine.database.woken("feeds").is_set()
    await harbour.arrive(ani("01", day=2))
    await harbour.clock.advance(120)
    assert (await feed_of(harbour)).schedule.next_visit_at != harbour.clock.now()
    await harbour.api.patch(f"/trackings/{made.json['id']}", {"packs": True})
    assert (await feed_of(harbour)).schedule.next_visit_at == harbour.clock.now()


async def test_a_host_that_was_asked_a_moment_ago_is_left_alone(harbour: Harbour) -> None:
    await harbour.follow(ani("01", day=2))
    await harbour.api.post("/trackings", {"feed_id": harbour.feed_id})
    planned = (await feed_of(harbour)).schedule.next_visit_at
    assert planned is not None
    assert planned > harbour.clock.now()


async def test_a_persons_own_limits_stay_their_own(harbour: Harbour) -> None:
    await harbour.follow(ani("01", day=2))
    own = {"overrides": {"max_interval_sec": 7_200, "min_interval_sec": 3_600}}
    await harbour.api.patch(f"/feeds/{harbour.feed_id}", own)
    made = (await harbour.api.post("/trackings", {"feed_id": harbour.feed_id})).json
    shown = (await harbour.api.get(f"/feeds/{harbour.feed_id}")).json
    assert shown["overrides"]["max_interval_sec"] == 7_200
    assert shown["schedule"]["interval_sec"] == 3_600
    await harbour.api.delete(f"/trackings/{made['id']}")
    shown = (await harbour.api.get(f"/feeds/{harbour.feed_id}")).json
    assert shown["overrides"]["max_interval_sec"] == 7_200


async def test_paces_are_kept_at_every_start(harbour: Harbour) -> None:
    await tracked(harbour, ani("01", day=2))
    gone = FeedPatch(overrides={"ceiling_sec": None})
    await change_feed(harbour.feed_id, gone, harbour.engine.feeds, TrackPolicy().gap)
    await apply_track_policy(harbour.engine.releases, TrackPolicy(interval_sec=600))
    assert (await feed_of(harbour)).overrides.ceiling_sec == 600
    await harbour.api.delete(f"/feeds/{harbour.feed_id}")
    await apply_track_policy(harbour.engine.releases, TrackPolicy())
    assert (await feed_of(harbour)).overrides.ceiling_sec == 600


# Changing and removing -------------------------------------------------------------------------


async def test_only_what_is_named_changes(harbour: Harbour) -> None:
    made = await tracked(harbour, ani("01", day=2), include=["1080"], save_path="Anime")
    await harbour.clock.advance(60)
    path = f"/trackings/{made['id']}"
    changed = await harbour.api.patch(path, {"preferences": {"groups": ["ANi"]}, "since": None})
    assert changed.status == 200
    assert changed.json["preferences"] == made["preferences"] | {"groups": ["ANi"]}
    same = ("include", "exclude", "packs", "save_path", "enabled", "show", "created_at")
    assert [changed.json[name] for name in same] == [made[name] for name in same]
    assert (changed.json["since"], changed.json["updated_at"]) == (None, "2026-01-05T12:01:00Z")
    await harbour.clock.advance(60)
    assert (await harbour.api.patch(path, {})).json == changed.json


async def test_a_pattern_that_is_none_leaves_the_old_ones(harbour: Harbour) -> None:
    made = await tracked(harbour, ani("01", day=2), exclude=["HEVC"])
    refused = await harbour.api.patch(f"/trackings/{made['id']}", {"exclude": ["(a)\\1"]})
    assert (refused.status, refused.error) == (422, "bad_pattern")
    assert (await harbour.api.get(f"/trackings/{made['id']}")).json["exclude"] == ["HEVC"]


async def test_a_tracking_is_shown_with_its_counters(harbour: Harbour) -> None:
    made = await tracked(harbour, ani("01", day=2))
    assert (await harbour.api.get(f"/trackings/{made['id']}")).json["counts"] == {}
    await caught_up(harbour, made["id"])
    shown = (await harbour.api.get(f"/trackings/{made['id']}")).json
    assert shown["counts"] == {"removed:before_watermark": 1}


async def test_what_was_removed_is_gone_and_comes_back_with_all_it_knew(harbour: Harbour) -> None:
    made = await tracked(harbour, ani("01", day=2), back_catalogue=True)
    await caught_up(harbour, made["id"])
    path = f"/trackings/{made['id']}"
    gone = await harbour.api.delete(path)
    assert gone.json == {
        "id": made["id"],
        "show_id": 1,
        "removed": True,
        "hard": False,
        "history": "kept",
    }
    for answer in (
        await harbour.api.get(path),
        await harbour.api.patch(path, {"packs": True}),
        await harbour.api.delete(path),
        await harbour.api.get(f"{path}/preview"),
    ):
        assert (answer.status, answer.error) == (404, "not_found")
    assert (await harbour.api.get("/trackings")).json["trackings"] == []
    assert [each.state for each in await harbour.downloads()] == ["intended"]
    await harbour.clock.advance(60)
    back = (await harbour.api.post("/trackings", {"feed_url": URL, "back_catalogue": True})).json
    assert (back["id"], back["created_at"]) == (made["id"], made["created_at"])
    assert (await caught_up(harbour, back["id"])) == {"ani-01": "fetch:missing"}
    assert len(await harbour.downloads()) == 1


async def test_removed_for_good_nothing_is_known_of_it(harbour: Harbour) -> None:
    made = await tracked(harbour, ani("01", day=2), back_catalogue=True)
    await caught_up(harbour, made["id"])
    gone = await harbour.api.delete(f"/trackings/{made['id']}?hard=true")
    assert (gone.json["hard"], gone.json["history"]) == (True, "deleted")
    assert await harbour.decided() == []
    assert await harbour.downloads() == []
    again = await harbour.api.delete(f"/trackings/{made['id']}?hard=true")
    assert again.status == 404


async def test_trackings_are_listed_in_order_and_by_what_they_are_of(harbour: Harbour) -> None:
    both = (ani("01", day=2), item("b", "[ANi] Dunes - 01 [1080P]", day=2))
    one = await tracked(harbour, *both, show={"title": "Tides"})
    two = await tracked(harbour, *both, show={"title": "Dunes"})
    page = (await harbour.api.get("/trackings?limit=1")).json
    assert [each["id"] for each in page["trackings"]] == [one["id"]]
    rest = (await harbour.api.get(f"/trackings?cursor={page['next_cursor']}")).json
    assert [each["id"] for each in rest["trackings"]] == [two["id"]]
    assert rest["next_cursor"] is None
    of_show = (await harbour.api.get(f"/trackings?show={two['show']['id']}")).json
    assert [each["id"] for each in of_show["trackings"]] == [two["id"]]
    of_feed = (await harbour.api.get(f"/trackings?feed={harbour.feed_id}")).json
    assert len(of_feed["trackings"]) == 2
    nobodys = "01900000-0000-7000-8000-000000000009"
    assert (await harbour.api.get(f"/trackings?feed={nobodys}")).json["trackings"] == []


async def test_a_feed_that_is_gone_for_good_is_told(harbour: Harbour) -> None:
    made = await tracked(harbour, ani("01", day=2))
    await harbour.api.delete(f"/feeds/{harbour.feed_id}?hard=true")
    shown = (await harbour.api.get(f"/trackings/{made['id']}")).json
    assert (shown["feed_title"], shown["feed_state"]) == (None, None)
    await harbour.clock.advance(1)
    changed = await harbour.api.patch(f"/trackings/{made['id']}", {"packs": True})
    assert changed.status == 200
    assert (await harbour.api.delete(f"/trackings/{made['id']}")).status == 200


async def test_programs_make_trackings_too(harbour: Harbour) -> None:
    harbour.publish(loli("01", day=2))
    made = await create_tracking(harbour.engine.releases, NewTracking(url=URL), TrackPolicy())
    async with harbour.engine.database.read() as view:
        assert await tracking_rows.get_current_tracking(view, made.id) == made
    assert made.since is not None
    assert rfc3339(made.since) == "2025-12-02T10:00:00Z"
