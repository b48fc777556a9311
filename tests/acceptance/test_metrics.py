"""Metrics of real processes: on the API, and at a worker's own door."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.entrypoints.cli.conftest import Shell
from tests.support.scraped_metrics import Scraped
from tests.support.service import (
    SECONDS,
    Origin,
    Service,
    command,
    environment,
    origin_server,
    service,
    until,
)

TOKEN = "a-token-of-some-length-for-tests"


@pytest.fixture(scope="module")
def origin() -> Iterator[Origin]:
    with origin_server() as running:
        yield running


def door(working: Service) -> str:
    (line,) = [line for line in working.greeting if line.startswith("metrics on ")]
    return line.removeprefix("metrics on ")


def scrape(url: str, token: str | None = None) -> Scraped:
    request = urllib.request.Request(url)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        return Scraped(answer.read().decode())


def test_a_worker_shows_its_own_visits_and_the_api_its_own_requests(
    tmp_path: Path, origin: Origin
) -> None:
    env = environment(tmp_path / "data", origin)
    with (
        service(env | {"HEADWATER_METRICS_PORT": "0"}, "work") as working,
        service(env, "serve", "--port", "0") as serving,
    ):
        assert Shell(env)("add", origin.url("/feed.xml"), "--later").code == 0
        until(lambda: serving.get("/entries")[1]["entries"])
        worker, api = scrape(door(working)), scrape(f"{serving.url}/metrics")
        assert worker["headwater_visits_total", "outcome=fetched"] == 1
        assert api["headwater_visits_total", "outcome=fetched"] == 0
        assert worker.names == api.names
        posted = ("method=POST", "route=/feeds", "status=2xx")
        assert api["headwater_api_requests_total", *posted] == 1
        assert worker["headwater_feeds", "state=active"] == 1
        assert working.stop().code == 0


def test_without_a_port_there_is_no_door(tmp_path: Path, origin: Origin) -> None:
    with service(environment(tmp_path / "data", origin), "work") as working:
        assert not any("metrics" in line for line in working.greeting)


def test_a_token_is_wanted_where_one_is_set(tmp_path: Path, origin: Origin) -> None:
    env = environment(
        tmp_path / "data", origin, HEADWATER_METRICS_PORT="0", HEADWATER_METRICS_HOST="0.0.0.0"
    )
    refused = command(env, "work")
    assert refused.code == 2
    assert "HEADWATER_ADMIN_TOKEN" in refused.err
    with service(env | {"HEADWATER_ADMIN_TOKEN": TOKEN}, "work") as working:
        with pytest.raises(urllib.error.HTTPError, match="401"):
            scrape(door(working))
        assert scrape(door(working), TOKEN)["headwater_database_up"] == 1


def test_a_port_that_is_taken_is_told_with_what_to_do(tmp_path: Path, origin: Origin) -> None:
    first = environment(tmp_path / "a", origin, HEADWATER_METRICS_PORT="0")
    with service(first, "work") as working:
        port = door(working).rsplit(":", 1)[1].removesuffix("/metrics")
        second = environment(tmp_path / "b", origin, HEADWATER_METRICS_PORT=port)
        refused = command(second, "work")
    assert refused.code == 3
    assert "HEADWATER_METRICS_PORT" in refused.err
