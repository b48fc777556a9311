"""Traces of a running service: on when configured, and otherwise not even loaded."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.core.errors import BadSettings
from headwater.settings import Settings, hidden_secrets, load_settings
from headwater.wiring.app import open_services
from tests.entrypoints.cli.conftest import Shell
from tests.support.service import Origin, environment, origin_server, service
from tests.support.trace_collector import collecting

ALL = {"visit", "schedule", "request", "archive", "parse", "merge", "events"}


@pytest.fixture(scope="module")
def origin() -> Iterator[Origin]:
    with origin_server() as running:
        yield running


def test_a_service_sends_its_visits_and_its_log_names_them(tmp_path: Path, origin: Origin) -> None:
    with collecting() as collector:
        env = environment(
            tmp_path / "data",
            origin,
            HEADWATER_OTLP_ENDPOINT=collector.url,
            HEADWATER_OTLP_HEADERS="authorization=Bearer planted-secret",
            HEADWATER_OTLP_SERVICE_NAME="river",
            HEADWATER_LOG_FORMAT="json",
        )
        with service(env) as running:
            added = Shell(env)("add", origin.url("/feed.xml"), "--json")
            assert added.code == 0, added.err
            later = Shell(env)("add", origin.url("/atom.xml"), "--later", "--json")
            assert later.code == 0, later.err
            collector.wait_for(2)
            ended = running.stop()
    traces = {each.trace_id for each in collector.spans}
    assert len(traces) == 2
    for trace in traces:
        assert {each.name for each in collector.spans if each.trace_id == trace} == ALL
    roots = [each for each in collector.spans if each.name == "visit"]
    assert {each.facts["headwater.visit.kind"] for each in roots} == {"first", "scheduled"}
    assert {each.resource["service.name"] for each in roots} == {"river"}
    told = [json.loads(line) for line in ended.err.splitlines() if line.startswith("{")]
    visits = {line["trace_id"]: line["span_id"] for line in told if line["event"] == "visit"}
    assert visits == {each.trace_id: each.span_id for each in roots}
    assert collector.requests[0][1]["authorization"] == "Bearer planted-secret"
    assert "planted-secret" not in ended.out + ended.err + str(collector.spans)


def test_a_stop_sends_what_is_left_and_a_dead_collector_does_not_hold_it_up(
    tmp_path: Path, origin: Origin
) -> None:
    env = environment(
        tmp_path / "data",
        origin,
        HEADWATER_OTLP_ENDPOINT="http://127.0.0.1:1",
        HEADWATER_STOP_SECONDS="1",
        HEADWATER_LOG_FORMAT="json",
    )
    with service(env) as running:
        assert Shell(env)("add", origin.url("/feed.xml")).code == 0
        ended = running.stop()
    assert ended.code == 0
    assert "traces_lost" in ended.err
    assert "Traceback" not in ended.err


OPENED = """
import asyncio, sys
{before}
import headwater.entrypoints.server.service, headwater.entrypoints.cli.main
from headwater.settings import load_settings
from headwater.wiring.app import open_services

async def open_and_close():
    async with open_services(load_settings()):
        return

asyncio.run(open_and_close())
print("loaded", *sorted(sys.modules))
"""
OURS = {
    "headwater.adapters.otlp",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.proto.trace.v1.trace_pb2",
}
"""What only traces need. (Libraries of others load parts of OpenTelemetry where it is there.)"""


def loaded(env: dict[str, str], before: str = "") -> set[str]:
    """Everything that is loaded once a service and an engine were opened."""
    done = subprocess.run(
        [sys.executable, "-c", OPENED.replace("{before}", before)],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_nothing_that_traces_need_is_loaded_without_an_endpoint(tmp_path: Path) -> None:
    assert loaded(environment(tmp_path)) & OURS == set()
    configured = environment(tmp_path, None, HEADWATER_OTLP_ENDPOINT="http://127.0.0.1:1")
    assert loaded(configured) & OURS == OURS


def test_without_the_extra_everything_else_works(tmp_path: Path) -> None:
    missing = "sys.modules |= dict.fromkeys(['opentelemetry.sdk', 'opentelemetry.exporter'])"
    found = loaded(environment(tmp_path), missing)
    assert "headwater.wiring.app" in found
    assert not any(name.startswith("opentelemetry.sdk.") for name in found)


async def test_without_the_extra_the_refusal_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "headwater.adapters.otlp", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    settings = Settings(data_dir=tmp_path, otlp_endpoint="http://127.0.0.1:1")
    with pytest.raises(BadSettings, match="install Headwater's extra `otel`"):
        async with open_services(settings):
            pass


def test_what_opens_the_collector_is_shown_by_no_command() -> None:
    settings = load_settings(
        otlp_endpoint="https://user:planted-secret@collector.example",
        otlp_headers="authorization=planted-secret",
    )
    assert "planted-secret" not in str(hidden_secrets(settings))
    assert "planted-secret" not in repr(settings.otlp_headers)


@pytest.mark.parametrize("endpoint", ["collector:4318", "ftp://collector", "http://a b"])
def test_an_endpoint_that_is_no_address_stops_the_start(endpoint: str) -> None:
    with pytest.raises(BadSettings, match="otlp_endpoint"):
        load_settings(otlp_endpoint=endpoint)
