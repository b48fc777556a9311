"""The event log over HTTP: in order, without gaps, readable from any number on."""

from headwater.events.event import Event
from headwater.events.event_rows import append_events
from tests.support.api_caller import Api
from tests.support.origin import Post, rss
from tests.support.scripted_engine import River


async def told(river: River, *events: Event) -> None:
    async with river.engine.database.write() as tx:
        await append_events(tx, events, river.engine.clock.now())


async def test_a_new_entry_is_told_with_the_payload_of_its_definition(
    api: Api, river: River
) -> None:
    url = river.web.serve("https://ada.example/feed", rss([Post("g1", "First")]))
    feed_id = (await api.post("/feeds", {"url": url})).json["id"]
    page = (await api.get("/events")).json
    created, event = page["events"]
    assert (page["last_seq"], page["next"]) == (2, 2)
    assert (created["seq"], created["type"]) == (1, "subscription_created")
    assert (event["seq"], event["type"], event["feed_id"]) == (2, "new_entry", feed_id)
    assert event["at"] == "2026-01-05T12:00:00Z"
    entry = (await api.get("/entries/g1")).json
    assert event["payload"] == {
        "entry_uid": "g1",
        "feed_id": feed_id,
        "published": None,
        "canonical_link": "https://posts.example/g1",
        "raw_refs": [{"fetch_id": entry["raw_refs"][0]["fetch_id"]}],
        "ingested_at": "2026-01-05T12:00:00Z",
    }


async def test_reading_goes_on_where_it_stopped(api: Api, river: River) -> None:
    await told(river, *(Event("feed_gone", None, {"n": n}) for n in range(5)))
    first = (await api.get("/events?limit=2")).json
    assert [event["seq"] for event in first["events"]] == [1, 2]
    assert (first["last_seq"], first["next"]) == (5, 2)
    rest = (await api.get("/events?limit=10&after=2")).json
    assert [event["payload"]["n"] for event in rest["events"]] == [2, 3, 4]
    assert rest["next"] == 5
    none = (await api.get("/events?after=5")).json
    assert (none["events"], none["next"]) == ([], 5)
    ahead = (await api.get("/events?after=500")).json
    assert (ahead["events"], ahead["last_seq"], ahead["next"]) == ([], 5, 5)
    assert len({event["id"] for event in first["events"] + rest["events"]}) == 5


async def test_a_filter_moves_the_reader_past_what_it_hides(api: Api, river: River) -> None:
    feed_id = await river.feed()
    await told(
        river,
        Event("feed_gone", feed_id, {}),
        Event("feed_failing", None, {}),
        Event("feed_gone", None, {}),
        Event("feed_failing", None, {}),
    )
    gone = (await api.get("/events?type=feed_gone")).json
    assert [event["seq"] for event in gone["events"]] == [1, 3]
    assert gone["next"] == 4
    mine = (await api.get(f"/events?feed_id={feed_id}&limit=1")).json
    assert ([event["seq"] for event in mine["events"]], mine["next"]) == ([1], 1)


async def test_several_types_and_feeds_can_be_named(api: Api, river: River) -> None:
    one, two = await river.feed("one"), await river.feed("two")
    await told(
        river,
        Event("feed_gone", one, {}),
        Event("feed_failing", two, {}),
        Event("feed_recovered", None, {}),
    )
    some = (await api.get("/events?type=feed_gone&type=feed_recovered")).json
    assert [event["seq"] for event in some["events"]] == [1, 3]
    both = (await api.get(f"/events?feed_id={one}&feed_id={two}")).json
    assert [event["seq"] for event in both["events"]] == [1, 2]
    assert (await api.get("/events?" + "type=feed_gone&" * 65)).status == 422


async def test_questions_that_make_no_sense_are_422(api: Api) -> None:
    for query in ("after=-1", "after=x", "after=9223372036854775808", "type=nonsense", "limit=0"):
        assert (await api.get(f"/events?{query}")).status == 422
    assert (await api.get("/events?feed_id=nonsense")).status == 404
