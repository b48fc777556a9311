"""Every POST takes an Idempotency-Key, and says so to programs."""

from types import CodeType
from typing import Any, cast

import pytest
from fastapi.routing import APIRoute

from headwater.core.engine import Engine
from headwater.entrypoints.api import idempotency
from headwater.entrypoints.api.app import create_app
from headwater.settings import Settings
from tests.support.api_routes import RIGHTS

# No request is made, so no engine is needed.
APP = create_app(cast(Engine, None), Settings())
PATHS: dict[str, Any] = APP.openapi()["paths"]
POSTS = [
    route for route in APP.routes if isinstance(route, APIRoute) and "POST" in (route.methods or ())
]


def headers_of(operation: dict[str, Any]) -> list[dict[str, Any]]:
    found = operation.get("parameters", [])
    return [each for each in found if each["in"] == "header" and each["name"] == "Idempotency-Key"]


@pytest.mark.parametrize("route", POSTS, ids=lambda route: route.path)
def test_a_post_declares_its_key(route: APIRoute) -> None:
    (header,) = headers_of(PATHS[route.path_format]["post"])
    assert header["required"] is False
    assert header["schema"] == {"type": "string", "minLength": 1, "maxLength": 255}
    assert "one effect" in header["description"]


def test_all_posts_are_looked_at() -> None:
    assert {route.path for route in POSTS} == {path for verb, path in RIGHTS if verb == "POST"}


def test_nothing_else_declares_one() -> None:
    others = [verbs[verb] for verbs in PATHS.values() for verb in verbs if verb != "post"]
    assert [headers_of(each) for each in others if headers_of(each)] == []


def reaches(function: Any, seen: set[str]) -> bool:
    """Whether the one way to treat keys is on a route's way, through others of its room too."""
    names, waiting = set[str](), [function.__code__]
    while waiting:
        code = waiting.pop()
        names |= set(code.co_names)
        waiting += [part for part in code.co_consts if isinstance(part, CodeType)]
    room = function.__globals__
    if any(
        room.get(name) in (idempotency.answer_idempotently, idempotency.answer_without_effect)
        for name in names
    ):
        return True
    near = [name for name in names - seen if getattr(room.get(name), "__globals__", None) is room]
    return any(reaches(room[name], seen | names) for name in near)


@pytest.mark.parametrize("route", POSTS, ids=lambda route: route.path)
def test_a_post_treats_its_key_as_all_do(route: APIRoute) -> None:
    assert reaches(route.endpoint, set())


@pytest.mark.parametrize("route", POSTS, ids=lambda route: route.path)
def test_a_post_looks_at_its_body_even_where_there_is_nothing_to_say(route: APIRoute) -> None:
    """`{"dry_run": true}` where that is not known must be refused, not done."""
    assert route.body_field is not None or route.path == "/internal/rss/items"
