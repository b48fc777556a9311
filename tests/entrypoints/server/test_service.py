"""`headwater run` as a real process: it starts, says where it is, stops, and goes on."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.entrypoints.server.service import greeting
from headwater.settings import load_settings
from tests.entrypoints.cli.conftest import Shell
from tests.support.service import Origin, command, environment, origin_server, service, until


@pytest.fixture(scope="module")
def origin() -> Iterator[Origin]:
    with origin_server() as running:
        yield running


@pytest.fixture
def env(tmp_path: Path, origin: Origin) -> dict[str, str]:
    return environment(tmp_path / "data", origin)


def test_it_says_where_it_is_lets_nobody_else_in_and_stops_cleanly(
    env: dict[str, str], tmp_path: Path
) -> None:
    with service(env) as running:
        said = "\n".join(running.greeting)
        notice = json.loads((tmp_path / "data" / "service.json").read_text())
        status, health = running.get("/healthz")
        second = command(env, "run", "--port", "0")
        ended = running.stop(signal.SIGINT)
    assert running.url.startswith("http://127.0.0.1:")
    assert not running.url.endswith(":0")
    assert f"{tmp_path / 'data'}   (SQLite)" in said
    assert "headwater add URL" in said
    assert f"  console     {running.url}/" in running.greeting
    assert (notice["url"], notice["pid"]) == (running.url, running.pid)
    assert (status, health) == (200, {"status": "ok"})

    assert second.code == 3
    assert f"process {running.pid}, {running.url}" in second.err
    assert "Traceback" not in second.err

    assert ended.code == 0
    assert ended.out.splitlines()[-1] == "stopped"
    assert "Traceback" not in ended.err
    assert not (tmp_path / "data" / "service.json").exists()


def test_after_a_kill_it_goes_on_where_it_was(env: dict[str, str], origin: Origin) -> None:
    with service(env) as running:
        added = Shell(env)("add", origin.url("/feed.xml"), "--json")
        assert added.code == 0, added.err
        running.kill()
    with service(env) as running:
        feeds = running.get("/feeds")[1]["feeds"]
        entries = running.get("/entries")[1]["entries"]
        ended = running.stop(signal.SIGTERM)
    assert [feed["id"] for feed in feeds] == [added.json["id"]]
    assert {entry["title"] for entry in entries} == {"First post", "Second post"}
    assert ended.code == 0


@pytest.mark.parametrize(
    ("started_as", "path", "typed"),
    [
        (".venv/bin/headwater", "", ".venv/bin/headwater"),
        ("/opt/headwater/bin/headwater", "", "/opt/headwater/bin/headwater"),
        ("/usr/lib/headwater/__main__.py", "", "headwater"),
        (".venv/bin/headwater", "on the path", "headwater"),
    ],
)
def test_what_to_do_next_can_be_typed_as_it_stands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, started_as: str, path: str, typed: str
) -> None:
    """`make run` starts a command that is not on the path."""
    there = tmp_path / "headwater"
    there.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path) if path else str(tmp_path / "elsewhere"))
    monkeypatch.setattr("sys.argv", [started_as, "run"])
    said = list(greeting(load_settings(), "http://127.0.0.1:8470", ("serve", "work")))
    assert f"  next        {typed} add URL     follow a feed" in said
    assert f"              {typed} watch       see new entries as they come" in said


def test_without_a_token_another_address_is_refused(env: dict[str, str]) -> None:
    refused = command(env, "run", "--host", "0.0.0.0", "--port", "0")
    assert refused.code == 2
    assert "HEADWATER_ADMIN_TOKEN" in refused.err


def test_with_a_token_everything_but_health_wants_it(tmp_path: Path, origin: Origin) -> None:
    token = "a-token-of-some-length-for-tests"
    env = environment(tmp_path / "data", origin, HEADWATER_ADMIN_TOKEN=token)
    with service(env, "run", "--host", "0.0.0.0", "--port", "0") as running:
        assert "(on every address of this machine, with a token)" in "\n".join(running.greeting)
        assert running.get("/healthz")[0] == 200
        assert running.get("/feeds")[0] == 401
        assert running.get("/feeds", token) == (200, {"feeds": [], "next_cursor": None})
        assert Shell(env)("list", "--json").json == []
        stranger = environment(tmp_path / "data", HEADWATER_TOKEN="wrong")
        assert Shell(stranger)("list").code == 3
        ended = running.stop()
    assert ended.code == 0
    assert token not in ended.out + ended.err


def test_the_two_halves_share_a_folder(env: dict[str, str], origin: Origin) -> None:
    """Beside a lone worker one may read but not write; with a server one may do both."""
    with service(env, "work") as working:
        assert Shell(env)("list", "--json").json == []
        refused = Shell(env)("add", origin.url("/feed.xml"))
        assert refused.code == 3
        assert f"process {working.pid}" in refused.err
        assert "headwater serve" in refused.err
        assert command(env, "work").code == 3
        with service(env, "serve", "--port", "0") as serving:
            assert any("headwater work" in line for line in serving.greeting)
            added = Shell(env)("add", origin.url("/feed.xml"), "--later", "--json")
            assert added.code == 0, added.err
            until(lambda: serving.get("/entries")[1]["entries"])
            assert serving.stop().code == 0
        assert working.stop().code == 0


def test_a_second_signal_stops_it_at_once(env: dict[str, str], origin: Origin) -> None:
    with service(env | {"HEADWATER_STOP_SECONDS": "25"}) as running:
        assert Shell(env)("add", origin.url("/slow"), "--later").code == 0
        until(lambda: "/slow" in origin.asked)
        running.send(signal.SIGTERM)
        assert running.next_line().startswith("Stopping…")
        began = time.monotonic()
        ended = running.stop(signal.SIGTERM)
        assert time.monotonic() - began < 10
    assert ended.code == 130
    assert ended.out.startswith("stopped at once")
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_a_postgresql_schema_is_migrated_only_when_told(
    empty_database_url: str, tmp_path: Path, origin: Origin
) -> None:
    env = environment(tmp_path / "data", origin, DATABASE_URL=empty_database_url)
    refused = command(env, "run", "--port", "0")
    assert refused.code == 5
    assert "Run `headwater migrate`" in refused.err
    with service(env, "run", "--port", "0", "--migrate") as running:
        added = Shell(env)("add", origin.url("/feed.xml"), "--json")
        assert added.code == 0, added.err
        ended = running.stop()
    assert "(PostgreSQL)" in "\n".join(running.greeting)
    assert "Database schema: empty → " in "\n".join(running.greeting)
    assert ended.code == 0
    assert [feed["id"] for feed in Shell(env)("list", "--json").json] == [added.json["id"]]


STUCK = """
from functools import partial
from threading import Event
from headwater.entrypoints.server.stop import forced_exit_after as ended_for_sure
with ended_for_sure(0.1, partial(print, flush=True)) as count:
    count()
    Event().wait()  # as for a database that says nothing
"""


def test_a_stop_comes_to_its_end_whatever_is_waited_for() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STUCK], capture_output=True, timeout=60, check=False
    )
    assert ended.returncode == 130
    assert ended.stdout.startswith(b"stopped at once, as something did not answer")
