"""What is served keeps every rule: personal feeds and collections, whole or in part."""

from pathlib import Path
from urllib.parse import quote

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.entrypoints.api.app import create_app
from headwater.publish.safe_text import xml_safe_text
from headwater.settings import Settings
from tests.support import feed_rules_atom, feed_rules_json, feed_rules_rss
from tests.support.api_caller import Answer, Api
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.hostile_texts import NASTY
from tests.support.readers import Readers
from tests.support.scripted_engine import River, ScriptedWeb, an_engine, an_entry

TOKEN = "hwr_aTokenOfAda"
BROKEN = {
    "application/rss+xml": feed_rules_rss.broken,
    "application/atom+xml": feed_rules_atom.broken,
    "application/feed+json": feed_rules_json.broken,
}
CATEGORIES = (
    "rivers",
    "*",
    "[a-z]*",
    "..",
    "a:b",
    "Flüsse & <Seen> ]]>",
    "🌊 \u202ex",
    "a b/c?d#e",
)


@pytest.fixture
def engine(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> EngineParts:
    return an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)


@pytest.fixture
def api(engine: EngineParts, tmp_path: Path) -> Api:
    settings = Settings(data_dir=tmp_path, hub_url="https://hub.example/")
    return Api(create_app(engine.services, settings))


def broken(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.body
    return BROKEN[answer.headers["content-type"]](answer.body)


async def test_personal_feeds_keep_every_rule(api: Api, engine: EngineParts) -> None:
    readers = Readers(engine)
    await readers.opened("Ada & <Bob> ]]>", *CATEGORIES, token=TOKEN)
    words = [text.replace("\x00", "") for text in NASTY if "\ud800" not in text]
    for number, text in enumerate(words):
        category = CATEGORIES[number % len(CATEGORIES)]
        await readers.item(category, text, description=text, content=f"<p>{text}</p>")
    for path in ("/rss", "/atom", "/feed.json"):
        whole = await api.get(f"{path}?token={TOKEN}&limit=200")
        assert broken(whole) == []
        assert TOKEN.encode() not in whole.body
        assert broken(await api.get(f"{path}?token={TOKEN}&limit=1")) == []
        for category in (*CATEGORIES, "nobody follows this", ""):
            part = await api.get(f"{path}?token={TOKEN}&category={quote(category, safe='')}")
            assert broken(part) == []


async def test_an_item_of_several_categories_is_there_once(api: Api, engine: EngineParts) -> None:
    readers = Readers(engine)
    await readers.opened("Ada", "rivers", "lakes", token=TOKEN)
    await readers.item("rivers", "both", guid="01900000-0000-7000-8000-00000000000f")
    await readers.item("lakes", "both", guid="01900000-0000-7000-8000-00000000000f")
    for path in ("/rss", "/atom", "/feed.json"):
        answer = await api.get(f"{path}?token={TOKEN}")
        assert broken(answer) == []
        assert answer.body.count(b"both</title>") + answer.body.count(b'"title":"both"') == 1
    (item,) = (await api.get(f"/feed.json?token={TOKEN}")).json["items"]
    assert sorted(item["tags"]) == ["lakes", "rivers"]


async def test_collections_keep_every_rule_on_every_page(
    api: Api, engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    river = River(engine, ScriptedWeb())
    feed = await river.feed("one")
    for number, text in enumerate(map(xml_safe_text, NASTY)):
        await river.entries(feed, an_entry(f"{feed} {number}", text or "x")._replace(content=text))
        await virtual_clock.advance(60)
    for target in ("/meta/all.xml", "/meta/all.json", f"/meta/feed-{feed}.xml?limit=7"):
        page, count = await api.get(target), 0
        while True:
            assert broken(page) == []
            count += 1
            following = next_page(page)
            if following is None:
                break
            page = await api.get(following.removeprefix("http://127.0.0.1:8470"))
        assert count == (3 if "limit" in target else 1)


async def test_a_new_document_is_never_told_to_be_old(
    api: Api, engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    """libcurl throws a 200 away whose Last-Modified is not after If-Modified-Since: newsboat would
    never show what came in the second in which it asked."""
    readers, river = Readers(engine), River(engine, ScriptedWeb())
    await readers.opened("Ada", "rivers", token=TOKEN)
    feed = await river.feed("one")
    await readers.item("rivers", "first")
    await river.entries(feed, an_entry("1", "first"))
    for target in (f"/rss?token={TOKEN}", "/meta/all.xml"):
        known = await api.get(target)
        has = {
            "if_none_match": known.headers["etag"],
            "if_modified_since": known.headers["last-modified"],
        }
        assert (await api.get(target, **has)).headers["last-modified"] == has["if_modified_since"]
        await readers.item("rivers", "second")
        await river.entries(feed, an_entry(f"2 {target}", "second"))
        await virtual_clock.advance(0.6)
        new = await api.get(target, **has)
        assert (new.status, b"second" in new.body) == (200, True)
        assert "last-modified" not in new.headers
        await readers.item("rivers", "third")
        await virtual_clock.advance(60)
        await river.entries(feed, an_entry(f"3 {target}", "third"))
        assert "last-modified" in (await api.get(target)).headers


def next_page(answer: Answer) -> str | None:
    for said in answer.headers["link"].split(", "):
        address, _, rel = said.partition(">; ")
        if rel == 'rel="next"':
            return address.removeprefix("<")
    return None
