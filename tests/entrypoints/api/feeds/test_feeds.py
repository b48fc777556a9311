"""Feeds over HTTP: follow, list, change, visit soon, take off, and every field of what is told."""

from typing import Any

import pytest

from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.origin import Post, rss
from tests.support.scripted_engine import SECOND, River

MISSING = "01900000-0000-7000-8000-999999999999"
FEED = rss([Post("1", "First"), Post("2", "Second")], title="Ada's log")


async def test_a_feed_is_fetched_once_and_followed(api: Api, river: River) -> None:
    url = river.web.serve("https://ada.example/feed", FEED)
    made = await api.post("/feeds", {"url": url, "categories": ["tech"], "priority": 70})
    assert made.status == 201
    assert made.headers["location"] == f"/feeds/{made.json['id']}"
    assert river.web.asked == [url]
    feed = (await api.get(made.headers["location"])).json
    assert feed == made.json
    assert (feed["title"], feed["type"], feed["state"]) == ("Ada's log", "rss", "active")
    assert (feed["categories"], feed["priority"]) == (["tech"], 70)
    assert feed["stats"]["new_entries_last_fetch"] == 2
    assert feed["created_at"] == "2026-01-05T12:00:00Z"


async def test_a_feed_record_has_every_field_of_its_definition(api: Api, river: River) -> None:
    feed = (await api.get(f"/feeds/{await river.feed()}")).json
    assert {"id", "url", "type", "validators", "schedule", "publisher_hints", "stats"} <= set(feed)
    assert set(feed["validators"]) == {"etag", "last_modified"}
    assert {
        "interval_sec",
        "min_interval_sec",
        "max_interval_sec",
        "last_decision_at",
        "reason",
        "retry_after_sec",
    } <= set(feed["schedule"])
    assert {"ttl_minutes", "skip_hours", "skip_days"} <= set(feed["publisher_hints"])
    assert {
        "last_fetch_at",
        "last_success_at",
        "consecutive_failures",
        "ewma_interarrival_sec",
        "new_entries_last_fetch",
    } <= set(feed["stats"])
    assert feed["schedule"]["interval_sec"] == 900
    assert feed["schedule"]["min_interval_sec"] == 300
    assert feed["schedule"]["max_interval_sec"] == 86_400


async def test_what_is_no_feed_is_refused_and_shown(api: Api, river: River) -> None:
    url = river.web.serve("https://page.example/", b"<html><p>Hello</p></html>", kind="text/html")
    refused = await api.post("/feeds", {"url": url})
    assert (refused.status, refused.error) == (422, "not_a_feed")
    assert refused.json["received"]["content_type"] == "text/html"
    assert (await api.get("/feeds")).json["feeds"] == []


async def test_a_url_is_followed_once(api: Api, river: River) -> None:
    url = river.web.serve("https://ada.example/feed", FEED)
    first = await api.post("/feeds", {"url": url})
    again = await api.post("/feeds", {"url": "HTTPS://ADA.example:443/feed#top", "visit": "later"})
    assert (again.status, again.error) == (409, "duplicate_url")
    assert again.json["feed_id"] == first.json["id"]


async def test_blocked_and_bad_urls_are_refused_without_a_request(api: Api, river: River) -> None:
    for url, code in [
        ("http://127.0.0.1/", "blocked_address"),
        ("http://2130706433/", "blocked_address"),
        ("ftp://a.example/", "bad_url"),
        ("http://a.example:99999/", "bad_url"),
        ("http://a@b.example/", "bad_url"),
    ]:
        for visit in ("now", "later"):
            refused = await api.post("/feeds", {"url": url, "visit": visit})
            assert (refused.status, refused.error) == (422, code)
    assert river.web.asked == []


async def test_a_server_that_cannot_be_reached_is_told_as_such(api: Api) -> None:
    refused = await api.post("/feeds", {"url": "https://nowhere.example/feed"})
    assert (refused.status, refused.error) == (502, "fetch_failed")
    assert refused.json["outcome"] == "dns_error"


async def test_later_leaves_the_first_visit_to_a_worker(api: Api, river: River) -> None:
    river.engine.database.woken("feeds").clear()
    made = await api.post("/feeds", {"url": "https://ada.example/feed", "visit": "later"})
    assert made.status == 201
    assert made.json["schedule"]["next_visit_at"] == "2026-01-05T12:00:00Z"
    assert made.json["type"] == "unknown"
    assert river.web.asked == []
    assert river.engine.database.woken("feeds").is_set()


async def test_a_removed_feed_added_again_has_its_history(api: Api, river: River) -> None:
    url = river.web.serve("https://ada.example/feed", FEED)
    feed_id = (await api.post("/feeds", {"url": url})).json["id"]
    assert (await api.delete(f"/feeds/{feed_id}")).status == 200
    back = await api.post("/feeds", {"url": url, "title": "Ada, again", "visit": "later"})
    assert (back.status, back.json["id"]) == (201, feed_id)
    assert (back.json["state"], back.json["title"]) == ("active", "Ada, again")
    assert len((await api.get(f"/feeds/{feed_id}/entries")).json["entries"]) == 2


async def test_feeds_are_listed_page_by_page_in_the_order_they_came(api: Api, river: River) -> None:
    """The last page is known to be the last, also when it is full."""
    a, b, c, d, e, f = [await river.feed(name) for name in "abcdef"]
    seen: list[list[str]] = []
    target = "/feeds?limit=2"
    while target:
        page = (await api.get(target)).json
        seen.append([feed["id"] for feed in page["feeds"]])
        target = f"/feeds?limit=2&cursor={page['next_cursor']}" if page["next_cursor"] else ""
    assert seen == [[a, b], [c, d], [e, f]]


async def test_feeds_can_be_found_by_state_and_by_url(api: Api, river: River) -> None:
    first, second = await river.feed("a"), await river.feed("b")
    await api.delete(f"/feeds/{second}")
    assert [feed["id"] for feed in (await api.get("/feeds")).json["feeds"]] == [first]
    removed = (await api.get("/feeds?state=removed")).json["feeds"]
    assert [feed["id"] for feed in removed] == [second]
    found = (await api.get("/feeds?url=https%3A%2F%2FA.example%2Ffeed")).json["feeds"]
    assert [feed["id"] for feed in found] == [first]


async def test_what_does_not_exist_is_404(api: Api, river: River) -> None:
    await river.feed()
    for path in (MISSING, "nonsense", "%00", "..%2f..%2fetc", "'%20OR%201=1--", MISSING + "0"):
        for answer in (
            await api.get(f"/feeds/{path}"),
            await api.patch(f"/feeds/{path}", {"priority": 1}),
            await api.delete(f"/feeds/{path}"),
        ):
            assert (answer.status, answer.error) == (404, "not_found")


async def test_a_patch_changes_only_what_it_names(api: Api, river: River) -> None:
    feed_id = await river.feed()
    changed = await api.patch(
        f"/feeds/{feed_id}",
        {"title": "Mine", "priority": 90, "overrides": {"verify_tls": False}},
    )
    assert changed.status == 200
    assert (changed.json["title"], changed.json["priority"]) == ("Mine", 90)
    assert changed.json["overrides"]["verify_tls"] is False
    again = await api.patch(f"/feeds/{feed_id}", {"categories": ["a", "b"]})
    assert (again.json["title"], again.json["categories"]) == ("Mine", ["a", "b"])
    reset = await api.patch(
        f"/feeds/{feed_id}",
        {"title": None, "priority": None, "overrides": {"verify_tls": None}, "categories": None},
    )
    assert (reset.json["title"], reset.json["priority"]) == (None, 50)
    assert (reset.json["overrides"]["verify_tls"], reset.json["categories"]) == (True, [])


async def test_new_clamps_are_counted_from_the_last_fetch(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    feed_id = await river.feed()
    await river.set(
        feed_id,
        last_fetch_at=river.now,
        next_visit_at=river.now + 900 * SECOND,
        scheduled_at=river.now + 900 * SECOND,
    )
    longer = await api.patch(f"/feeds/{feed_id}", {"overrides": {"min_interval_sec": 3600}})
    assert longer.json["schedule"]["next_visit_at"] == "2026-01-05T13:00:00Z"
    assert longer.json["schedule"]["interval_sec"] == 3600
    assert longer.json["schedule"]["min_interval_sec"] == 3600
    assert await river.column(feed_id, "scheduled_at") == river.now + 3600 * SECOND
    await virtual_clock.advance(1200)
    sooner = await api.patch(
        f"/feeds/{feed_id}", {"overrides": {"min_interval_sec": None, "interval_sec": 600}}
    )
    assert sooner.json["schedule"]["next_visit_at"] == "2026-01-05T12:20:00Z"


async def test_a_patch_never_shortens_a_rest_the_host_asked_for(api: Api, river: River) -> None:
    feed_id = await river.feed()
    planned = river.now + 7200 * SECOND
    await river.set(feed_id, last_fetch_at=river.now, next_visit_at=planned, retry_after_sec=7200.0)
    changed = await api.patch(f"/feeds/{feed_id}", {"overrides": {"interval_sec": 60}})
    assert changed.json["schedule"]["next_visit_at"] == "2026-01-05T14:00:00Z"


async def test_a_patch_leaves_a_claimed_feed_to_its_worker(api: Api, river: River) -> None:
    feed_id = await river.feed()
    lease_end = river.now + 120 * SECOND
    await river.set(
        feed_id, claimed_by="w", fence=7, last_fetch_at=river.now, next_visit_at=lease_end
    )
    scheduled = await river.column(feed_id, "scheduled_at")
    changed = await api.patch(f"/feeds/{feed_id}", {"overrides": {"min_interval_sec": 3600}})
    assert changed.json["overrides"]["min_interval_sec"] == 3600
    assert await river.column(feed_id, "next_visit_at") == lease_end
    assert await river.column(feed_id, "scheduled_at") == scheduled
    assert await river.column(feed_id, "fence") == 7


async def test_contradicting_clamps_and_unknown_fields_are_422(api: Api, river: River) -> None:
    feed_id = await river.feed()
    contradiction = {"min_interval_sec": 7200, "max_interval_sec": 3600}
    answer = await api.patch(f"/feeds/{feed_id}", {"overrides": contradiction})
    assert (answer.status, answer.error) == (422, "bad_input")
    odd: list[Any] = [
        {"id": "x"},
        {"fence": 3},
        {"created_at": "2020-01-01T00:00:00Z"},
        {"overrides": {"is_admin": True}},
        {"state": "removed"},
        {"state": None},
        {"priority": "9"},
        {"priority": 101},
        {"title": "  "},
        {"title": "a\x1b[31m"},
        {"categories": ["a", "a"]},
        {"overrides": {"interval_sec": 0}},
        {"overrides": {"verify_tls": "no"}},
        [],
        None,
    ]
    for said in odd:
        refused = await api.patch(f"/feeds/{feed_id}", said)
        assert (refused.status, refused.error) == (422, "validation_error")
        assert isinstance(refused.json["detail"], list)
        assert {"type", "loc", "msg"} == set(refused.json["detail"][0])
    adding = {"url": "https://x.example/", "overrides": contradiction}
    assert (await api.post("/feeds", adding)).status == 422
    assert river.web.asked == []


async def test_a_paused_feed_is_not_visited_until_it_is_resumed(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    feed_id = await river.feed()
    await river.set(feed_id, claimed_by="w", fence=3, last_fetch_at=river.now)
    paused = await api.patch(f"/feeds/{feed_id}", {"state": "paused"})
    assert (paused.json["state"], paused.json["next_visit_at"]) == ("paused", None)
    assert paused.json["schedule"]["being_visited"] is False
    assert await river.column(feed_id, "fence") == 4
    refused = await api.post(f"/feeds/{feed_id}/refetch")
    assert (refused.status, refused.error) == (409, "conflict")
    await virtual_clock.advance(10)
    resumed = await api.patch(f"/feeds/{feed_id}", {"state": "active"})
    assert resumed.json["next_visit_at"] == "2026-01-05T12:01:00Z"  # a minute after the last fetch


async def test_the_reason_says_what_people_did_to_the_schedule(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    """What a visit decided is no reason any more once somebody decided otherwise."""
    feed_id = await river.feed()
    planned = river.now + 900 * SECOND
    await river.set(
        feed_id, reason="in 15 min: nothing new", next_visit_at=planned, scheduled_at=planned
    )

    async def reason() -> object:
        return (await api.get(f"/feeds/{feed_id}")).json["schedule"]["reason"]

    await api.post(f"/feeds/{feed_id}/refetch")
    assert await reason() == "now: somebody asked for a visit"
    await api.patch(f"/feeds/{feed_id}", {"state": "paused"})
    assert await reason() == "no visits until it is resumed: somebody paused it"
    await api.patch(f"/feeds/{feed_id}", {"state": "active"})
    assert await reason() == "as soon as its host allows: somebody resumed it"
    await api.delete(f"/feeds/{feed_id}")
    assert await reason() == "no more visits: somebody removed it"
    await api.post("/feeds", {"url": "https://a.example/feed", "visit": "later"})
    assert await reason() == "as soon as its host allows: it is followed again"


async def test_a_new_limit_does_not_make_a_rest_longer(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    """Told Retry-After: 600, changed after 300 s: 200 s later a visit may still be 100 s away."""
    feed_id = await river.feed()
    told = {"last_fetch_at": river.now, "last_decision_at": river.now, "retry_after_sec": 600.0}
    end = river.now + 600 * SECOND
    await river.set(feed_id, **told, next_visit_at=end, scheduled_at=end)
    await virtual_clock.advance(300)
    await api.patch(f"/feeds/{feed_id}", {"overrides": {"min_interval_sec": 120}})
    await virtual_clock.advance(200)
    refused = await api.post(f"/feeds/{feed_id}/refetch")
    assert (refused.status, refused.headers["retry-after"]) == (429, "100")


async def test_a_removed_feed_cannot_be_changed(api: Api, river: River) -> None:
    feed_id = await river.feed()
    await api.delete(f"/feeds/{feed_id}")
    refused = await api.patch(f"/feeds/{feed_id}", {"state": "active"})
    assert (refused.status, refused.error) == (409, "conflict")


async def test_a_refetch_makes_the_feed_due_now_and_wakes_the_worker(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    feed_id = await river.feed()
    planned = river.now + 900 * SECOND
    await river.set(
        feed_id,
        last_fetch_at=river.now,
        next_visit_at=planned,
        scheduled_at=planned,
        asked_whole_at=river.now,
        etag='"1"',
    )
    await virtual_clock.advance(61)
    river.engine.database.woken("feeds").clear()
    answer = await api.post(f"/feeds/{feed_id}/refetch")
    assert answer.status == 202
    assert answer.json == {
        "feed_id": feed_id,
        "next_visit_at": "2026-01-05T12:01:01Z",
        "in_progress": False,
    }
    assert await river.column(feed_id, "scheduled_at") == river.now
    assert await river.column(feed_id, "asked_whole_at") is not None
    assert river.engine.database.woken("feeds").is_set()
    await virtual_clock.advance(1)
    again = await api.post(f"/feeds/{feed_id}/refetch", {"whole": True})
    assert again.json["next_visit_at"] == "2026-01-05T12:01:01Z"  # still the same visit
    assert await river.column(feed_id, "asked_whole_at") is None
    assert await river.column(feed_id, "etag") == '"1"'


async def test_a_refetch_too_soon_is_429_and_says_when(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    feed_id = await river.feed()
    await river.set(
        feed_id, last_fetch_at=river.now, last_decision_at=river.now, retry_after_sec=600.0
    )
    await virtual_clock.advance(100)
    refused = await api.post(f"/feeds/{feed_id}/refetch")
    assert (refused.status, refused.error) == (429, "too_soon")
    assert refused.headers["retry-after"] == "500"
    await river.set(feed_id, retry_after_sec=None, last_fetch_at=river.now - 18 * SECOND)
    refused = await api.post(f"/feeds/{feed_id}/refetch")
    assert refused.headers["retry-after"] == "42"


@pytest.mark.parametrize(("said", "wait"), [(600.0, "500"), (None, "800")])
async def test_a_refetch_is_429_while_another_feed_of_its_host_was_told_to_rest(
    api: Api, river: River, virtual_clock: VirtualClock, said: float | None, wait: str
) -> None:
    """The host rests as a whole; a bare 429 is a rest of the initial interval, 900 s."""
    asked, elsewhere = await river.feed("a"), await river.feed("b")
    await _throttled_neighbour(river, asked, 429, said)
    await virtual_clock.advance(100)
    refused = await api.post(f"/feeds/{asked}/refetch")
    assert (refused.status, refused.error) == (429, "too_soon")
    assert refused.headers["retry-after"] == wait
    assert (await api.post(f"/feeds/{elsewhere}/refetch")).status == 202
    await virtual_clock.advance(800)
    assert (await api.post(f"/feeds/{asked}/refetch")).status == 202


async def test_a_bare_503_is_one_feeds_trouble_and_does_not_stop_a_refetch(
    api: Api, river: River
) -> None:
    asked = await river.feed()
    await _throttled_neighbour(river, asked, 503, None)
    assert (await api.post(f"/feeds/{asked}/refetch")).status == 202


async def _throttled_neighbour(
    river: River, feed_id: str, status: int, retry_after: float | None
) -> None:
    """Another feed of the same host was told to wait, just now."""
    told, shard = await river.feed("neighbour"), await river.column(feed_id, "shard")
    assert isinstance(shard, int)
    await river.set(
        told,
        host="a.example",
        shard=shard,
        last_decision_at=river.now,
        last_outcome="throttled",
        last_status=status,
        retry_after_sec=retry_after,
    )


async def test_a_refetch_never_disturbs_a_visit_under_way(api: Api, river: River) -> None:
    feed_id = await river.feed()
    lease_end = river.now + 120 * SECOND
    await river.set(feed_id, claimed_by="w", next_visit_at=lease_end)
    answer = await api.post(f"/feeds/{feed_id}/refetch")
    assert (answer.status, answer.json["in_progress"]) == (202, True)
    refused = await api.post(f"/feeds/{feed_id}/refetch", {"whole": True})
    assert (refused.status, refused.error) == (429, "too_soon")
    assert await river.column(feed_id, "next_visit_at") == lease_end


async def test_removing_is_soft_by_default_and_says_the_same_twice(api: Api, river: River) -> None:
    url = river.web.serve("https://ada.example/feed", FEED)
    feed_id = (await api.post("/feeds", {"url": url})).json["id"]
    gone = await api.delete(f"/feeds/{feed_id}")
    assert gone.json == {
        "feed_id": feed_id,
        "url": url,
        "removed": True,
        "hard": False,
        "history": "kept",
    }
    assert (await api.delete(f"/feeds/{feed_id}")).json == gone.json
    feed = (await api.get(f"/feeds/{feed_id}")).json
    assert (feed["state"], feed["next_visit_at"]) == ("removed", None)
    assert len((await api.get("/entries")).json["entries"]) == 2


async def test_a_hard_removal_leaves_one_event_and_nothing_else(api: Api, river: River) -> None:
    url = river.web.serve("https://ada.example/feed", FEED)
    feed_id = (await api.post("/feeds", {"url": url})).json["id"]
    fetch_id = (await api.get("/entries")).json["entries"][0]["raw_refs"][0]["fetch_id"]
    gone = await api.delete(f"/feeds/{feed_id}?hard=true")
    assert (gone.status, gone.json["history"]) == (200, "deleted")
    for path in (f"/feeds/{feed_id}", f"/feeds/{feed_id}/visits", f"/raw/{fetch_id}"):
        assert (await api.get(path)).status == 404
    assert (await api.get("/entries")).json["entries"] == []
    assert (await api.delete(f"/feeds/{feed_id}?hard=true")).status == 404
    (event,) = (await api.get("/events?type=subscription_deleted")).json["events"]
    assert (event["feed_id"], event["payload"]["url"]) == (feed_id, url)
    assert event["payload"]["hard"] is True
    back = await api.post("/feeds", {"url": url, "visit": "later"})
    assert back.json["id"] != feed_id


async def test_visits_are_told_newest_first_with_stable_cursors(api: Api, river: River) -> None:
    feed_id = await river.feed()
    await river.visits(feed_id, 5)
    first = (await api.get(f"/feeds/{feed_id}/visits?limit=3")).json
    assert [visit["scheduled_at"] for visit in first["visits"]] == [
        "2026-01-05T12:00:04Z",
        "2026-01-05T12:00:03Z",
        "2026-01-05T12:00:02Z",
    ]
    cursor = first["next_cursor"]
    rest = (await api.get(f"/feeds/{feed_id}/visits?limit=3&cursor={cursor}")).json
    assert [visit["scheduled_at"] for visit in rest["visits"]] == [
        "2026-01-05T12:00:01Z",
        "2026-01-05T12:00:00Z",
    ]
    assert rest["next_cursor"] is None
    visit = first["visits"][0]
    assert (visit["status"], visit["outcome"], visit["conditional"]) == (304, "unchanged", True)
    assert visit["hops"] == [
        {"url": "https://a.example/feed", "status": 301, "location": "https://b.example/feed"}
    ]
    assert visit["request_headers"] == [["User-Agent", "test"]]


async def test_decisions_are_told_with_reason_and_inputs(api: Api, river: River) -> None:
    feed_id = await river.feed()
    await river.visits(feed_id, 1)
    page = (await api.get(f"/feeds/{feed_id}/schedule")).json
    assert page["schedule"]["interval_sec"] == 900
    assert page["decisions"] == [
        {
            "decided_at": "2026-01-05T12:00:01Z",
            "scheduled_at": "2026-01-05T12:00:00Z",
            "outcome": "unchanged",
            "interval_before": 900.0,
            "interval_after": 1125.0,
            "next_at": "2026-01-05T12:18:45Z",
            "reason_code": "not-modified",
            "reason": "in 18 min 45 s: not modified (× 1.25)",
            "inputs": {"luck": 0.0},
        }
    ]


async def test_a_page_is_never_larger_than_the_setting(api: Api, river: River) -> None:
    feed_id = await river.feed()
    await river.visits(feed_id, 60)
    assert len((await api.get(f"/feeds/{feed_id}/visits")).json["visits"]) == 50
    assert len((await api.get(f"/feeds/{feed_id}/visits?limit=1000000")).json["visits"]) == 60
    for limit in ("0", "-1", "x", "1e3", "99999999999999999999"):
        assert (await api.get(f"/feeds?limit={limit}")).status == 422
