"""`headwater watch`: every event once, in order, also across a restart of the service."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest

from headwater.core.errors import HeadwaterError
from headwater.entrypoints.cli import entries
from headwater.entrypoints.cli.errors import ApiError
from headwater.entrypoints.cli.http_connection import ServiceUnreachable
from headwater.entrypoints.cli.session import Api, Session
from tests.entrypoints.cli.conftest import Shell
from tests.support.service import (
    HEADWATER,
    RSS,
    SECONDS,
    Origin,
    environment,
    origin_server,
    service,
)


@contextmanager
def watching(env: dict[str, str], *args: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [*HEADWATER, "watch", *args],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line_of(process: "subprocess.Popen[str]") -> str:
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        _, err = process.communicate(timeout=SECONDS)
        raise AssertionError(f"it ended with {process.returncode}: {err}")
    return line


def interrupted(process: "subprocess.Popen[str]") -> tuple[int, str]:
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=SECONDS)
    return process.returncode, err


@pytest.fixture(scope="module")
def origin() -> Iterator[Origin]:
    with origin_server() as running:
        yield running


def test_events_come_as_lines_also_after_a_restart(tmp_path: Path, origin: Origin) -> None:
    env = environment(tmp_path / "data", origin)
    origin.pages["/later.xml"] = ("application/rss+xml", RSS)
    with watching(env, "--json", "--from", "0") as watch:
        with service(env, "run", "--port", "0"):
            assert Shell(env)("add", origin.url("/feed.xml")).code == 0
            first = [json.loads(line_of(watch)) for _ in range(3)]
        with service(env, "run", "--port", "0"):
            assert Shell(env)("add", origin.url("/later.xml")).code == 0
            later = [json.loads(line_of(watch)) for _ in range(3)]
        code, err = interrupted(watch)
    events = first + later
    assert [event["seq"] for event in events] == [1, 2, 3, 4, 5, 6]
    followed = ["subscription_created", "new_entry", "new_entry"]
    assert [event["type"] for event in events] == followed * 2
    assert {event["payload"]["entry_uid"] for event in first[1:]} == {"one", "two"}
    assert code == 130
    assert "Traceback" not in err


def test_without_a_service_it_says_so_and_shows_titles(tmp_path: Path, origin: Origin) -> None:
    env = environment(tmp_path / "data", origin)
    assert Shell(env)("add", origin.url("/feed.xml")).code == 0
    with watching(env, "--from", "0") as watch:
        shown = [line_of(watch) for _ in range(4)]
        code, err = interrupted(watch)
    assert "First post" in "".join(shown)
    assert "https://example.org/2" in "".join(shown)
    assert "No service is running" in err
    assert "Traceback" not in err
    assert code == 130


class Shaky:
    """A service that goes away between two titles of a page, once."""

    is_service = True

    def __init__(self, trouble: HeadwaterError) -> None:
        self.titles = 0
        self.trouble = trouble

    def get(self, path: str, **asked: Any) -> Any:
        if path == "/events":
            left = [each for each in (1, 2, 3) if each > asked["after"]]
            if not left:
                raise KeyboardInterrupt
            return {"events": [_event(each) for each in left], "next": 3, "last_seq": 3}
        self.titles += 1
        if self.titles == 3:
            raise self.trouble
        return {"title": f"Title of {path[-1]}"}


def _event(seq: int) -> dict[str, Any]:
    about = {"entry_uid": str(seq), "feed_id": "a feed"}
    return {"seq": seq, "type": "new_entry", "at": "2026-03-01T12:00:00Z", "payload": about}


@pytest.mark.parametrize(
    "trouble",
    [
        ServiceUnreachable("It is gone."),
        ApiError(502, {"error": "unexpected_answer", "message": "Bad Gateway"}),
        ApiError(503, {"error": "connection_error", "message": "The database is away."}),
        ApiError(429, {"error": "rate_limited", "message": "Too many requests."}),
    ],
    ids=["gone", "only its proxy is there", "without its database", "asked too often"],
)
def test_no_entry_is_shown_twice_when_the_service_goes_away_in_the_middle(
    trouble: HeadwaterError, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    watch_through(trouble, monkeypatch)
    shown = capsys.readouterr().out
    assert [shown.count(f"Title of {each}") for each in (1, 2, 3)] == [1, 1, 1]


def test_an_entry_that_was_removed_meanwhile_is_shown_by_its_uid(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    watch_through(ApiError(404, {"error": "not_found", "message": "Gone."}), monkeypatch)
    shown = [line.split()[-1] for line in capsys.readouterr().out.splitlines()]
    assert shown == ["1", "2", "3"]


def test_a_refusal_that_does_not_pass_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = ApiError(401, {"error": "unauthorized", "message": "This token is not known."})
    with pytest.raises(ApiError, match="This token is not known"):
        watch_through(refusal, monkeypatch)


def watch_through(trouble: HeadwaterError, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "RETRY_SECONDS", 0)
    monkeypatch.setattr(entries, "POLL_SECONDS", 0)
    session, shaky = Session(), cast(Api, Shaky(trouble))

    @contextmanager
    def api(**_: Any) -> Iterator[Api]:
        yield shaky

    monkeypatch.setattr(session, "api", api)
    with suppress(KeyboardInterrupt):
        entries.watch(session, start=0)
