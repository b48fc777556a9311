"""docs/api.md has every route with its parameters, and every error code."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest
from fastapi.routing import APIRoute

from headwater.core.errors import HeadwaterError
from headwater.entrypoints.api import errors as refusals
from headwater.entrypoints.api.app import create_app
from headwater.settings import Settings
from headwater.wiring.services import Services
from tests.support.docs_pages import page, rows

TEXT = page("docs/api.md")
HTTP = frozenset({"GET", "POST", "PATCH", "PUT", "DELETE"})


def api_routes(router: Any) -> Iterator[APIRoute]:
    """Also those of routers inside routers."""
    for route in router.routes:
        if isinstance(route, APIRoute):
            yield route
        elif (inside := getattr(route, "original_router", None)) is not None:
            yield from api_routes(inside)


# No request is made, so no engine is needed.
APP = create_app(Mock(spec=Services), Settings())
ROUTES = {
    f"{method} {route.path.replace(':path', '')}": route
    for route in api_routes(APP)
    for method in HTTP & (route.methods or set())
}


def test_the_routes_seen_here_are_the_routes_described() -> None:
    paths = APP.openapi()["paths"].items()
    described = {f"{verb.upper()} {path}" for path, verbs in paths for verb in verbs}
    assert described == ROUTES.keys()
    assert "GET /healthz" in described


def section(route: str) -> str:
    start = TEXT.find(f"\n### {route}\n")
    assert start >= 0, f"docs/api.md has no heading for {route}"
    end = TEXT.find("\n#", start + 1)
    return TEXT[start : end if end > 0 else None]


@pytest.mark.parametrize("route", ROUTES)
def test_a_route_is_documented_with_its_parameters(route: str) -> None:
    said = section(route)
    parameters = [field.alias for field in ROUTES[route].dependant.query_params]
    assert [name for name in parameters if f"`{name}`" not in said] == []


def test_no_route_is_documented_that_does_not_exist() -> None:
    headings = {line.removeprefix("### ") for line in TEXT.splitlines() if line.startswith("### ")}
    routes = {head for head in headings if head.partition(" ")[0] in HTTP}
    assert routes - ROUTES.keys() == set()


def errors(kind: type[HeadwaterError]) -> Iterator[type[HeadwaterError]]:
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ in {"headwater.core.errors", refusals.__name__}:
            yield from errors(child)


@pytest.mark.parametrize("kind", list(errors(HeadwaterError)), ids=lambda kind: kind.code)
def test_an_error_code_is_documented_with_its_status(kind: type[HeadwaterError]) -> None:
    documented = rows("docs/api.md")
    assert kind.code in documented, f"docs/api.md has no row for {kind.code}"
    assert documented[kind.code][0] == str(kind.status)


def test_every_field_of_a_record_is_named() -> None:
    schemas: dict[str, Any] = APP.openapi()["components"]["schemas"]
    records = ("FeedRecord", "EntryRecord", "RawFetchRecord", "ScheduleRecord", "OverridesRecord")
    fields = {field for name in records for field in schemas[name]["properties"]}
    assert sorted(field for field in fields if f"`{field}`" not in TEXT) == []
