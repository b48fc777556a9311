"""Personal feeds in numbers: items in, feeds out, readers; no name of anybody among them."""

from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import ConnectionLost
from headwater.entrypoints.api.app import create_app
from headwater.events.event_rows import read_wire_events
from headwater.personal_feeds.database_store import PersonalDatabase
from headwater.personal_feeds.items_from_entries import EntryItemPolicy
from headwater.personal_feeds.own_sink import PersonalFeedSink
from headwater.personal_feeds.ports import FeedReader
from headwater.settings import Settings
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.scraped_metrics import Scraped, own_figures
from tests.support.scripted_engine import ScriptedWeb, an_engine

ADMIN = "an-admin-token-of-the-tests"
ITEM = {
    "title": "High water",
    "description": "At noon.",
    "link": "https://tides.example/1",
    "category": "a secret garden",
    "id": "tide-1",
}

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


@pytest.fixture
def engine(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> EngineParts:
    return an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)


@pytest.fixture
def api(engine: EngineParts, tmp_path: Path) -> Api:
    app = create_app(
        engine.services, Settings(data_dir=tmp_path, admin_token=ADMIN, personal_rate_per_minute=4)
    )
    return Api(app, ADMIN)


async def token_of(api: Api) -> str:
    reader = await api.post("/readers", {"name": "Ada", "categories": ["a secret garden"]})
    issued = await api.post(f"/readers/{reader.json['id']}/tokens", {})
    return str(issued.json["token"])


async def test_items_and_feeds_are_counted_by_how_it_ended(api: Api) -> None:
    token = await token_of(api)
    before = own_figures()
    for _ in range(2):
        await api.post("/internal/rss/item", ITEM)
    reader = Api(api.app)
    first = await reader.get(f"/rss?token={token}")
    unchanged = await reader.ask(
        "GET", f"/rss?token={token}", headers={"if-none-match": first.headers["etag"]}
    )
    assert (first.status, unchanged.status) == (200, 304)
    for target in ("/rss?token=unknown", "/atom?token=", "/feed.json", "/rss?token=a&token=b"):
        await reader.get(target)
    again = [(await reader.get(f"/rss?token={token}")).status for _ in range(3)]
    assert again == [200, 200, 429]
    grown = own_figures().since(before)
    asked = "headwater_personal_feeds_total"
    assert grown["headwater_personal_items_total", "source=program"] == 1
    assert grown[asked, "outcome=served"] == 3
    assert grown[asked, "outcome=unchanged"] == 1
    assert grown[asked, "outcome=unknown_token"] == 2
    assert grown[asked, "outcome=bad_request"] == 2
    assert grown[asked, "outcome=limited"] == 1
    assert grown["headwater_personal_cache_total", "result=miss"] == 1
    assert grown["headwater_personal_cache_total", "result=hit"] == 3


async def test_readers_are_counted_and_named_nowhere(api: Api) -> None:
    token = await token_of(api)
    await api.post("/internal/rss/item", ITEM)
    await Api(api.app).get(f"/rss?token={token}")
    text = (await api.get("/metrics")).body.decode()
    assert Scraped(text)["headwater_readers"] == 1
    for secret in ("Ada", "a secret garden", token):
        assert secret not in text


class Away:
    async def readers(self) -> list[FeedReader]:
        raise ConnectionLost("nobody is there")


async def test_a_store_that_is_away_leaves_the_other_figures(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PersonalDatabase, "readers", Away.readers)
    scraped = Scraped((await api.get("/metrics")).body.decode())
    assert scraped["headwater_database_up"] == 1
    assert not scraped.has("headwater_readers")


async def test_what_is_delivered_twice_counts_once(engine: EngineParts, api: Api) -> None:
    body = b"<rss version='2.0'><channel><item><guid>1</guid></item></channel></rss>"
    assert isinstance(engine.web, ScriptedWeb)
    engine.web.serve("https://tides.example/feed", body)
    made = {"url": "https://tides.example/feed", "categories": ["sea", "moon"]}
    assert (await api.post("/feeds", made)).status == 201
    async with engine.database.read() as view:
        parcels = (await read_wire_events(view, 0, limit=100)).parcels
    outlet = PersonalFeedSink(engine.personal, engine.database, engine.clock, EntryItemPolicy())
    before = own_figures()
    for _ in range(2):
        assert (await outlet.deliver(parcels, replay=0)).trouble is None
    assert own_figures().since(before)["headwater_personal_items_total", "source=feed"] == 2
