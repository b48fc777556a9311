"""Claims and results over HTTP: who may, what is refused, and that a refusal has no effect."""

from base64 import b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.auth.token_rows import insert_token
from headwater.auth.tokens import token_hash
from headwater.entrypoints.api.app import create_app
from headwater.feeds.keyring import Credentials
from headwater.settings import load_settings
from headwater.subscriptions import secret_rows
from headwater.subscriptions.fetchers import remote_work
from headwater.subscriptions.fetchers.fetcher import Fetcher
from headwater.subscriptions.seal_credentials import seal_for_subscription
from tests.support.api_caller import Answer, Api
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.origin import Post, rss
from tests.support.remote_fetcher import Remote

URL = "https://sources.example/list?token=a-secret"
ADMIN = "an-admin-token-of-the-tests"
RSS = rss([Post("g1", "First")]).decode()


@pytest.fixture
def open_api(engine: EngineParts, tmp_path: Path) -> Callable[..., Api]:
    def app(token: str | None = ADMIN, **settings: Any) -> Api:
        chosen = load_settings(data_dir=tmp_path, admin_token=ADMIN, **settings)
        return Api(create_app(engine.services, chosen), token)

    return app


@pytest.fixture
def api(open_api: Callable[..., Api]) -> Api:
    return open_api()


@pytest.fixture
def token_of(engine: EngineParts) -> Callable[[Fetcher], Awaitable[str]]:
    """A fetcher's own token."""

    async def issued(fetcher: Fetcher) -> str:
        text = f"hw_{fetcher.name}"
        async with engine.database.write() as tx:
            token = await insert_token(
                tx, fetcher.name, "fetcher", token_hash(text), engine.clock.now()
            )
            await tx.run(
                "UPDATE fetcher_modules SET token_id = ? WHERE fetcher_id = ?", token.id, fetcher.id
            )
        return text

    return issued


async def claimed(api: Api, fetcher: Fetcher) -> dict[str, Any]:
    (work,) = (await api.post(f"/fetcher-modules/{fetcher.id}/claims", {})).json["claims"]
    return dict(work)


def of(work: dict[str, Any]) -> dict[str, Any]:
    return {name: work[name] for name in ("subscription_id", "scheduled_at", "fence")}


async def send(api: Api, work: dict[str, Any], **said: Any) -> Answer:
    return await api.post("/fetcher-results", of(work) | said)


async def test_claim_report_and_claim_again_over_http(api: Api, remote: Remote) -> None:
    fetcher = await remote.fetcher()
    made = await remote.subscribe(fetcher, URL, config='{"city":"Ghent"}')
    page = (await api.post(f"/fetcher-modules/{fetcher.id}/claims", {"limit": 5})).json
    assert page["claims"] == [
        {
            "subscription_id": made.id,
            "feed_id": made.feed_id,
            "source_url": URL,
            "source_type": "rss",
            "name": None,
            "config": '{"city":"Ghent"}',
            "scheduled_at": "2026-01-05T12:00:00Z",
            "fence": 1,
            "lease_until": "2026-01-05T12:02:00Z",
            "not_before": None,
            "validators": {"etag": None, "last_modified": None},
            "headers": [],
            "interval_sec": 900,
        }
    ]
    document = {"text": RSS, "content_type": "application/rss+xml", "etag": '"v1"'}
    answer = await send(api, page["claims"][0], outcome="fetched", document=document)
    assert answer.status == 200
    assert answer.json["outcome"] == "fetched"
    assert (answer.json["new_entries"], answer.json["entries_in_document"]) == (1, 1)
    assert answer.json["next_visit_at"] > "2026-01-05T12:00:00Z"
    again = await send(api, page["claims"][0], outcome="fetched", document=document)
    assert again.json == answer.json
    await remote.due_again()
    assert (await claimed(api, fetcher))["validators"]["etag"] == '"v1"'


async def test_credentials_come_with_the_claim_and_nowhere_else(
    api: Api, remote: Remote, engine: EngineParts
) -> None:
    fetcher = await remote.fetcher()
    made = await remote.subscribe(fetcher, "https://private.example/feed")
    hidden = Credentials(origins=("https://private.example",), bearer="a-bearer-token")
    async with engine.database.write() as tx:
        sealed = seal_for_subscription(engine.vault, made.id, hidden)
        await secret_rows.set_subscription_secret(tx, made.id, sealed, engine.clock.now())
    work = await claimed(api, fetcher)
    assert work["headers"] == [["Authorization", "Bearer a-bearer-token"]]


async def test_a_fetchers_token_opens_its_own_work_and_no_other(
    open_api: Callable[..., Api], remote: Remote, token_of: Callable[[Fetcher], Awaitable[str]]
) -> None:
    owner, other = await remote.fetcher("owner"), await remote.fetcher("other")
    made = await remote.subscribe(owner, URL)
    own, stranger = open_api(await token_of(owner)), open_api(await token_of(other))
    nobody = open_api(None)
    for path in ("claims", "claims/renew", "events"):
        target = f"/fetcher-modules/{owner.id}/{path}"
        method = "GET" if path == "events" else "POST"
        assert (await nobody.ask(method, target)).status == 401
        assert (await stranger.ask(method, target)).status == 403
    work = await claimed(own, owner)
    refused = await send(stranger, work, outcome="unchanged")
    assert (refused.status, refused.error) == (404, "not_found")
    pretending = await send(stranger, work, outcome="unchanged", fetcher_id=owner.id)
    assert (pretending.status, pretending.error) == (403, "forbidden")
    unclaimed = {"subscription_id": made.id, "outcome": "unchanged"}
    assert (await stranger.post("/fetcher-results", unclaimed)).status == 404
    assert (await nobody.post("/fetcher-results", unclaimed)).status == 401
    assert await remote.rows("SELECT * FROM visits") == []
    assert (await send(own, work, outcome="gone")).json["outcome"] == "gone"
    assert (await own.get("/feeds")).status == 403


async def test_an_admin_may_speak_for_any_fetcher(api: Api, remote: Remote) -> None:
    fetcher = await remote.fetcher()
    made = await remote.subscribe(fetcher, URL)
    said = {"subscription_id": made.id, "outcome": "failed", "status": 404}
    assert (await api.post("/fetcher-results", said)).json["error"] == "http_404"
    assert (await api.post("/fetcher-modules/999/claims", {})).status == 404
    assert (await api.post("/fetcher-results", said | {"subscription_id": 999})).status == 404


async def test_built_in_fetchers_have_no_work_for_others(api: Api) -> None:
    answer = await api.post("/fetcher-modules/1/claims", {})
    assert (answer.status, answer.error) == (403, "forbidden")


async def test_a_lost_claim_is_409_and_a_renewed_one_is_not(
    api: Api, remote: Remote, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher()
    made = await remote.subscribe(fetcher, URL)
    work = await claimed(api, fetcher)
    await virtual_clock.advance(100)
    renewed = await api.post(f"/fetcher-modules/{fetcher.id}/claims/renew", {"claims": [of(work)]})
    assert renewed.json == {
        "renewed": [made.id],
        "lost": [],
        "lease_until": "2026-01-05T12:03:40Z",
    }
    await virtual_clock.advance(121)
    late = await send(api, work, outcome="unchanged")
    assert (late.status, late.error) == (409, "stale_claim")
    stale = {**work, "fence": work["fence"] - 1}
    assert (await send(api, stale, outcome="unchanged")).status == 409


async def test_nobody_holds_more_or_longer_than_the_settings_say(
    open_api: Callable[..., Api], remote: Remote
) -> None:
    fetcher = await remote.fetcher()
    for number in range(4):
        await remote.subscribe(fetcher, f"https://source{number}.example/")
    few = open_api(fetcher_claims_max=2, fetcher_lease_max_seconds=30)
    page = await few.post(
        f"/fetcher-modules/{fetcher.id}/claims", {"limit": 100, "lease_seconds": 86_400}
    )
    assert [each["lease_until"] for each in page.json["claims"]] == ["2026-01-05T12:00:30Z"] * 2


async def test_a_key_makes_a_report_without_a_claim_happen_once(api: Api, remote: Remote) -> None:
    fetcher = await remote.fetcher()
    made = await remote.subscribe(fetcher, URL)
    said = {
        "subscription_id": made.id,
        "outcome": "fetched",
        "entries": [{"id": "1", "title": "One"}],
    }
    first = await api.post("/fetcher-results", said, idempotency_key="k1")
    again = await api.post("/fetcher-results", said, idempotency_key="k1")
    assert (first.status, again.json) == (200, first.json)
    assert again.headers["idempotent-replayed"] == "true"
    assert len(await remote.rows("SELECT * FROM visits")) == 1


async def test_a_report_that_a_crash_cut_short_is_finished_by_its_repetition(
    api: Api, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim was made and remembered; the service died before the visit was."""
    fetcher = await remote.fetcher()
    made = await remote.subscribe(fetcher, URL)
    said = {"subscription_id": made.id, "outcome": "fetched", "document": {"text": RSS}}

    async def dies(*_: Any, **__: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as dying:
        dying.setattr(remote_work, "record_visit", dies)
        with pytest.raises(SystemExit):
            await api.post("/fetcher-results", said, idempotency_key="k1")
    answer = await api.post("/fetcher-results", said, idempotency_key="k1")
    assert (answer.status, answer.json["new_entries"]) == (200, 1)
    assert len(await remote.rows("SELECT * FROM visits")) == 1


MALFORMED: dict[str, dict[str, Any]] = {
    "no outcome": {},
    "unknown outcome": {"outcome": "lost"},
    "nothing fetched": {"outcome": "fetched"},
    "two documents": {"outcome": "fetched", "document": {"text": "x"}, "entries": []},
    "a document beside a failure": {"outcome": "failed", "document": {"text": "x"}},
    "unknown field": {"outcome": "gone", "why": "because"},
    "unknown code": {"outcome": "failed", "code": "meteor"},
    "no base64": {"outcome": "fetched", "raw": {"body_base64": "*not base64*"}},
    "a status that is none": {"outcome": "fetched", "raw": {"body_base64": "", "status": 99}},
    "a header with a line break": {
        "outcome": "fetched",
        "raw": {"body_base64": "", "headers": [["X-A", "b\r\nSet-Cookie: c"]]},
    },
    "a header name with a space": {
        "outcome": "fetched",
        "raw": {"body_base64": "", "headers": [["X A", "b"]]},
    },
    "too many headers": {
        "outcome": "fetched",
        "raw": {"body_base64": "", "headers": [["X", "y"]] * 129},
    },
    "a place that is no web page": {
        "outcome": "fetched",
        "document": {"text": "x", "url": "file:///etc/passwd"},
    },
    "an etag with a line break": {
        "outcome": "fetched",
        "document": {"text": "x", "etag": '"a"\r\nX: y'},
    },
    "an entry without an id": {"outcome": "fetched", "entries": [{"title": "A"}]},
    "an entry with another shape": {"outcome": "fetched", "entries": [{"id": "1", "tags": "x"}]},
    "a file that never ends": {
        "outcome": "fetched",
        "entries": [
            {
                "id": "1",
                "attachments": [{"url": "https://a.example/", "duration_in_seconds": 1e300}],
            }
        ],
    },
    "text as a fence": {"outcome": "gone", "fence": "1"},
    "a fence alone": {"outcome": "gone", "scheduled_at": None},
    "a moment that is none": {"outcome": "gone", "scheduled_at": "yesterday"},
    "a rest of minus one": {"outcome": "throttled", "retry_after_sec": -1},
    "a rest beside gone": {"outcome": "gone", "retry_after_sec": 5},
    "an endless visit": {"outcome": "gone", "elapsed_ms": 10**12},
}


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
@pytest.mark.parametrize("case", MALFORMED)
async def test_a_malformed_report_is_refused_and_the_claim_stays(
    case: str, api: Api, remote: Remote
) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    work = await claimed(api, fetcher)
    refused = await send(api, work, **MALFORMED[case])
    assert refused.status == 422
    assert await remote.rows("SELECT * FROM visits") == []
    assert (await send(api, work, outcome="failed", code="timeout")).status == 200


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_reports_have_a_limit_of_their_own_and_documents_the_usual_one(
    open_api: Callable[..., Api], remote: Remote, engine: EngineParts
) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    api = open_api(api_max_body_bytes=2_048, fetcher_report_max_bytes=40_000_000)
    work = await claimed(api, fetcher)
    most = engine.reading.max_bytes
    for said in (
        {"document": {"text": "x" * (most + 1)}},
        {"document": {"text": "é" * (most // 2 + 1)}},
        {"raw": {"body_base64": b64encode(bytes(most + 1)).decode()}},
    ):
        refused = await send(api, work, outcome="fetched", **said)
        assert (refused.status, refused.error) == (413, "body_too_large")
    small = open_api(fetcher_report_max_bytes=2_000)
    refused = await send(small, work, outcome="fetched", document={"text": "x" * 3_000})
    assert (refused.status, refused.error) == (413, "body_too_large")
    large = RSS.replace("</channel>", "<!-- " + "-x" * 20_000 + " --></channel>")
    kept = await send(api, work, outcome="fetched", document={"text": large})
    assert (kept.status, kept.json["new_entries"]) == (200, 1)
    elsewhere = await api.post("/feeds", {"url": "https://a.example/" + "x" * 3_000})
    assert (elsewhere.status, elsewhere.error) == (413, "body_too_large")


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_deep_and_unstorable_json_is_refused_like_everywhere(
    api: Api, remote: Remote
) -> None:
    fetcher = await remote.fetcher()
    made = await remote.subscribe(fetcher, URL)
    head = f'{{"subscription_id": {made.id}, "outcome": "failed", "detail": '.encode()
    for tail in (b'"a\\u0000b"}', b'"\\ud800"}', b"[" * 100 + b"]" * 100 + b"}", b'"x"'):
        headers = {"content-type": "application/json"}
        refused = await api.ask("POST", "/fetcher-results", head + tail, headers)
        assert (refused.status, refused.error) == (422, "validation_error")
    padded = head + b'"' + b" " * 2_000_000 + b'\\u0000"}'
    refused = await api.ask(
        "POST", "/fetcher-results", padded, {"content-type": "application/json"}
    )
    assert refused.status == 422


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_entries_of_a_report_are_entries_like_any_other(api: Api, remote: Remote) -> None:
    fetcher = await remote.fetcher()
    made = await remote.subscribe(fetcher, URL)
    entry = {
        "id": "n-1",
        "url": "https://sources.example/n/1",
        "title": "Rain",
        "content_html": "<p>Bring a coat.</p>",
        "date_published": "2026-01-04T08:30:00+01:00",
        "authors": [{"name": "Ada"}],
        "tags": ["weather"],
        "attachments": [{"url": "https://sources.example/1.torrent"}],
    }
    said = {
        "subscription_id": made.id,
        "outcome": "fetched",
        "entries": [entry],
        "feed": {"title": "Sources", "home_page_url": "https://sources.example/"},
    }
    assert (await api.post("/fetcher-results", said)).json["new_entries"] == 1
    (kept,) = (await api.get(f"/feeds/{made.feed_id}/entries")).json["entries"]
    assert (kept["entry_uid"], kept["title"]) == ("n-1", "Rain")
    assert kept["published"] == "2026-01-04T07:30:00Z"
    assert kept["categories"] == ["weather"]
    assert kept["enclosures"][0]["url"] == "https://sources.example/1.torrent"
    feed = (await api.get(f"/feeds/{made.feed_id}")).json
    assert (feed["type"], feed["title"]) == ("json", "Sources")
    raw = await api.get(f"/raw/{kept['raw_refs'][0]['fetch_id']}")
    assert orjson.loads(raw.body)["version"] == "https://jsonfeed.org/version/1.1"
