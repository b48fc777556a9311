"""The builder's kit: a fetcher hears only what is signed, works, reports, and comes back."""

import http.client
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from headwater.core.values.signature import sign
from headwater.entrypoints.api.subscriptions.work_records import ClaimIn, RenewIn
from headwater.sdk import fetcher as kit
from headwater.sdk.client import About, Client, Identity, Refusal, Unreachable
from headwater.sdk.fetcher import Entries, Failed, Fetcher, News, Question, Raw, Result, Work
from headwater.sdk.listener import MOST_BYTES, FetcherListener
from tests.support.docs_pages import page
from tests.support.service import RSS, Origin, Service, environment, origin_server, until

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "remote_fetcher" / "main.py"
KEY = bytes(range(32))
ADMIN = "an-admin-token-of-the-tests"
LINKS = b"https://a.example/one The first link\nhttps://a.example/two The second link\n"


@pytest.fixture
def ear() -> Iterator[FetcherListener]:
    heard: list[News] = []
    listening = FetcherListener(
        "127.0.0.1", 0, lambda question: "yes" in question.source_url, heard.append
    )
    listening.heard = heard  # type: ignore[attr-defined]
    listening.key = KEY
    listening.start()
    yield listening
    listening.stop()


def said_to(
    ear: FetcherListener, path: str, body: bytes, headers: dict[str, str] | None = None, **how: Any
) -> tuple[int, Any]:
    """Posted over real HTTP, signed as Headwater signs it unless headers are given."""
    if headers is None:
        at = how.get("at", datetime.now(UTC))
        headers = dict(sign(how.get("key", KEY), how.get("message_id", "msg_1"), at, body))
    connection = http.client.HTTPConnection("127.0.0.1", ear.port, timeout=20)
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
    finally:
        connection.close()


def question(url: str) -> bytes:
    return orjson.dumps({"source_url": url, "source_type": "rss"})


def news(seq: int) -> bytes:
    said = {"seq": seq, "id": f"event-{seq}", "type": "subscription_created", "at": "now"}
    return orjson.dumps({**said, "feed_id": None, "payload": {}})


CAN_HANDLE = "/can-handle-subscription"


def test_a_signed_question_is_answered_with_yes_or_204(ear: FetcherListener) -> None:
    assert said_to(ear, CAN_HANDLE, question("https://yes.example/")) == (200, {"can_handle": True})
    assert said_to(ear, CAN_HANDLE, question("https://no.example/")) == (204, None)


def test_what_headwater_did_not_sign_is_not_looked_at(ear: FetcherListener) -> None:
    body = question("https://yes.example/")
    good = dict(sign(KEY, "msg_1", datetime.now(UTC), body))
    old = datetime.now(UTC) - timedelta(minutes=6)
    assert said_to(ear, CAN_HANDLE, body, {})[0] == 401
    assert said_to(ear, CAN_HANDLE, body, key=bytes(32))[0] == 401
    assert said_to(ear, CAN_HANDLE, body, at=old)[0] == 401
    assert said_to(ear, CAN_HANDLE, body + b" ", good)[0] == 401
    assert said_to(ear, CAN_HANDLE, body, good | {"webhook-id": "msg_2"})[0] == 401
    ear.key = None
    assert said_to(ear, CAN_HANDLE, body, good)[0] == 503


def test_news_told_twice_is_heard_once(ear: FetcherListener) -> None:
    for message_id in ("event-1", "event-1", "event-2", "event-1"):
        number = int(message_id[-1])
        assert said_to(ear, "/subscriptions", news(number), message_id=message_id) == (204, None)
    heard: list[News] = ear.heard  # type: ignore[attr-defined]
    assert [each.seq for each in heard] == [1, 2]


def test_bodies_that_are_too_large_or_make_no_sense_are_refused(ear: FetcherListener) -> None:
    assert said_to(ear, CAN_HANDLE, b"x" * (MOST_BYTES + 1))[0] == 413
    assert said_to(ear, CAN_HANDLE, b"not json")[0] == 400
    assert said_to(ear, "/subscriptions", b"[]")[0] == 400
    assert said_to(ear, "/elsewhere", b"{}")[0] == 404


@pytest.mark.parametrize("trouble", [KeyError("city"), ValueError("not today")])
def test_a_builders_own_trouble_is_an_answer_and_a_line_in_the_log(
    trouble: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def stumble(_: object) -> bool:
        raise trouble

    stumbling = FetcherListener("127.0.0.1", 0, stumble, stumble)
    stumbling.key = KEY
    stumbling.start()
    try:
        body = question("https://yes.example/")
        assert said_to(stumbling, CAN_HANDLE, body) == (500, {"error": "fetcher_error"})
        assert said_to(stumbling, "/subscriptions", news(1)) == (500, {"error": "fetcher_error"})
    finally:
        stumbling.stop()
    assert [record.getMessage() for record in caplog.records] == [
        "/can-handle-subscription could not be answered",
        "/subscriptions could not be answered",
    ]
    assert [record.exc_info[1] for record in caplog.records if record.exc_info] == [trouble] * 2


def test_nobody_at_home_is_told_as_such() -> None:
    with pytest.raises(Unreachable):
        Client("http://127.0.0.1:9").heartbeat(1)


@pytest.fixture(scope="module")
def origin() -> Iterator[Origin]:
    with origin_server() as serving:
        yield serving


@contextmanager
def running_service(folder: Path, origin: Origin) -> Iterator[Service]:
    env = environment(folder, origin)
    env |= {
        "HEADWATER_ADMIN_TOKEN": ADMIN,
        "HEADWATER_ALLOW_ADDRESSES": "127.0.0.0/8",
        "SCHED_INITIAL_INTERVAL_SEC": "1",
        "SCHED_MIN_INTERVAL_SEC": "1",
        "SCHED_MAX_INTERVAL_SEC": "2",
        "SCHED_JITTER_RATIO": "0",
    }
    running = Service(env)
    try:
        yield running
    finally:
        running.kill()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, origin: Origin) -> Iterator[Service]:
    """One for all tests here: starting it takes longer than they do."""
    with running_service(tmp_path_factory.mktemp("headwater"), origin) as running:
        yield running


def post(service: Service, path: str, said: dict[str, Any]) -> Any:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {ADMIN}"}
    request = urllib.request.Request(service.url + path, orjson.dumps(said), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def register_token(service: Service) -> str:
    """What a builder gets from the operator."""
    token: str = post(service, "/tokens", {"name": "builder", "scope": "register"})["token"]
    return token


def titles(service: Service, feed_id: str) -> list[str]:
    _, page = service.get(f"/feeds/{feed_id}/entries", ADMIN)
    return sorted(entry["title"] for entry in page["entries"])


@contextmanager
def example(service: Service, token: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The example fetcher as a process of its own, once it has joined."""
    process = subprocess.Popen(
        [sys.executable, str(EXAMPLE), "--headwater", service.url, "--port", "0", *options],
        env={**os.environ, "HEADWATER_TOKEN": token},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        assert "joined as fetcher" in process.stderr.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_example_follows_what_headwater_alone_cannot(
    service: Service, origin: Origin, tmp_path: Path
) -> None:
    state = tmp_path / "links.json"
    origin.pages["/links.txt"] = ("text/plain", LINKS)
    source = {"source_url": origin.url("/links.txt"), "source_type": "links"}
    token = register_token(service)
    with example(service, token, "--state", str(state)) as process:
        made = post(service, "/subscriptions", source | {"config": {"title": "Good links"}})
        assert (made["source_type"], made["auto_selected"]) == ("links", True)
        found = until(lambda: titles(service, made["feed_id"]))
        assert found == ["The first link", "The second link"]
        origin.pages["/links.txt"] = ("text/plain", LINKS + b"https://a.example/3 A third\n")
        until(lambda: "A third" in titles(service, made["feed_id"]))
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    kept = state.read_text()
    origin.pages["/links.txt"] = ("text/plain", LINKS + b"https://a.example/4 A fourth\n")
    with example(service, token, "--state", str(state)):
        until(lambda: "A fourth" in titles(service, made["feed_id"]))
    assert state.read_text() == kept
    _, page = service.get(f"/feeds/{made['feed_id']}/visits", ADMIN)
    assert {visit["worker"].partition("#")[0] for visit in page["visits"]} == {
        f"fetcher:{made['fetcher_id']}"
    }


def test_work_of_a_fetcher_that_died_is_done_by_the_next(service: Service, origin: Origin) -> None:
    with example(service, ADMIN, "--lease", "5") as process:
        made = post(
            service,
            "/subscriptions",
            {"source_url": origin.url("/slow"), "source_type": "links"},
        )
        until(lambda: "/slow" in origin.asked)
        process.kill()
    origin.pages["/slow"] = ("text/plain", LINKS)
    origin.may_answer.set()
    with example(service, ADMIN):
        until(lambda: len(titles(service, made["feed_id"])) == 2)


@contextmanager
def working(fetcher: Fetcher) -> Iterator[Fetcher]:
    thread = threading.Thread(target=fetcher.run)
    thread.start()
    try:
        until(lambda: fetcher.fetcher_id)
        yield fetcher
    finally:
        fetcher.stop()
        thread.join(30)
        assert not thread.is_alive()


@contextmanager
def fetching(
    service: Service, name: str, visit: Callable[[Work], Result], **how: Any
) -> Iterator[Fetcher]:
    """A fetcher in this process, for sources of the type that has its name."""

    def can_handle(asked: Question) -> bool:
        return asked.source_type == name

    known = {"headwater": service.url, "token": register_token(service)} | how
    with working(Fetcher(name, can_handle, visit, **known)) as fetcher:
        yield fetcher


def source(name: str) -> dict[str, Any]:
    return {"source_url": f"https://{name}.example/ghent?key=secret", "source_type": name}


def test_secrets_and_config_reach_the_assigned_fetcher_alone(service: Service) -> None:
    seen: list[Work] = []
    heard: list[News] = []

    def visit(work: Work) -> Result:
        seen.append(work)
        return Entries([{"id": "today", "title": "Rain"}], title="Ghent")

    with fetching(service, "weather", visit, on_news=heard.append) as fetcher:
        made = post(service, "/subscriptions", source("weather") | {"config": {"city": "Ghent"}})
        until(lambda: titles(service, made["feed_id"]) == ["Rain"])
        until(lambda: heard)
    assert seen[0].source_url == "https://weather.example/ghent?key=secret"
    assert seen[0].config == {"city": "Ghent"}
    assert heard[0].type == "subscription_created"
    assert heard[0].payload["fetcher_id"] == fetcher.fetcher_id
    assert heard[0].payload["source_url"] == "https://weather.example/ghent?key=REDACTED"


def test_what_a_builders_code_does_wrong_is_a_failed_visit(service: Service) -> None:
    def visit(work: Work) -> Result:
        raise ZeroDivisionError("no clouds to divide by")

    with fetching(service, "clouds", visit):
        made = post(service, "/subscriptions", source("clouds"))
        visits = until(lambda: service.get(f"/feeds/{made['feed_id']}/visits", ADMIN)[1]["visits"])
    assert visits[-1]["error"] == "fetcher_error"
    assert visits[-1]["error_detail"] == "ZeroDivisionError: no clouds to divide by"


UNTELLABLE: dict[str, Any] = {
    "nothing": None,
    "no JSON": Entries([{"id": "1", "title": object()}]),
    "half a character": Entries([{"id": "1", "title": "\ud83d"}]),
    "no id": Entries([{"title": "Nobody"}]),
    "too large": Raw(bytes(30_000_000)),
}


@pytest.mark.parametrize("case", UNTELLABLE)
def test_a_result_that_headwater_cannot_take_is_a_failed_visit(service: Service, case: str) -> None:
    """Not work that is due again, and asked of its source again, whenever a lease has ended."""
    name = case.replace(" ", "-")
    with fetching(service, name, lambda _: UNTELLABLE[case]):
        made = post(service, "/subscriptions", source(name))
        visits = until(lambda: service.get(f"/feeds/{made['feed_id']}/visits", ADMIN)[1]["visits"])
    assert visits[-1]["error"] == "fetcher_error"


def test_a_visit_longer_than_its_lease_is_kept_by_renewing(service: Service) -> None:
    calls: list[Work] = []

    def visit(work: Work) -> Result:
        calls.append(work)
        until(lambda: datetime.now(UTC) > work.lease_until + timedelta(seconds=1))
        return Raw(RSS, headers=[("Content-Type", "application/rss+xml")])

    with fetching(service, "tides", visit, lease_seconds=5.0):
        made = post(service, "/subscriptions", source("tides") | {"fetch_interval_minutes": 60})
        until(lambda: titles(service, made["feed_id"]) == ["First post", "Second post"])
    assert len(calls) == 1


def test_a_fetcher_whose_token_was_revoked_joins_anew(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kit, "AFTER_TROUBLE", 0.1)
    visited: list[Work] = []

    def visit(work: Work) -> Result:
        visited.append(work)
        return Entries([{"id": str(len(visited))}])

    state = tmp_path / "winds.json"
    with fetching(service, "winds", visit, state=state):
        before = json.loads(state.read_text())
        _, page = service.get("/tokens", ADMIN)
        (own,) = [each for each in page["tokens"] if each["name"] == "fetcher winds"]
        client = Client(service.url, ADMIN)
        client.ask("DELETE", f"/tokens/{own['id']}")
        post(service, "/subscriptions", source("winds"))
        until(lambda: visited)
        after = json.loads(state.read_text())
    assert after["fetcher_id"] == before["fetcher_id"]
    assert after["token"] != before["token"]


@pytest.mark.parametrize("left", [b"", b"{", b"[]", b'{"token": "x"}'])
def test_a_fetcher_whose_state_was_damaged_joins_anew(
    service: Service, tmp_path: Path, left: bytes
) -> None:
    state = tmp_path / "tides.json"
    state.write_bytes(left)
    with fetching(service, f"tides-{len(left)}", lambda work: Entries([]), state=state):
        kept = json.loads(state.read_text())
    assert kept["fetcher_id"] >= 1
    assert kept["token"]


def test_the_client_alone_is_enough(service: Service) -> None:
    """Claims and reports by hand, for those who do not want the rest."""
    client = Client(service.url, register_token(service))
    me = client.join("by-hand", "http://127.0.0.1:1", About(wants_news=False))
    assert me.token is not None
    own = Client(service.url, me.token)
    with pytest.raises(Refusal) as refused:
        own.report(me.fetcher_id, 12_345, Failed("nothing"))
    assert (refused.value.code, refused.value.status) == ("not_found", 404)
    assert own.heartbeat(me.fetcher_id) is True
    assert own.claim(me.fetcher_id) == ([], None)
    assert list(own.subscriptions(me.fetcher_id)) == []
    again = client.join("by-hand", "http://127.0.0.1:1", About(wants_news=False))
    assert (again.fetcher_id, again.token) == (me.fetcher_id, None)


def test_news_is_streamed_and_resumed_and_ends_with_the_service(
    origin: Origin, tmp_path: Path
) -> None:
    with running_service(tmp_path, origin) as service:
        _read_until_it_stops(service, origin)


def _read_until_it_stops(service: Service, origin: Origin) -> None:
    door = Client(service.url, ADMIN)
    me = door.join("reader", "http://127.0.0.1:1", About(wants_news=False))
    client = Client(service.url, me.token)
    first = post(service, "/subscriptions", {"source_url": origin.url("/feed.xml")})
    second = post(service, "/subscriptions", {"source_url": origin.url("/atom.xml")})
    stream = client.news(me.fetcher_id, after=0)
    told = [next(stream), next(stream)]
    ids = [each.payload["subscription_id"] for each in told]
    assert ids == [first["subscription_id"], second["subscription_id"]]
    stream.close()
    resumed = client.news(me.fetcher_id, after=told[0].seq)
    assert next(resumed) == told[1]
    began = time.monotonic()
    ended = service.stop(signal.SIGTERM)
    assert (ended.code, list(resumed)) == (0, [])
    assert time.monotonic() - began < 8


VECTORS = {
    "`{": (
        b'{"source_url":"https://example.org/list","source_type":"links"}',
        "v1,3rJF3gkYDksMGxCE1Lrabzz2qCzVrKtTfyBO4zDfpTo=",
    ),
    "(empty)": (b"", "v1,mmQgQ7gNjqX8Ziz85W/nAivgI/K1gfonJDyvwOMmMaw="),
    "`é`": ("é".encode(), "v1,c9JHy9rWdZHsaSN5pp6RO5HNLn+eIvtzFip+XX8EuD8="),
}


@pytest.mark.parametrize("row", VECTORS)
def test_the_documented_signatures_are_right(row: str) -> None:
    body, signature = VECTORS[row]
    at = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
    assert dict(sign(KEY, "msg_0001", at, body)) == {
        "webhook-id": "msg_0001",
        "webhook-timestamp": "1767614400",
        "webhook-signature": signature,
    }
    (line,) = [line for line in page("docs/fetchers.md").splitlines() if f"| {row}" in line]
    assert f"`{signature}`" in line


def test_the_documented_shell_commands_sign_the_same() -> None:
    (_, commands) = page("docs/fetchers.md").split("```sh\nkey=", 1)
    body, signature = VECTORS["`{"]
    done = subprocess.run(
        ["sh", "-c", "key=" + commands.partition("```")[0]],
        env={
            **os.environ,
            "SIGNING_KEY": "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            "ID": "msg_0001",
            "TIMESTAMP": "1767614400",
            "BODY": body.decode(),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"v1,{done.stdout.strip()}" == signature


def test_the_documented_fetcher_is_a_fetcher() -> None:
    (_, code) = page("docs/fetchers.md").split("```python\n", 1)
    body, _, last = code.partition("```")[0].rstrip().rpartition("\n")
    assert last.startswith("Fetcher(")
    assert len(body.splitlines()) < 20
    room: dict[str, Any] = {}
    exec(compile(body, "docs/fetchers.md", "exec"), room)  # noqa: S102 -- our own page
    assert room["can_handle"](Question("https://a.example/", "weather"))
    work = Work.of({**WORK, "config": '{"city": "Ghent"}'})
    assert room["visit"](work).as_json()["feed"] == {"title": "Weather in Ghent"}


WORK = {
    "subscription_id": 1,
    "scheduled_at": "2026-01-05T12:00:00Z",
    "fence": 1,
    "source_url": "https://a.example/",
    "source_type": "weather",
    "feed_id": "x",
    "name": None,
    "lease_until": "2026-01-05T12:00:00Z",
    "not_before": None,
    "validators": {"etag": None, "last_modified": None},
    "headers": [],
}


def test_a_result_says_only_what_it_means() -> None:
    assert Failed(status=404).as_json() == {"outcome": "failed", "status": 404}
    assert Entries([{"id": "1"}]).as_json() == {"outcome": "fetched", "entries": [{"id": "1"}]}
    assert replace(Raw(b"x"), status=304).as_json()["raw"] == {
        "body_base64": "eA==",
        "status": 304,
        "headers": [],
    }


class _Busy(Client):
    """Headwater says that it is busy, as often as is said; then it lets everybody join."""

    def __init__(self, *said: int) -> None:
        super().__init__("http://127.0.0.1:1")
        self.said = list(said)

    def join(
        self, name: str, base_url: str, about: About | None = None, *, rotate: bool = False
    ) -> Identity:
        if self.said:
            raise Refusal({"error": "not_now", "status_code": self.said.pop(0)})
        return Identity(7, "a-token", None)


@pytest.mark.parametrize("status", [429, 503])
def test_a_fetcher_outlives_a_headwater_that_is_busy_while_it_joins(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kit, "AFTER_TROUBLE", 0.01)
    fetcher = Fetcher("a", lambda _: True, lambda _: Failed(), headwater="http://127.0.0.1:1")
    monkeypatch.setattr(fetcher, "_register_client", _Busy(status, status))
    with working(fetcher):
        assert fetcher.fetcher_id == 7


def test_a_fetcher_that_may_not_join_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    fetcher = Fetcher("a", lambda _: True, lambda _: Failed(), headwater="http://127.0.0.1:1")
    monkeypatch.setattr(fetcher, "_register_client", _Busy(403))
    with pytest.raises(Refusal):
        fetcher.run()


class _Resting(_Busy):
    """Two visits are due, and the host of the first one rests for a week."""

    def __init__(self) -> None:
        super().__init__()
        far = datetime.now(UTC) + timedelta(days=7)
        first = Work.of({**WORK, "config": None})
        self.due = [replace(first, not_before=far), replace(first, subscription_id=2)]
        self.put_off: list[RenewIn] = []
        self.reported: list[Work | int] = []

    def claim(
        self, fetcher_id: int, *, limit: int = 10, lease_seconds: float | None = None
    ) -> tuple[list[Work], str | None]:
        due, self.due = self.due, []
        return due, None

    def renew(
        self, fetcher_id: int, works: Iterable[Work], *, lease_seconds: float | None = None
    ) -> set[int]:
        claims = [ClaimIn(**work.claim) for work in works]
        try:
            self.put_off.append(RenewIn(claims=claims, lease_seconds=lease_seconds))
        except ValidationError as trouble:
            raise Refusal({"error": "validation_error", "status_code": 422}) from trouble
        return set()

    def report(
        self, fetcher_id: int, work: Work | int, result: Result, *, elapsed_ms: float = 0.0
    ) -> dict[str, Any]:
        self.reported.append(work)
        return {}


def test_a_rest_longer_than_any_lease_costs_no_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is put off by the longest lease there is; what was claimed with it is visited."""
    headwater = _Resting()
    monkeypatch.setattr(kit, "Client", lambda *_: headwater)
    fetcher = Fetcher("a", lambda _: True, lambda _: Failed(), headwater="http://127.0.0.1:1")
    with working(fetcher):
        until(lambda: headwater.reported)
    assert [each.lease_seconds for each in headwater.put_off] == [86_400]
    assert [work.subscription_id for work in headwater.reported if isinstance(work, Work)] == [2]
