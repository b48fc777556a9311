"""Programs publish items over the API: each once, all of a batch or none, nothing trusted."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import ConnectionLost
from headwater.entrypoints.api.app import create_app
from headwater.personal_feeds.database_store import PersonalDatabase
from headwater.personal_feeds.ports import AddedItem, ItemAttachment, KeptItem
from headwater.settings import Settings
from tests.support.api_caller import Answer, Api
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.scripted_engine import ScriptedWeb, an_engine

ADMIN = "an-admin-token-of-the-tests"
NOON = 1_767_614_400_000_000
"""2026-01-05T12:00:00Z, when the tests' clock begins."""
SECOND, DAY = 1_000_000, 86_400_000_000
ITEM = {
    "title": "High water",
    "description": "<p>At noon.</p>",
    "link": "https://tides.example/1",
    "category": "sea: tides",
}
LINES = {"content-type": "application/x-ndjson"}


@pytest.fixture
def engine(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> EngineParts:
    return an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)


@pytest.fixture
def opened(engine: EngineParts, tmp_path: Path) -> Callable[..., Api]:
    """The API without an admin token; call it with settings."""

    def app(**settings: Any) -> Api:
        return Api(create_app(engine.services, Settings(data_dir=tmp_path, **settings)))

    return app


@pytest.fixture
def api(opened: Callable[..., Api]) -> Api:
    return opened()


async def kept(engine: EngineParts, *categories: str) -> list[KeptItem]:
    """Newest first."""
    shelf = await engine.personal.newest(categories or ("sea: tides",), 100, NOON)
    return list(shelf.items)


async def batch(api: Api, *items: object, **headers: str) -> Answer:
    body = b"".join(orjson.dumps(item) + b"\n" for item in items)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await api.ask("POST", "/internal/rss/items", body, LINES | named)


def lines_of(answer: Answer) -> list[dict[str, Any]]:
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [orjson.loads(line) for line in answer.body.splitlines()]


async def test_an_item_is_kept_in_the_words_it_was_given(api: Api, engine: EngineParts) -> None:
    answer = await api.post("/internal/rss/item", ITEM)
    assert answer.status == 201
    said = answer.json
    assert UUID(said["guid"]).version == 7
    assert said == {
        "guid": said["guid"],
        "category": "sea: tides",
        "expires_at": "2026-01-19T12:00:00Z",
        "is_new": True,
    }
    assert await kept(engine) == [
        KeptItem(
            category="sea: tides",
            guid=said["guid"],
            title="High water",
            description="<p>At noon.</p>",
            link="https://tides.example/1",
            pub_date=NOON,
            arrived_at=NOON,
            expires_at=NOON + 14 * DAY,
            changed_at=NOON,
        )
    ]


async def test_everything_an_item_may_say_is_kept(api: Api, engine: EngineParts) -> None:
    more = {
        "pub_date": "2026-01-04T12:00:00+01:00",
        "content": "<p>The whole <script>story</script></p>",
        "authors": ["Ada", "Grace"],
        "enclosures": [
            {"url": "https://tides.example/1.mp3", "type": "audio/mpeg", "length": 5},
            {"url": "magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a"},
        ],
        "tags": ["moon"],
        "id": "tide 1",
    }
    assert (await api.post("/internal/rss/item", ITEM | more)).status == 201
    (item,) = await kept(engine)
    assert item.pub_date == NOON - DAY - 3_600 * SECOND
    assert item.content == "<p>The whole <script>story</script></p>"
    assert (item.authors, item.tags) == (("Ada", "Grace"), ("moon",))
    assert item.enclosures == (
        ItemAttachment("https://tides.example/1.mp3", "audio/mpeg", 5),
        ItemAttachment("magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a"),
    )
    assert item.caller_id == "item:tide 1"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("2026-01-05T11:00:00Z", NOON - 3_600 * SECOND),
        ("2026-01-05T11:00:00", NOON - 3_600 * SECOND),
        ("2026-01-05 11:00", NOON - 3_600 * SECOND),
        ("2026-01-05T11:00:00.1234567", NOON - 3_600 * SECOND + 123_456),
        ("2026-01-05T11:00:00-02:00", NOON),
        ("1969-12-31T23:59:59Z", -SECOND),
        (None, NOON),
        ("2026-01-06T00:00:00Z", NOON),
    ],
)
async def test_a_date_without_a_zone_is_utc_and_one_of_the_future_is_now(
    api: Api, engine: EngineParts, said: str | None, meant: int
) -> None:
    assert (await api.post("/internal/rss/item", ITEM | {"pub_date": said})).status == 201
    assert [item.pub_date for item in await kept(engine)] == [meant]


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"title": None}, "title"),
        ({"title": " \n"}, "title"),
        ({"title": "x" * 1_025}, "title"),
        ({"description": None}, "description"),
        ({"description": 5}, "description"),
        ({"link": ""}, "link"),
        ({"link": "/relative"}, "link"),
        ({"link": "javascript:alert(1)"}, "link"),
        ({"link": "data:text/html,x"}, "link"),
        ({"link": "https://tides.example/" + "x" * 4_096}, "link"),
        ({"link": "https://"}, "link"),
        ({"category": ""}, "category"),
        ({"category": "x" * 1_025}, "category"),
        ({"pub_date": "yesterday"}, "pub_date"),
        ({"pub_date": 1_767_614_400}, "pub_date"),
        ({"pub_date": "2026-02-30T00:00:00Z"}, "pub_date"),
        ({"pub_date": "2026-01-05"}, "pub_date"),
        ({"authors": "Ada"}, "authors"),
        ({"authors": ["Ada"] * 65}, "authors"),
        ({"tags": [""]}, "tags"),
        ({"enclosures": [{"url": "ftp://x.example/"}]}, "enclosures"),
        ({"enclosures": [{"url": "https://x.example/", "length": -1}]}, "enclosures"),
        ({"id": ""}, "id"),
        ({"guid": "019b8d1c-1f00-7abc-9def-0123456789ab"}, "guid"),
        ({"arrived_at": 5}, "arrived_at"),
    ],
)
async def test_a_field_that_does_not_work_is_named_and_nothing_is_kept(
    api: Api, engine: EngineParts, wrong: dict[str, object], where: str
) -> None:
    answer = await api.post("/internal/rss/item", ITEM | wrong)
    assert (answer.status, answer.error) == (422, "validation_error")
    assert answer.json["detail"][0]["loc"][:2] == ["body", where]
    assert await kept(engine) == []
    missing = {name: value for name, value in ITEM.items() if name != where}
    if len(missing) < len(ITEM):
        answer = await api.post("/internal/rss/item", missing)
        assert answer.json["detail"][0]["loc"] == ["body", where]


@pytest.mark.parametrize("category", ["*", "a:b", "[a-z]?", " both sides ", "..", "ünïcode 🌊"])
async def test_any_text_is_a_category_and_none_is_a_pattern(
    api: Api, engine: EngineParts, category: str
) -> None:
    await api.post("/internal/rss/item", ITEM)
    answer = await api.post("/internal/rss/item", ITEM | {"category": category})
    assert answer.json["category"] == category
    assert [item.category for item in await kept(engine, category)] == [category]
    assert len(await kept(engine)) == 1


async def test_only_allowed_categories_are_filled_where_there_is_a_list(
    opened: Callable[..., Api], engine: EngineParts
) -> None:
    api = opened(personal_categories=["sea: tides"])
    assert (await api.post("/internal/rss/item", ITEM)).status == 201
    refused = await api.post("/internal/rss/item", ITEM | {"category": "garden"})
    assert (refused.status, refused.error) == (422, "bad_input")
    assert (refused.json["field"], refused.json["allowed"]) == ("category", ["sea: tides"])
    many = await batch(api, ITEM, ITEM | {"category": "garden"})
    assert (many.status, many.json["bad_lines"]) == (422, [2])
    assert len(await kept(engine, "sea: tides", "garden")) == 1


async def test_what_has_an_id_comes_into_a_category_once(api: Api, engine: EngineParts) -> None:
    first = await api.post("/internal/rss/item", ITEM | {"id": "tide-1"})
    again = await api.post("/internal/rss/item", ITEM | {"id": "tide-1", "title": "Other words"})
    assert (first.status, again.status) == (201, 200)
    assert again.json == first.json | {"is_new": False}
    assert [item.title for item in await kept(engine)] == ["High water"]
    elsewhere = await api.post("/internal/rss/item", ITEM | {"id": "tide-1", "category": "moon"})
    assert elsewhere.status == 201


async def test_an_id_is_free_again_when_its_item_has_expired(
    api: Api, engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    first = await api.post("/internal/rss/item", ITEM | {"id": "tide-1"})
    await virtual_clock.advance(14 * 86_400)
    again = await api.post("/internal/rss/item", ITEM | {"id": "tide-1"})
    assert again.status == 201
    assert again.json["guid"] != first.json["guid"]
    assert again.json["expires_at"] == "2026-02-02T12:00:00Z"


async def test_no_program_can_take_the_name_of_an_entry_or_of_a_request(
    api: Api, engine: EngineParts
) -> None:
    for name in ("entry:f:0", "request:00:0", "item:x"):
        await api.post("/internal/rss/item", ITEM | {"id": name})
    names = {item.caller_id for item in await kept(engine)}
    assert names == {"item:entry:f:0", "item:request:00:0", "item:item:x"}


async def test_one_idempotency_key_is_one_item(api: Api, engine: EngineParts) -> None:
    first = await api.post("/internal/rss/item", ITEM, idempotency_key="k1")
    again = await api.post("/internal/rss/item", ITEM, idempotency_key="k1")
    assert (first.status, again.status) == (201, 201)
    assert again.body == first.body
    assert again.headers["idempotent-replayed"] == "true"
    other = await api.post("/internal/rss/item", ITEM | {"title": "x"}, idempotency_key="k1")
    assert (other.status, other.error) == (422, "idempotency_mismatch")
    assert len(await kept(engine)) == 1


async def test_a_crash_between_the_item_and_its_answer_makes_no_second_item(
    api: Api, engine: EngineParts
) -> None:
    first = await api.post("/internal/rss/item", ITEM, idempotency_key="k1")
    async with engine.database.write() as tx:
        await tx.run("DELETE FROM idempotency")
    again = await api.post("/internal/rss/item", ITEM, idempotency_key="k1")
    assert again.json == first.json | {"is_new": False}
    assert len(await kept(engine)) == 1
    # A key that is free again may be used for something else.
    async with engine.database.write() as tx:
        await tx.run("DELETE FROM idempotency")
    other = await api.post("/internal/rss/item", ITEM | {"title": "x"}, idempotency_key="k1")
    assert other.status == 201
    assert len(await kept(engine)) == 2


async def test_the_same_item_from_many_at_once_is_there_once(api: Api, engine: EngineParts) -> None:
    answers = await asyncio.gather(
        *(api.post("/internal/rss/item", ITEM | {"id": "tide-1"}) for _ in range(8))
    )
    assert sorted(answer.status for answer in answers) == [200] * 7 + [201]
    assert len({answer.json["guid"] for answer in answers}) == 1
    assert len(await kept(engine)) == 1


async def test_an_item_without_an_id_may_come_twice(api: Api, engine: EngineParts) -> None:
    for _ in range(2):
        assert (await api.post("/internal/rss/item", ITEM)).status == 201
    assert len(await kept(engine)) == 2


@pytest.mark.parametrize(
    ("scope", "status"), [("publish", 201), ("admin", 201), ("read", 403), ("register", 403)]
)
async def test_the_scope_publish_opens_this_and_nothing_else(
    engine: EngineParts, tmp_path: Path, scope: str, status: int
) -> None:
    app = create_app(engine.services, Settings(data_dir=tmp_path, admin_token=ADMIN))
    made = await Api(app, ADMIN).post("/tokens", {"name": "tides", "scope": scope})
    mine = Api(app, made.json["token"])
    assert (await mine.post("/internal/rss/item", ITEM)).status == status
    assert (await batch(mine, ITEM)).status == status
    if scope == "publish":
        for path in ("/feeds", "/readers", "/sinks", "/tokens", "/status"):
            assert (await mine.get(path)).status == 403
    nobody = Api(app)
    assert (await nobody.post("/internal/rss/item", ITEM)).status == 401


async def test_items_have_a_limit_of_their_own(
    opened: Callable[..., Api], engine: EngineParts
) -> None:
    api = opened(personal_item_max_bytes=2_048, api_max_body_bytes=1_024)
    fits = ITEM | {"description": "x" * 1_800}
    assert (await api.post("/internal/rss/item", fits)).status == 201
    large = ITEM | {"description": "x" * 2_000}
    refused = await api.post("/internal/rss/item", large)
    assert (refused.status, refused.error) == (413, "body_too_large")
    many = await batch(api, ITEM, large)
    assert (many.status, many.json["bad_lines"]) == (422, [2])
    assert len(await kept(engine)) == 1


# Batches --------------------------------------------------------------------------------------


async def test_a_batch_has_one_answer_on_each_line_and_its_last_item_is_the_newest(
    api: Api, engine: EngineParts
) -> None:
    answer = await batch(api, *(ITEM | {"title": f"Tide {n}"} for n in range(5)))
    assert answer.status == 201
    told = lines_of(answer)
    assert [line["is_new"] for line in told] == [True] * 5
    items = await kept(engine)
    assert [item.title for item in items] == ["Tide 4", "Tide 3", "Tide 2", "Tide 1", "Tide 0"]
    assert [item.guid for item in reversed(items)] == [line["guid"] for line in told]


async def test_a_batch_says_which_items_were_there(api: Api, engine: EngineParts) -> None:
    first = await api.post("/internal/rss/item", ITEM | {"id": "a"})
    answer = await batch(api, ITEM | {"id": "b"}, ITEM | {"id": "a"}, ITEM | {"id": "b"})
    told = lines_of(answer)
    assert (answer.status, [line["is_new"] for line in told]) == (201, [True, False, False])
    assert told[1]["guid"] == first.json["guid"]
    assert told[2]["guid"] == told[0]["guid"]
    known = await batch(api, ITEM | {"id": "b"}, ITEM | {"id": "a"})
    assert (known.status, [line["is_new"] for line in lines_of(known)]) == (200, [False, False])
    assert len(await kept(engine)) == 2


async def test_every_bad_line_is_named_and_none_is_kept(api: Api, engine: EngineParts) -> None:
    good = orjson.dumps(ITEM)
    body = b"\n".join(
        [
            good,
            b"",
            b"{",
            orjson.dumps(ITEM | {"link": "javascript:alert(1)", "title": ""}),
            b"[" * 40 + b"]" * 40,
            b'{"title": "a", "title": "b"}',
            orjson.dumps(ITEM).replace(b"High", b"\\u0000"),
            b'"text"',
            b"\xff",
            good,
        ]
    )
    answer = await api.ask("POST", "/internal/rss/items", body, LINES)
    assert (answer.status, answer.error) == (422, "validation_error")
    assert answer.json["bad_lines"] == [3, 4, 5, 6, 7, 8, 9]
    where = [problem["loc"] for problem in answer.json["detail"]]
    assert ["body", 4, "title"] in where
    assert ["body", 4, "link"] in where
    assert {loc[1] for loc in where} == {3, 4, 5, 6, 7, 8, 9}
    assert "javascript" not in answer.body.decode()
    assert await kept(engine) == []


async def test_more_bad_lines_than_anybody_reads_are_told_by_number(api: Api) -> None:
    answer = await batch(api, *({"title": n} for n in range(300)))
    assert answer.json["bad_lines"] == list(range(1, 301))
    assert len(answer.json["detail"]) == 100
    assert len(answer.body) < 20_000


@pytest.mark.parametrize("body", [b"", b"\n\n", b" \r\n"])
async def test_a_batch_without_items_is_refused(api: Api, body: bytes) -> None:
    answer = await api.ask("POST", "/internal/rss/items", body, LINES)
    assert (answer.status, answer.error) == (422, "bad_input")


async def test_a_batch_has_a_bound_on_items_and_one_on_bytes(
    opened: Callable[..., Api], engine: EngineParts
) -> None:
    api = opened(personal_batch_max_items=3, personal_batch_max_bytes=4_096)
    assert (await batch(api, ITEM, ITEM, ITEM)).status == 201
    many = await batch(api, ITEM, ITEM, ITEM, ITEM)
    assert (many.status, many.error) == (422, "bad_input")
    large = await batch(api, ITEM | {"description": "x" * 4_096})
    assert (large.status, large.error) == (413, "body_too_large")
    assert len(await kept(engine)) == 3


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "", "multipart/form-data"])
async def test_a_batch_of_another_media_type_is_refused(api: Api, kind: str) -> None:
    answer = await api.ask(
        "POST", "/internal/rss/items", orjson.dumps(ITEM), {"content-type": kind}
    )
    assert (answer.status, answer.error) == (415, "unsupported_media_type")


async def test_lines_of_windows_and_parameters_of_the_media_type_work(api: Api) -> None:
    body = b"\r\n".join([orjson.dumps(ITEM)] * 2)
    named = {"content-type": "application/x-ndjson; charset=utf-8"}
    assert (await api.ask("POST", "/internal/rss/items", body, named)).status == 201


async def test_a_batch_under_one_idempotency_key_is_published_once(
    api: Api, engine: EngineParts
) -> None:
    first = await batch(api, ITEM, ITEM, idempotency_key="k1")
    again = await batch(api, ITEM, ITEM, idempotency_key="k1")
    assert (first.status, again.status) == (201, 201)
    assert (again.body, again.headers["idempotent-replayed"]) == (first.body, "true")
    assert len(lines_of(again)) == 2
    async with engine.database.write() as tx:
        await tx.run("DELETE FROM idempotency")
    after_a_crash = await batch(api, ITEM, ITEM, idempotency_key="k1")
    guids = [line["guid"] for line in lines_of(first)]
    assert [line["guid"] for line in lines_of(after_a_crash)] == guids
    assert len(await kept(engine)) == 2


class Away:
    """A store that cannot be reached, for whatever it is asked."""

    async def add(self, items: object) -> list[AddedItem]:
        raise ConnectionLost("redis://secret-host:6379 refused")


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_when_the_store_is_away_the_answer_says_so_and_when_to_come_again(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PersonalDatabase, "add", Away.add)
    for answer in (
        await api.post("/internal/rss/item", ITEM),
        await batch(api, ITEM),
        await api.post("/internal/rss/item", ITEM, idempotency_key="k1"),
    ):
        assert (answer.status, answer.error) == (500, "connection_error")
        assert answer.json["detail"] == "RSS service temporarily unavailable"
        assert answer.headers["retry-after"] == "5"
        assert b"secret-host" not in answer.body
