"""Stories that were found untrue once: deletion under way, numbers given twice, coming back."""

from pathlib import Path
from typing import Any

from headwater.core.values.instant import to_micros
from headwater.feeds.commit_visits import ClaimLost
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.visit import visit_feed
from headwater.feeds.worker import claim_rows
from headwater.settings import Settings
from headwater.subscriptions.fetchers.fetcher_reports import ReportedEntries
from tests.entrypoints.cli.conftest import Shell
from tests.support.origin import Post, Reply
from tests.support.remote_fetcher import Remote
from tests.support.scripted_fetchers import another_api
from tests.support.subscriptions_world import MINUTE, World

ENTRY = {"id": "a", "title": "From the fetcher", "url": "https://posts.example/a"}


async def claimed(world: World) -> list[DueFeed]:
    now = to_micros(world.clock.now())
    async with world.engine.database.write() as tx:
        return await claim_rows.claim_feeds(tx, world.engine.worker, now, now + 2 * MINUTE, 500)


async def titles(world: World, record: dict[str, Any]) -> list[str]:
    found = await world.api.get(f"/feeds/{record['feed_id']}/entries")
    return [each["title"] for each in found.json["entries"]]


async def test_a_visit_whose_feed_was_deleted_for_good_meanwhile_is_lost(world: World) -> None:
    """Not an error of the database: that would make the worker pause for everybody."""
    feed = world.origin.feed("/a.xml", [Post("1", "One")])
    made = await world.subscribed(feed.url)
    (due,) = await claimed(world)
    await world.api.delete(f"/subscriptions/{made['subscription_id']}?hard=true")
    assert await visit_feed(due, world.engine.feeds) == ClaimLost()
    assert await world.column("raw_fetches", "url") == []


async def test_a_visit_of_a_deleted_feed_never_lands_in_the_next_one(world: World) -> None:
    gone = world.origin.feed("/gone.xml", [Post("1", "Of the one that is gone")])
    following = world.origin.feed("/next.xml", [Post("1", "Of the next one")])
    first = await world.subscribed(gone.url)
    (late,) = await claimed(world)
    await world.api.delete(f"/subscriptions/{first['subscription_id']}?hard=true")
    second = await world.subscribed(following.url)
    (due,) = await claimed(world)
    services = world.engine.feeds
    assert await visit_feed(late, services) == ClaimLost()
    assert await titles(world, second) == []
    await visit_feed(due, services)
    assert await titles(world, second) == ["Of the next one"]
    assert await world.column("raw_fetches", "url") == [following.url]


async def test_no_number_is_given_twice(world: World) -> None:
    """Who still knows the number of something deleted must not reach something else with it."""
    first = await world.subscribed("https://feeds.example/first")
    said = {"candidate_fetcher_ids": [1, 2]}
    opened = await world.api.post(
        "/conflicts", {"subscription_id": first["subscription_id"], "conflict_data": said}
    )
    group = await world.grouped("First")
    (feed,) = await world.column("feeds", "id")
    await world.api.delete(f"/subscriptions/{first['subscription_id']}?hard=true")
    await world.api.delete(f"/groups/{group['group_id']}")
    second = await world.subscribed("https://feeds.example/second")
    again = await world.api.post(
        "/conflicts", {"subscription_id": second["subscription_id"], "conflict_data": said}
    )
    assert second["subscription_id"] > first["subscription_id"]
    assert again.json["conflict_id"] > opened.json["conflict_id"]
    assert (await world.grouped("Second"))["group_id"] > group["group_id"]
    assert await world.column("feeds", "id") != [feed]


async def test_what_comes_back_to_another_fetcher_is_asked_for_whole(world: World) -> None:
    """The former's validators are not the new one's: a 304 would hide the document from it."""
    feed = world.origin.feed("/a.xml", [Post("1", "From the document")])
    remote = Remote(world.engine, world.clock)
    fetcher = await remote.fetcher()
    there = await remote.subscribe(fetcher, feed.url)
    (work,) = (await remote.claim(fetcher)).works
    await remote.report(fetcher, work.claim, ReportedEntries((ENTRY,), etag='"of-another"'))
    await world.api.delete(f"/subscriptions/{there.id}")
    back = await world.subscribed(feed.url, fetcher_id=1)
    assert back["subscription_id"] == there.id
    shown = await world.feed(back)
    assert shown["validators"] == {"etag": None, "last_modified": None}


async def test_what_comes_back_to_the_same_fetcher_keeps_its_validators(world: World) -> None:
    feed = world.origin.feed("/a.xml", [Post("1", "One")])
    made = await world.subscribed(feed.url)
    await world.visit_all()
    etag = (await world.feed(made))["validators"]["etag"]
    assert etag is not None
    await world.api.delete(f"/subscriptions/{made['subscription_id']}")
    back = await world.subscribed(feed.url)
    assert (await world.feed(back))["validators"]["etag"] == etag


async def test_a_host_that_asked_for_a_rest_gets_it_though_its_feed_comes_back(
    world: World,
) -> None:
    feed = world.origin.feed("/a.xml", [Post("1", "One")])
    made = await world.subscribed(feed.url)
    feed.answer_next(Reply(503, headers={"Retry-After": "7200"}))
    await world.visit_all()
    until = (await world.feed(made))["next_visit_at"]
    assert until == "2026-01-05T15:00:00Z"
    await world.api.delete(f"/subscriptions/{made['subscription_id']}")
    await world.clock.advance(60)
    back = await world.subscribed(feed.url)
    assert back["next_fetch_at"] == until
    again = await world.api.post(f"/feeds/{back['feed_id']}/refetch")
    assert (again.status, again.json["retry_after_sec"]) == (429, 7140.0)


async def test_a_source_is_found_under_every_spelling_it_may_be_subscribed_with(
    world: World,
) -> None:
    made = await world.subscribed("feed:https://feeds.example/a")
    for spelling in ("feed:https://feeds.example/a", "\ufeffhttps://FEEDS.example:443/a#top"):
        found = await world.api.get("/subscriptions?source_url=" + _encoded(spelling))
        (shown,) = found.json["subscriptions"]
        assert shown["subscription_id"] == made["subscription_id"]
        said = {"source_url": spelling, "conflict_data": {"candidate_fetcher_ids": [1, 2]}}
        assert (await world.api.post("/conflicts", said)).json["conflict_id"] == 1


async def test_a_fetchers_token_that_belongs_to_no_fetcher_opens_nothing(
    world: World, tmp_path: Path
) -> None:
    """After a way back to an older schema and forth again nobody knows whose it was."""
    said = {"service_name": "one", "host": "one.example", "port": 8080}
    joined = (await world.api.post("/services/register", said)).json
    api = another_api(
        world.engine, Settings(data_dir=tmp_path, admin_token="an-admin-token"), joined["token"]
    )
    mine = f"/fetcher-modules/{joined['fetcher_id']}/subscriptions"
    assert (await api.get(mine)).status == 200
    async with world.engine.database.write() as tx:
        await tx.run("UPDATE fetcher_modules SET token_id = NULL")
    made = await world.subscribed("https://feeds.example/a", fetcher_id=1)
    result = {"subscription_id": made["subscription_id"], "outcome": "unchanged"}
    reported = await api.post("/fetcher-results", result | {"fetcher_id": joined["fetcher_id"]})
    assert (reported.status, reported.error) == (403, "forbidden")
    assert (await api.get(mine)).status == 403


async def test_history_says_what_was_before_somebody_brought_it_back(world: World) -> None:
    await world.subscribed("https://mikanani.me/RSS/Classic")
    await world.api.delete("/subscriptions/1")
    await world.subscribed("https://mikanani.me/RSS/Classic", fetcher_id=1)
    await world.api.delete("/subscriptions/1")
    later = world.origin.feed("/a.xml", [Post("1", "One")])
    await world.api.post("/feeds", {"url": later.url})
    await world.api.delete("/subscriptions/2")
    await world.clock.advance(3_600)
    await world.api.post("/feeds", {"url": later.url})
    for number, fetcher in ((1, "mikanani"), (2, "feed")):
        told = (await world.api.get(f"/subscriptions/{number}/history")).json["history"]
        revived = next(each for each in told if each["what"] == "revived")
        assert (revived["before"]["fetcher"], revived["before"]["is_active"]) == (fetcher, False)
        assert (revived["after"]["fetcher"], revived["after"]["is_active"]) == ("feed", True)


def test_on_the_command_line_a_url_means_that_source_and_no_other(tmp_path: Path) -> None:
    """Whoever types a whole URL must not unsubscribe from one that begins like it."""
    alone = Shell({"HEADWATER_DATA_DIR": str(tmp_path), "COLUMNS": "120", "NO_COLOR": "1"})
    alone("subscribe", "https://feeds.example/news?page=2")
    missed = alone("unsubscribe", "https://feeds.example/news")
    assert missed.code == 4
    (kept,) = alone("subscriptions", "--json").json
    assert kept["is_active"] is True
    for spelling in (
        "HTTPS://Feeds.example:443/news?page=2#top",
        "feed:https://feeds.example/news?page=2",
    ):
        assert alone("subscriptions", "show", spelling, "--json").json["subscription_id"] == 1
    assert alone("unsubscribe", "feeds.example/news").code == 0


def _encoded(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())
