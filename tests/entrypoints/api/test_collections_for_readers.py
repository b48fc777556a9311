"""Collections for readers: what their categories hold, and no word of anything else."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.entrypoints.api.app import create_app
from headwater.feeds.feed import FeedOptions
from headwater.parse.parser import parse
from headwater.settings import Settings
from tests.support.api_caller import Answer, Api
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.readers import Readers
from tests.support.scripted_engine import River, ScriptedWeb, an_engine, an_entry

ADMIN = "an-admin-token-of-the-tests"
TOKEN = "hwr_aTokenOfAda"


@pytest.fixture
def engine(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> EngineParts:
    return an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)


@pytest.fixture
def river(engine: EngineParts) -> River:
    return River(engine, ScriptedWeb())


@pytest.fixture
def readers(engine: EngineParts) -> Readers:
    return Readers(engine)


@pytest.fixture
def app(engine: EngineParts, tmp_path: Path) -> Callable[..., Api]:
    def made(token: str | None = None, **settings: object) -> Api:
        every: dict[str, Any] = {"data_dir": tmp_path, "admin_token": ADMIN} | settings
        return Api(create_app(engine.services, Settings(**every)), token)

    return made


def titles(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.body
    return [
        entry.title.value if entry.title else ""
        for entry in parse(answer.body, url="http://127.0.0.1:8470").entries
    ]


async def stocked(river: River) -> tuple[str, str, str]:
    """Three feeds with an entry each: `r` of rivers, `b` of rivers and lakes, `s` of seas."""
    found = []
    for name, categories in {"r": ("rivers",), "b": ("rivers", "lakes"), "s": ("seas",)}.items():
        feed = await river.feed(name, replace(FeedOptions(), categories=categories))
        await river.entries(feed, an_entry(name, name))
        found.append(str(feed))
    return found[0], found[1], found[2]


async def group_of(river: River, name: str, *feeds: str) -> None:
    async with river.engine.database.write() as tx:
        row = await tx.row(
            "INSERT INTO subscription_groups (name, created_at, updated_at) VALUES (?, ?, ?)"
            " RETURNING group_id",
            name,
            river.now,
            river.now,
        )
        assert row is not None
        for feed in feeds:
            await tx.run(
                "UPDATE rss_subscriptions SET group_id = ? WHERE feed_id ="
                " (SELECT id FROM feeds WHERE feed_id = ?)",
                row.group_id,
                feed,
            )


async def test_a_reader_sees_only_feeds_of_their_categories(
    app: Callable[..., Api], river: River, readers: Readers
) -> None:
    rivers, both, seas = await stocked(river)
    await group_of(river, "mixed", both, seas)
    await group_of(river, "salty", seas)
    await readers.opened("Ada", "lakes", "ponds", token=TOKEN)
    api = app()

    async def seen(name: str, suffix: str = "xml") -> list[str] | int:
        answer = await api.get(f"/meta/{name}.{suffix}?token={TOKEN}")
        return titles(answer) if answer.status == 200 else answer.status

    assert await seen("all") == ["b"]
    assert await seen("all", "json") == ["b"]
    assert await seen("category-lakes") == ["b"]
    assert await seen("category-rivers") == 404  # not followed, though `b` has it
    assert await seen("category-seas") == 404
    assert await seen("category-ponds") == 404
    assert await seen(f"feed-{both}") == ["b"]
    assert await seen(f"feed-{rivers}") == 404
    assert await seen("mixed") == ["b"]
    assert await seen("group-mixed") == ["b"]
    assert await seen("salty") == 404
    assert await seen("nothing") == 404
    refused = await api.get(f"/meta/salty.xml?token={TOKEN}")
    nothing = await api.get(f"/meta/nothing.xml?token={TOKEN}")
    assert (refused.body, refused.headers) == (nothing.body, nothing.headers)


async def test_a_reader_of_nothing_gets_an_empty_whole(
    app: Callable[..., Api], river: River, readers: Readers
) -> None:
    await stocked(river)
    await readers.opened("Ada", token=TOKEN)
    await readers.opened("Ben", "%", "_", "*", '"', "riv", '["rivers"]', "\ud800", token="t2")
    api = app()
    assert titles(await api.get(f"/meta/all.xml?token={TOKEN}")) == []
    assert titles(await api.get("/meta/all.xml?token=t2")) == []


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_many_categories_are_looked_for_too(
    app: Callable[..., Api], river: River, readers: Readers
) -> None:
    await stocked(river)
    await readers.opened("Ada", *(f"c{n}" for n in range(450)), "seas", token=TOKEN)
    assert titles(await app().get(f"/meta/all.xml?token={TOKEN}")) == ["s"]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_removed_feed_is_not_shown_to_readers(
    app: Callable[..., Api], river: River, readers: Readers
) -> None:
    _, both, _ = await stocked(river)
    await readers.opened("Ada", "rivers", token=TOKEN)
    api = app()
    assert sorted(titles(await api.get(f"/meta/all.xml?token={TOKEN}"))) == ["b", "r"]
    await river.set(both, state="removed")
    assert titles(await api.get(f"/meta/all.xml?token={TOKEN}")) == ["r"]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_pages_go_on_within_what_the_reader_may_see(
    app: Callable[..., Api], river: River, readers: Readers, virtual_clock: VirtualClock
) -> None:
    rivers, _, seas = await stocked(river)
    for number in range(3):
        await virtual_clock.advance(60)
        await river.entries(rivers, an_entry(f"r{number}", f"r{number}"), before=number + 1)
        await river.entries(seas, an_entry(f"s{number}", f"s{number}"), before=number + 1)
    await readers.opened("Ada", "rivers", token=TOKEN)
    api, target, found = app(), "/meta/all.json?limit=2", []
    while target:
        page = (await api.get(f"{target}&token={TOKEN}")).json
        found += [item["title"] for item in page["items"]]
        assert "token" not in page.get("next_url", "")
        target = page.get("next_url", "").removeprefix("http://127.0.0.1:8470")
    assert found[:3] == ["r2", "r1", "r0"]
    assert sorted(found[3:]) == ["b", "r"]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_tokens_of_the_api_work_as_before(
    app: Callable[..., Api], river: River, readers: Readers
) -> None:
    await stocked(river)
    await readers.opened("Ada", "lakes", token=TOKEN)
    admin = app(ADMIN)
    made = await admin.post("/tokens", {"name": "r", "scope": "read"})
    everything = ["s", "b", "r"]
    for token in (ADMIN, made.json["token"]):
        caller = app(token)
        assert sorted(titles(await caller.get("/meta/all.xml"))) == sorted(everything)
        # What is in the head says more than what is in the address.
        asked = await caller.get(f"/meta/all.xml?token={TOKEN}")
        assert sorted(titles(asked)) == sorted(everything)
    assert (await app().get("/meta/all.xml")).status == 401
    assert (await app("wrong").get(f"/meta/all.xml?token={TOKEN}")).status == 401
    assert (await app().get(f"/meta/all.xml?token={ADMIN}")).status == 404
    assert (await app().get("/meta/all.xml?token=")).status == 401
    assert (await app().get("/meta/all.xml?token=a&token=b")).status == 422
    assert (await app().ask("HEAD", f"/meta/all.xml?token={TOKEN}")).status == 200
    assert (await app().ask("POST", f"/meta/all.xml?token={TOKEN}")).status == 401


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_readers_token_opens_nothing_else_below_meta(
    app: Callable[..., Api], readers: Readers
) -> None:
    await readers.opened("Ada", "lakes", token=TOKEN)
    for path in ("/meta/", "/meta/all", "/meta/../feeds", "/meta/all.opml"):
        assert (await app().get(f"{path}?token={TOKEN}")).status == 404
    for path in ("/feeds", "/entries", "/events", "/status", "/metrics", "/meta", "/readers"):
        assert (await app().get(f"{path}?token={TOKEN}")).status == 401


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_readers_of_the_same_have_tags_of_their_own(
    app: Callable[..., Api], river: River, readers: Readers
) -> None:
    await stocked(river)
    await readers.opened("Ada", "lakes", token=TOKEN)
    await readers.opened("Ben", "lakes", token="t2")
    api = app()
    tag = (await api.get(f"/meta/all.xml?token={TOKEN}")).headers["etag"]
    assert (await api.get(f"/meta/all.xml?token={TOKEN}", if_none_match=tag)).status == 304
    assert (await api.get("/meta/all.xml?token=t2", if_none_match=tag)).status == 200


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_its_own_limit_counts_and_readers_are_counted(
    app: Callable[..., Api], river: River, readers: Readers
) -> None:
    await stocked(river)
    await readers.opened("Ada", "rivers", token=TOKEN)
    api = app(personal_limit_max=1, personal_rate_per_minute=2)
    assert len(titles(await api.get(f"/meta/all.xml?token={TOKEN}&limit=100"))) == 2
    assert (await api.get(f"/meta/all.xml?token={TOKEN}")).status == 200
    assert (await api.get(f"/meta/all.xml?token={TOKEN}")).status == 429
