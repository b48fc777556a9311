"""Every POST takes an Idempotency-Key, and says so to programs."""

from typing import Any, cast
from unittest.mock import Mock

import pytest
from fastapi.routing import APIRoute

from headwater.entrypoints.api.app import create_app
from headwater.entrypoints.api.idempotency import IdempotencyKey, shown_once_fields
from headwater.entrypoints.api.records import Record
from headwater.entrypoints.api.router import IdempotentRoute, Router
from headwater.settings import Settings
from headwater.wiring.services import Services
from tests.support.api_routes import RIGHTS

# No request is made, so no engine is needed.
APP = create_app(Mock(spec=Services), Settings())
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


@pytest.mark.parametrize("route", POSTS, ids=lambda route: route.path)
def test_a_post_treats_its_key_as_all_do(route: APIRoute) -> None:
    assert isinstance(route, IdempotentRoute)


def test_what_is_shown_once_stands_where_it_is_taken_out_of_the_answer_that_is_kept() -> None:
    """A secret deeper inside a record, or in the answer of another method, would be kept."""
    answers = {route.response_model for route in POSTS}
    marked = {record for record in subclasses(Record) if shown_once_fields(record)}
    assert {record.__name__ for record in marked} == {
        "JoinedFetcherRecord",
        "NewReaderTokenRecord",
        "NewTokenRecord",
        "RotatedTokenRecord",
        "SecretSinkRecord",
    }
    assert marked <= answers


def subclasses(base: type[Record]) -> set[type[Record]]:
    direct = set(base.__subclasses__())
    return direct.union(*(subclasses(each) for each in direct))


def test_an_answer_about_an_effect_needs_nothing_that_the_request_does_not_have() -> None:
    """A parameter of `again` that is neither in the path nor a dependency would be a query's."""
    agains = [cast(IdempotentRoute, route).route_again for route in POSTS]
    asked = {again.path: again.dependant.query_params for again in agains if again is not None}
    assert len(asked) == 27
    assert {path: names for path, names in asked.items() if names} == {}


async def tied(key: IdempotencyKey) -> None:
    """A handler whose effect is tied to its key."""


def test_an_effect_that_is_tied_to_its_key_needs_an_answer_about_it() -> None:
    with pytest.raises(TypeError, match="needs `again`"):
        Router(tags=["tests"]).post("/tied", right="admin")(tied)


@pytest.mark.parametrize("route", POSTS, ids=lambda route: route.path)
def test_a_post_looks_at_its_body_even_where_there_is_nothing_to_say(route: APIRoute) -> None:
    """`{"dry_run": true}` where that is not known must be refused, not done."""
    assert route.body_field is not None or route.path == "/internal/rss/items"
