"""Who may open the console, and how: a token as programs show it, or as a browser's password."""

import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.api_caller import Answer, Api
from tests.support.logins import ADMIN, Shown, basic, bearer
from tests.support.service import environment, service

SQLITE = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
BOTH_WAYS = pytest.mark.parametrize("shown", [bearer, basic])

PAGES = ("/", "/console/main.js", "/console/style.css")
LATER = b'{"url":"https://a.example/feed","visit":"later"}'


async def ask(api: Api, target: str, login: str | None, **headers: str) -> Answer:
    said = {"authorization": login} if login else {}
    return await api.ask("GET", target, headers=said | headers)


async def made_tokens(api: Api) -> dict[str, str]:
    """One of each kind there is, by its name."""
    admin = Api(api.app, ADMIN)
    tokens = {}
    for scope in ("read", "admin", "publish", "register"):
        made = await admin.post("/tokens", {"name": scope, "scope": scope})
        tokens[scope] = str(made.json["token"])
    joined = {"service_name": "scraper", "base_url": "https://scraper.example"}
    tokens["fetcher"] = str((await admin.post("/services/register", joined)).json["token"])
    reader = (await admin.post("/readers", {"name": "Ada"})).json["id"]
    made = await admin.post(f"/readers/{reader}/tokens")
    tokens["reader"] = str(made.json["token"])
    return tokens


@SQLITE
@BOTH_WAYS
async def test_154_each_kind_of_token_opens_what_it_should(
    guarded: Callable[..., Api], shown: Shown
) -> None:
    api = guarded()
    tokens = await made_tokens(api)
    opened = {}
    for name, token in {"the": ADMIN, "wrong": "hw_wrong", **tokens}.items():
        statuses = {(await ask(api, page, shown(token))).status for page in PAGES}
        (opened[name],) = statuses
    assert opened == {
        "the": 200,
        "admin": 200,
        "read": 200,
        "publish": 403,
        "register": 403,
        "fetcher": 403,
        "reader": 401,
        "wrong": 401,
    }


@SQLITE
@BOTH_WAYS
async def test_a_token_that_reads_looks_and_changes_nothing(
    guarded: Callable[..., Api], shown: Shown
) -> None:
    api = guarded()
    login = {"authorization": shown((await made_tokens(api))["read"])}
    assert (await api.ask("GET", "/feeds", headers=login)).status == 200
    assert (await api.ask("GET", "/metrics", headers=login)).status == 200
    for method, target, body in (
        ("GET", "/status", b""),
        ("POST", "/feeds", LATER),
        ("DELETE", "/feeds/01900000-0000-7000-8000-000000000001", b""),
    ):
        refused = await api.ask(method, target, body, login)
        assert (refused.status, refused.error) == (403, "forbidden")
        assert refused.json["message"] == "This token has the scope read; admin is needed."


@SQLITE
async def test_only_the_console_asks_a_browser_to_log_in(guarded: Callable[..., Api]) -> None:
    """A window that opens because of a request that some page made would be a trap."""
    api = guarded()
    for target in (*PAGES, "/console/nothing.js"):
        for login in (None, basic("hw_wrong"), bearer("hw_wrong")):
            refused = await ask(api, target, login)
            assert (refused.status, refused.error) == (401, "unauthorized")
            assert refused.headers["www-authenticate"] == 'Basic realm="Headwater"'
            assert "as password" in refused.json["message"]
    for target in ("/feeds", "/docs", "/events/stream", "/nothing", "/console", "/console/a/b"):
        refused = await ask(api, target, basic("hw_wrong"))
        assert (refused.status, refused.error) == (401, "unauthorized")
        assert refused.headers["www-authenticate"] == 'Bearer realm="headwater"'


@SQLITE
async def test_any_name_will_do(guarded: Callable[..., Api]) -> None:
    api = guarded()
    for name in ("", "admin", "Ada Lovelace", "ädä", "a" * 300):
        assert (await ask(api, "/", basic(ADMIN, name))).status == 200


@SQLITE
async def test_odd_logins_open_nothing(guarded: Callable[..., Api]) -> None:
    api = guarded()
    good = basic(ADMIN).removeprefix("Basic ")
    for login in (
        "Basic",
        "Basic ",
        "Basic !!!!",
        f"Basic {ADMIN}",
        f"Basic {good[:-2]}",
        f"Basic {good} {good}",
        f"Basic {good}\u00ff",
        f"Digest {good}",
        basic(""),
        basic(f"b:{ADMIN}"),
        basic(ADMIN, "a" * 5_000),
        basic("x" * 513),
        "Basic " + b64encode(ADMIN.encode()).decode(),
        "Basic " + b64encode(b"\xff\xfe:" + ADMIN.encode()).decode(),
        "Basic " + "QQ" * 50_000,
    ):
        assert (await ask(api, "/", login)).status == 401, login[:60]
        assert (await ask(api, "/feeds", login)).status == 401, login[:60]
    twice = [("authorization", basic(ADMIN)), ("authorization", basic(ADMIN))]
    assert (await api.ask("GET", "/", headers=twice)).status == 401
    assert (await ask(api, "/", f"bAsIc   {good}")).status == 200


@SQLITE
async def test_172_guessing_passwords_is_slowed_down_and_locks_nobody_out(
    guarded: Callable[..., Api],
) -> None:
    api = guarded(api_rate_per_minute=5)
    tried = [(await ask(api, "/", basic(f"hw_guess{n}"))).status for n in range(7)]
    assert tried == [401] * 5 + [429] * 2
    assert (await ask(api, "/", basic(ADMIN))).status == 200
    assert (await ask(api, "/feeds", bearer("hw_guess"))).status == 429


@SQLITE
async def test_157_a_page_elsewhere_cannot_use_the_login_that_a_browser_remembers(
    guarded: Callable[..., Api],
) -> None:
    api = guarded()
    login = {"authorization": basic(ADMIN)}
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        refused = await api.ask("POST", "/feeds", LATER, login | headers)
        assert (refused.status, refused.error) == (403, "forbidden")
    foreign = await api.ask("GET", "/", headers=login | {"host": "evil.example"})
    assert (foreign.status, foreign.error) == (421, "misdirected_request")
    own = {"origin": "http://127.0.0.1:8470", "sec-fetch-site": "same-origin"}
    assert (await api.ask("POST", "/feeds", LATER, login | own)).status == 201


@SQLITE
async def test_without_an_admin_token_the_console_is_open_to_this_machine_alone(api: Api) -> None:
    assert (await api.get("/")).status == 200
    refused = await Api(api.app, peer="203.0.113.9").get("/")
    assert (refused.status, refused.error) == (403, "forbidden")


def status_of(url: str, login: str) -> int:
    asked = urllib.request.Request(url, headers={"Authorization": login})
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code


def test_144_no_password_is_ever_written_to_the_log(tmp_path: Path) -> None:
    planted = "a-wrong-token-that-somebody-typed"
    env = environment(tmp_path / "data", HEADWATER_ADMIN_TOKEN=ADMIN, HEADWATER_LOG_LEVEL="debug")
    with service(env) as running:
        assert status_of(f"{running.url}/", basic(ADMIN)) == 200
        assert status_of(f"{running.url}/console/main.js", basic(planted)) == 401
        assert status_of(f"{running.url}/feeds", basic(planted)) == 401
        ended = running.stop()
    said = "\n".join([*running.greeting, ended.out, ended.err])
    assert f"  console     {running.url}/   (any name, a token as password)" in running.greeting
    for secret in (ADMIN, planted, basic(ADMIN)[6:], basic(planted)[6:]):
        assert secret not in said
