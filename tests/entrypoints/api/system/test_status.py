"""Health, status, OpenAPI and the docs page."""

from collections.abc import Callable

import pytest

from headwater import __version__
from headwater.core.values.ids import WorkerId
from headwater.feeds.worker.worker_rows import upsert_heartbeat
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.scripted_engine import River


async def test_health_is_minimal_and_open(guarded: Callable[..., Api]) -> None:
    answer = await guarded(None).get("/healthz")
    assert (answer.status, answer.json) == (200, {"status": "ok"})


async def test_status_tells_the_operator_how_it_goes(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    await river.feed("a")
    paused = await river.feed("b")
    await api.patch(f"/feeds/{paused}", {"state": "paused"})
    async with river.engine.database.write() as tx:
        await upsert_heartbeat(tx, WorkerId("w"), "box", 7, river.now)
    await virtual_clock.advance(30)
    status = (await api.get("/status")).json
    assert status["now"] == "2026-01-05T12:00:30Z"
    assert status["versions"]["headwater"] == __version__
    assert status["versions"]["database"].split()[0] in {"sqlite", "postgresql"}
    assert status["counts"]["feeds"] == {"active": 1, "paused": 1}
    assert (status["counts"]["feeds_due"], status["lag_sec"]) == (1, 30.0)
    assert status["counts"]["entries"] == status["counts"]["events"] == 0
    (worker,) = status["workers"]
    assert (worker["worker_id"], worker["pid"], worker["heartbeat_age_sec"]) == ("w", 7, 30.0)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_the_docs_page_needs_nothing_from_anywhere(api: Api) -> None:
    page = await api.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha")
    text = page.body.decode()
    assert "<script" not in text
    assert "https://" not in text
    for wanted in ("/feeds/{feed_id}/refetch", "FeedRecord", "next_cursor"):
        assert wanted in text


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_openapi_names_every_error_as_the_envelope(api: Api) -> None:
    schema = (await api.get("/openapi.json")).json
    assert schema["components"]["securitySchemes"] == {
        "token": {"type": "http", "scheme": "bearer"}
    }
    for path, verbs in schema["paths"].items():
        for verb, operation in verbs.items():
            problem = operation["responses"]["default"]["content"]["application/json"]["schema"]
            assert problem == {"$ref": "#/components/schemas/Problem"}, (path, verb)
            assert operation["description"], (path, verb)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_openapi_names_the_other_answers_of_a_route_too(api: Api) -> None:
    paths = (await api.get("/openapi.json")).json["paths"]
    read = {path: each["get"]["responses"] for path, each in paths.items() if "get" in each}
    assert {path for path, answers in read.items() if "304" not in answers} == {
        "/opml",
        "/events/stream",
        "/fetcher-modules/{fetcher_id}/events",
    }
    assert all("content" not in answers.get("304", {}) for answers in read.values())
    for path in ("/conflicts", "/services/register", "/internal/rss/item"):
        answers = paths[path]["post"]["responses"]
        assert answers["200"]["content"] == answers["201"]["content"]
