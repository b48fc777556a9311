"""gRPC beside the API and the worker in one real process, and the flag that turns it on."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import orjson
import pytest

from headwater.client.grpc import headwater_pb2
from headwater.core.errors import BadSettings
from headwater.entrypoints.cli.system.run import fill_option_value, parse_grpc_option
from headwater.entrypoints.server.service import greeting
from headwater.settings import Settings
from tests.entrypoints.cli.conftest import Shell
from tests.entrypoints.grpc.conftest import stub_of
from tests.support.docs_pages import page
from tests.support.service import (
    SECONDS,
    Origin,
    Service,
    command,
    environment,
    origin_server,
    service,
)

EXAMPLE = re.compile(r"runs this -->\n```python\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def origin() -> Iterator[Origin]:
    with origin_server() as running:
        yield running


@pytest.fixture
def env(tmp_path: Path, origin: Origin) -> dict[str, str]:
    return environment(tmp_path / "data", origin)


def address(running: Service) -> str:
    (line,) = [line for line in running.greeting if line.strip().startswith("gRPC")]
    return line.split()[1]


def asked(where: str) -> Any:
    return stub_of(grpc.insecure_channel(where))


def test_api_worker_and_grpc_live_in_one_process(env: dict[str, str], origin: Origin) -> None:
    """A reader over gRPC sees what the worker's visits bring, until a calm stop ends its stream."""
    with service(env, "run", "--port", "0", "--grpc", "0") as running:
        where = address(running)
        with grpc.insecure_channel(where) as channel:
            stub = stub_of(channel)
            stream = stub.StreamEvents(
                headwater_pb2.StreamEventsRequest(after=0, types=["new_entry"]), timeout=SECONDS
            )
            added = Shell(env)("add", origin.url("/feed.xml"), "--later", "--json")
            assert added.code == 0, added.err
            seen = []
            for told in stream:
                if told.WhichOneof("told") == "event":
                    seen.append(orjson.loads(told.event.body)["payload"]["entry_uid"])
                if len(seen) == 2:
                    break
            assert sorted(seen) == ["one", "two"]
            entries = stub.ListEntries(headwater_pb2.ListEntriesRequest()).entries
            over_http = running.get("/entries")[1]["entries"]
            assert [entry.entry_uid for entry in entries] == [
                entry["entry_uid"] for entry in over_http
            ]
            raw = stub.GetRaw(headwater_pb2.GetRawRequest(fetch_id=entries[0].raw_refs[0].fetch_id))
            assert b"".join(part.chunk for part in raw) == origin.pages["/feed.xml"][1]
            ended = running.stop()
            with pytest.raises(grpc.RpcError) as broken:
                list(stream)
            assert broken.value.code() is grpc.StatusCode.UNAVAILABLE
    assert ended.code == 0, ended.err
    assert "Traceback" not in ended.err
    assert ended.out.splitlines()[-1] == "stopped"


def test_the_example_of_the_documentation_runs(env: dict[str, str], origin: Origin) -> None:
    (example,) = EXAMPLE.findall(page("docs/grpc.md"))
    with service(env, "serve", "--port", "0", "--grpc", "127.0.0.1:0") as running:
        assert Shell(env)("add", origin.url("/feed.xml")).code == 0
        done = subprocess.run(
            [sys.executable, "-c", example],
            env=env | {"HEADWATER_GRPC": address(running)},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert running.stop().code == 0
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("River news ")
    assert "First post https://example.org/1" in lines
    assert '"type":"new_entry"' in lines[-1]


def test_a_taken_port_and_an_open_address_are_refused(env: dict[str, str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        taken = command(env, "run", "--port", "0", "--grpc", f"127.0.0.1:{port}")
    assert (taken.code, "Traceback" in taken.err) == (3, False)
    assert f"port {port}" in taken.err
    everywhere = command(env, "serve", "--port", "0", "--grpc", "0.0.0.0:0")
    assert everywhere.code == 2
    assert "HEADWATER_ADMIN_TOKEN" in everywhere.err


def test_it_is_off_and_not_even_loaded_unless_asked_for(env: dict[str, str]) -> None:
    assert not any("gRPC" in line for line in greeting(Settings(), "http://x", ("serve",)))
    program = "import sys, headwater.entrypoints.server.service; print('grpc' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("given", "host", "port"),
    [
        ("", None, 8471),
        ("9000", None, 9000),
        (":9000", None, 9000),
        ("127.0.0.2:9000", "127.0.0.2", 9000),
        ("localhost", "localhost", 8471),
        ("[::1]:9000", "::1", 9000),
        ("127.0.0.2", "127.0.0.2", 8471),
        ("::1", "::1", 8471),
        ("[::1]", "::1", 8471),
    ],
)
def test_the_flag_takes_an_address_or_part_of_one(given: str, host: str | None, port: int) -> None:
    assert parse_grpc_option(given) == {"grpc_host": host, "grpc_port": port}


def test_the_flag_alone_takes_the_settings_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_GRPC_PORT", "9100")
    assert parse_grpc_option("") == {"grpc_host": None, "grpc_port": 9100}
    assert parse_grpc_option(None) == {}


def test_the_flag_may_stand_alone_anywhere() -> None:
    assert fill_option_value("--grpc", []) == []
    assert fill_option_value("--grpc", ["--grpc"]) == ["--grpc="]
    assert fill_option_value("--grpc", ["--grpc", "--port", "0"]) == ["--grpc=", "--port", "0"]
    assert fill_option_value("--grpc", ["--grpc", ":9", "--port", "0"]) == [
        "--grpc",
        ":9",
        "--port",
        "0",
    ]


@pytest.mark.parametrize(
    "given", ["nonsense", "localhost:http", "localhost:", "127.0.0.1:65536", "-1", "²", ":"]
)
def test_what_is_no_address_is_refused_with_what_is_expected(given: str) -> None:
    with pytest.raises(BadSettings) as refused:
        parse_grpc_option(given)
    assert refused.value.message == (
        "--grpc takes HOST:PORT, such as 127.0.0.1:8471, or an address or a port alone,"
        f" not {given!r}."
    )
