"""A method that does not work somewhere is told which ones do."""

import pytest

from tests.support.api_caller import Api
from tests.support.api_routes import RIGHTS

PATHS = sorted({path for _, path in RIGHTS})
SQLITE = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


@SQLITE
@pytest.mark.parametrize(
    ("target", "works"),
    [
        ("/feeds", "GET, HEAD, POST"),
        ("/feeds/x", "DELETE, GET, HEAD, PATCH"),
        ("/feeds/x/refetch", "POST"),
        ("/healthz", "GET, HEAD"),
        ("/subscriptions/1/credentials", "DELETE, PUT"),
        ("/subscriptions/1/history", "DELETE, GET, HEAD"),
    ],
)
async def test_a_wrong_method_is_told_the_right_ones(api: Api, target: str, works: str) -> None:
    refused = await api.ask("TRACE", target)
    assert (refused.status, refused.error) == (405, "method_not_allowed")
    assert refused.headers["allow"] == works
    assert refused.json["allowed"] == works.split(", ")


@SQLITE
async def test_a_head_where_nothing_can_be_got_is_told_so(api: Api) -> None:
    refused = await api.ask("HEAD", "/feeds/x/refetch")
    assert (refused.status, refused.headers["allow"]) == (405, "POST")


@SQLITE
async def test_every_route_is_among_the_methods_of_its_path(api: Api) -> None:
    for path in PATHS:
        target = path.replace(":path", "").replace("{", "").replace("}", "")
        told = (await api.ask("TRACE", target)).headers["allow"].split(", ")
        assert {method for method, there in RIGHTS if there == path} <= set(told), path
        assert ("HEAD" in told) is ("GET" in told), path


def test_what_changes_anything_needs_an_admin_but_for_what_programs_do_themselves() -> None:
    """A row that is wrong here would open a route without a word."""
    others = {
        route: right for route, right in RIGHTS.items() if route[0] != "GET" and right != ("admin",)
    }
    assert others == {
        ("POST", "/internal/rss/item"): ("publish",),
        ("POST", "/internal/rss/items"): ("publish",),
        ("POST", "/services/register"): ("register", "fetcher"),
        ("POST", "/fetcher-results"): ("fetcher",),
        ("POST", "/fetcher-modules/{fetcher_id}/claims"): ("fetcher",),
        ("POST", "/fetcher-modules/{fetcher_id}/claims/renew"): ("fetcher",),
        ("POST", "/fetcher-modules/{fetcher_id}/heartbeat"): ("fetcher",),
    }


def test_what_can_be_read_by_more_or_by_fewer_than_read_tokens() -> None:
    others = {path: right for (verb, path), right in RIGHTS.items() if verb == "GET"}
    assert {path: right for path, right in others.items() if right != ("read",)} == {
        "/healthz": None,
        "/rss": None,
        "/atom": None,
        "/feed.json": None,
        "/opml": None,
        "/status": ("admin",),
        "/tokens": ("admin",),
        "/readers": ("admin",),
        "/readers/{reader_id}": ("admin",),
        "/readers/{reader_id}/tokens": ("admin",),
        "/readers/{reader_id}/opml": ("admin",),
        "/fetcher-modules/{fetcher_id}": ("read", "fetcher"),
        "/fetcher-modules/{fetcher_id}/subscriptions": ("read", "fetcher"),
        "/fetcher-modules/{fetcher_id}/events": ("fetcher",),
    }
