"""The console over HTTP: what is served, with which headers, and nothing beside it."""

import pytest

from headwater.entrypoints.console.pages import FILES
from tests.support.api_caller import Api

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)


async def test_the_page_and_all_its_files_are_there_with_safe_headers(api: Api) -> None:
    kinds = {
        "/": "text/html; charset=utf-8",
        "/console/style.css": "text/css; charset=utf-8",
        "/console/main.js": "text/javascript; charset=utf-8",
        "/console/icon.svg": "image/svg+xml",
    }
    for target in ("/", *(f"/console/{name}" for name in FILES)):
        answer = await api.get(target)
        assert answer.status == 200, target
        assert answer.headers["content-type"] == kinds.get(target, answer.headers["content-type"])
        assert answer.headers["content-security-policy"] == POLICY
        assert "no-cache" in answer.headers["cache-control"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["etag"]
    assert b"<title>Headwater</title>" in (await api.get("/")).body


async def test_what_a_browser_has_already_is_not_sent_again(api: Api) -> None:
    first = await api.get("/console/main.js")
    again = await api.get("/console/main.js", if_none_match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    other = await api.get("/console/dom.js", if_none_match=first.headers["etag"])
    assert other.status == 200


async def test_head_is_get_without_its_body(api: Api) -> None:
    for target in ("/", "/console/style.css"):
        whole, head = await api.get(target), await api.ask("HEAD", target)
        assert (head.status, head.body) == (200, b"")
        assert head.headers["content-type"] == whole.headers["content-type"]
        assert head.headers["etag"] == whole.headers["etag"]


async def test_nothing_can_be_done_to_a_file(api: Api) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        refused = await api.ask(method, "/console/main.js")
        assert (refused.status, refused.error) == (405, "method_not_allowed")
        assert refused.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "target",
    [
        "/console/",
        "/console",
        "/console/nothing.js",
        "/console/main.js/",
        "/console/MAIN.JS",
        "/console/pages.py",
        "/console/__init__.py",
        "/console/..%2fpages.py",
        "/console/../pages.py",
        "/console/%2e%2e/pages.py",
        "/console/%2e%2e%2fpages.py",
        "/console/..%5cpages.py",
        "/console/....//pages.py",
        "/console//etc/passwd",
        "/console/%2fetc%2fpasswd",
        "/console/main.js%00",
        "/console/main.js%00.css",
        "/console/static/main.js",
        "/console/C:%5cwindows%5cwin.ini",
        "//console/main.js",
        "/index.html",
        "/main.js",
        "/favicon.ico",
    ],
)
async def test_161_only_names_in_the_table_are_served(api: Api, target: str) -> None:
    answer = await api.get(target)
    assert (answer.status, answer.error) == (404, "not_found")
    assert "location" not in answer.headers
