"""Pages for exports: every entry and every payload once, whatever happens meanwhile."""

from collections.abc import Callable
from typing import Any

import pytest

from headwater.entrypoints.api.app import create_app
from headwater.entrypoints.api.feeds import export
from headwater.events import event_rows
from headwater.feeds.entries.entry import KnownEntry
from headwater.feeds.entries.entry_changes import MergeChanges
from headwater.feeds.feed_events import new_entry_event, updated_entry_event
from headwater.publish.export_rows import first_id_at
from headwater.settings import Settings
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.scripted_engine import River, an_entry


async def told(river: River, feed: str, *names: str) -> None:
    """New entries and the events that tell of them."""
    entries = [an_entry(name, name) for name in names]
    await river.document(
        feed, MergeChanges(new=tuple(entries)), fetch_id="01900000-0000-7000-9000-1"
    )
    async with river.engine.database.write() as tx:
        facts = [new_entry_event(feed, e.uid, e.link, e.published, "f", "now") for e in entries]
        await event_rows.append_events(tx, facts, river.engine.clock.now())


async def edited(river: River, feed: str, name: str, title: str, version: int = 1) -> None:
    before = an_entry(name, name)
    known = KnownEntry(name, before.uid_key, before.link_key, before.content_hash, version, 1)
    after = an_entry(name, title)._replace(link=before.link, link_key=before.link_key)
    await river.document(feed, MergeChanges(edited=((after, known),)), before=version)
    async with river.engine.database.write() as tx:
        fact = updated_entry_event(feed, name, after.link, None, "f", "now", version + 1)
        await event_rows.append_events(tx, [fact], river.engine.clock.now())


async def pages(
    api: Api, query: str = "", between: Callable[[], Any] | None = None, start: int = 0
) -> tuple[list[tuple[str, str, int]], int]:
    """(uid, title, seq) of every entry, and where it ended."""
    found: list[tuple[str, str, int]] = []
    after, until = start, ""
    while True:
        answer = await api.get(f"/export/entries?after={after}{until}{query}")
        assert answer.status == 200, answer.body
        page = answer.json
        found += [(e["entry_uid"], e["title"], e["seq"]) for e in page["entries"]]
        after, until = page["next"], f"&until={page['until']}"
        if after >= page["until"]:
            return found, after
        if between is not None:
            await between()


async def test_every_entry_once_in_the_order_of_the_log(api: Api, river: River) -> None:
    one, two = await river.feed("one"), await river.feed("two")
    await told(river, one, "a", "b")
    await told(river, two, "c")
    await edited(river, one, "a", "A")
    assert await pages(api) == ([("b", "b", 2), ("c", "c", 3), ("a", "A", 4)], 4)
    assert await pages(api, "&limit=1") == ([("b", "b", 2), ("c", "c", 3), ("a", "A", 4)], 4)
    assert await pages(api, f"&feed_id={one}") == ([("b", "b", 2), ("a", "A", 4)], 4)


async def test_an_export_goes_on_where_the_last_one_ended(api: Api, river: River) -> None:
    feed = await river.feed()
    await told(river, feed, "a", "b")
    _, cursor = await pages(api)
    assert await pages(api, start=cursor) == ([], cursor)
    await told(river, feed, "c")
    await edited(river, feed, "a", "A")
    assert await pages(api, start=cursor) == ([("c", "c", 3), ("a", "A", 4)], 4)


async def test_an_edit_while_an_export_runs_neither_doubles_nor_loses_an_entry(
    api: Api, river: River
) -> None:
    """It is as it was when the export began; the next one brings the edit."""
    feed = await river.feed()
    await told(river, feed, "a", "b", "c", "d")
    await edited(river, feed, "b", "B")
    steps = iter(range(1, 10))

    async def edit() -> None:
        await edited(river, feed, "d", f"D{(step := next(steps))}", step)

    first, cursor = await pages(api, "&limit=1", edit)
    assert first == [("a", "a", 1), ("c", "c", 3), ("d", "d", 4), ("b", "B", 5)]
    assert cursor == 5
    second, end = await pages(api, start=cursor)
    assert [(uid, title) for uid, title, _ in second] == [("d", f"D{end - cursor}")]


async def test_an_entry_in_full(api: Api, river: River) -> None:
    feed = await river.feed()
    await told(river, feed, "a")
    ((entry,),) = [(await api.get("/export/entries")).json["entries"]]
    assert entry == {
        "seq": 1,
        "entry_uid": "a",
        "feed_id": feed,
        "canonical_link": "https://posts.example/a",
        "title": "a",
        "summary": None,
        "content": None,
        "authors": [{"name": "Ada", "email": None, "uri": None}],
        "categories": [],
        "enclosures": [{"url": "https://a.example/1.mp3", "type": "audio/mpeg", "length": 5}],
        "published": None,
        "updated": None,
        "first_seen": "2026-01-05T12:00:00Z",
        "raw_refs": [{"fetch_id": "01900000-0000-7000-9000-1", "offset": 10, "length": 20}],
        "content_hash": an_entry("a", "a").content_hash,
        "version": 1,
        "details": {},
    }


async def test_what_was_deleted_for_good_is_nowhere(api: Api, river: River) -> None:
    one, two = await river.feed("one"), await river.feed("two")
    await told(river, one, "a")
    await told(river, two, "b")
    async with river.engine.database.write() as tx:
        await tx.run("DELETE FROM rss_subscriptions WHERE feed_id = ?", await river.pk(one))
        await tx.run("DELETE FROM feeds WHERE feed_id = ?", one)
    assert await pages(api) == ([("b", "b", 2)], 2)


async def test_a_page_ends_early_when_it_is_heavy(
    api: Api, river: River, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MOST_PAGE_BYTES", 1)
    names = [f"{number:03}" for number in range(70)]
    await told(river, await river.feed(), *names)
    page = (await api.get("/export/entries?limit=500")).json
    assert (len(page["entries"]), page["next"], page["until"]) == (32, 32, 70)
    found, _ = await pages(api, "&limit=500")
    assert [uid for uid, _, _ in found] == names


async def test_a_reader_ahead_of_the_log_is_led_back(api: Api, river: River) -> None:
    await told(river, await river.feed(), "a")
    page = (await api.get("/export/entries?after=99")).json
    assert (page["entries"], page["until"], page["next"]) == ([], 1, 1)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_damaged_events_are_counted_and_the_rest_goes_on(api: Api, river: River) -> None:
    await told(river, await river.feed(), "a", "b")
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE events SET payload = 'x' WHERE seq = 1")
    page = (await api.get("/export/entries")).json
    assert ([e["entry_uid"] for e in page["entries"]], page["unreadable"]) == (["b"], 1)


async def test_payloads_in_the_order_of_their_ids_page_by_page(api: Api, river: River) -> None:
    feed, other = await river.feed("a"), await river.feed("b")
    ids = [await river.raw(feed, b"%d" % number, number=number) for number in (3, 1, 2)]
    await river.raw(other, b"other", number=9)
    first = (await api.get(f"/export/raw?limit=2&feed_id={feed}")).json
    assert [raw["fetch_id"] for raw in first["fetches"]] == [ids[1], ids[2]]
    second = (
        await api.get(
            f"/export/raw?limit=2&feed_id={feed}&after={first['next']}&before={first['before']}"
        )
    ).json
    assert [raw["fetch_id"] for raw in second["fetches"]] == [ids[0]]
    assert second["next"] is None
    assert len((await api.get("/export/raw")).json["fetches"]) == 4


async def test_a_payloads_headers_come_as_served(api: Api, river: River) -> None:
    await river.raw(await river.feed(), b"body")
    (raw,) = (await api.get("/export/raw")).json["fetches"]
    assert raw["response_headers"] == [["Content-Type", "text/html"], ["Vary", "a"], ["Vary", "b"]]
    assert raw["request_headers"] == [["User-Agent", "test"], ["Authorization", "REDACTED"]]
    assert (raw["http_status"], raw["content_length"], raw["truncated"]) == (200, 4, False)


async def test_young_payloads_are_held_back(
    river: River, virtual_clock: VirtualClock, tmp_path: Any
) -> None:
    """An id is made before its row is committed: until that is surely over, it is not shown."""
    api = Api(create_app(river.engine.services, Settings(data_dir=tmp_path)))
    fetch_id = await river.raw(await river.feed(), b"body")
    young = first_id_at(virtual_clock.now())
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE raw_fetches SET fetch_id = ? WHERE fetch_id = ?", young, fetch_id)
    assert (await api.get("/export/raw")).json["fetches"] == []
    await virtual_clock.advance(899)
    assert (await api.get("/export/raw")).json["fetches"] == []
    await virtual_clock.advance(2)
    (raw,) = (await api.get("/export/raw")).json["fetches"]
    assert raw["fetch_id"] == young


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_what_makes_no_sense_is_refused(api: Api, guarded: Callable[..., Api]) -> None:
    assert (await api.get("/export/raw?after=x")).status == 404
    assert (await api.get("/export/raw?before=x")).status == 404
    assert (await api.get("/export/raw?before=")).status == 404  # not an empty archive
    assert (await api.get("/export/raw?after=")).status == 404
    assert (await api.get("/export/entries?after=-1")).status == 422
    assert (await api.get("/export/entries?feed_id=x")).status == 404
    for path in ("/export/entries", "/export/raw"):
        assert (await guarded(None).get(path)).status == 401
