"""A route says its own rules: who may call it, how large its body may be, how it words failures."""

from pathlib import Path

import pytest

from headwater.entrypoints.api.app import ROUTES, create_app
from headwater.entrypoints.api.router import Failed, Router
from headwater.settings import Settings
from tests.support.api_caller import Api
from tests.support.engine_parts import EngineParts


async def nothing() -> None:
    """A handler."""


def test_a_route_without_a_right_cannot_be_made() -> None:
    router = Router(tags=["tests"])
    with pytest.raises(TypeError, match="right"):
        router.get("/nothing")(nothing)  # type: ignore[call-arg]  # what is tested
    assert router.routes == []


def test_a_limit_that_is_no_setting_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="There is no setting most_bites"):
        Router(tags=["tests"]).post("/nothing", right="admin", most_bytes="most_bites")


def test_several_rights_are_said_as_they_are_and_one_alone_too() -> None:
    router = Router(tags=["tests"])
    router.get("/one", right="read")(nothing)
    router.get("/several", right=("read", "fetcher"))(nothing)
    router.get("/open", right=None)(nothing)
    rights = [route.rules.rights for route in router.routes]
    assert rights == [("read",), ("read", "fetcher"), None]


def test_what_has_limits_and_wordings_of_its_own() -> None:
    limits = {route.path: route.rules.most_bytes for route in ROUTES}
    assert {path: most for path, most in limits.items() if most != "api_max_body_bytes"} == {
        "/fetcher-results": "fetcher_report_max_bytes",
        "/internal/rss/item": "personal_item_max_bytes",
        "/internal/rss/items": "personal_batch_max_bytes",
    }
    assert [route.path for route in ROUTES if route.rules.takes_lines] == ["/internal/rss/items"]
    assert [route.path for route in ROUTES if route.rules.reader_token] == [
        "/meta/{name:path}.xml",
        "/meta/{name:path}.json",
        "/trackings/calendar.ics",
    ]


def test_a_list_that_failed_is_there_and_empty() -> None:
    assert Failed("Failed to list feeds", empty="feeds").facts == {
        "failed": "Failed to list feeds",
        "feeds": [],
    }
    assert Failed("Failed to follow").facts == {"failed": "Failed to follow"}


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_body_has_the_limit_of_its_own_route(engine: EngineParts, tmp_path: Path) -> None:
    small = Settings(data_dir=tmp_path, api_max_body_bytes=1_024, personal_item_max_bytes=2_048)
    api = Api(create_app(engine.services, small))
    usual = await api.post("/groups", {"name": "a" * 1_500})
    assert (usual.status, usual.json["most_bytes"]) == (413, 1_024)
    own = await api.post("/internal/rss/item", {"title": "a" * 1_500})
    assert own.error == "validation_error"
    larger = await api.post("/internal/rss/item", {"title": "a" * 2_500})
    assert (larger.status, larger.json["most_bytes"]) == (413, 2_048)
