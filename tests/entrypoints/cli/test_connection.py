"""Who answers a command, and which locks it holds while it is answered."""

import os
from pathlib import Path

import pytest

from headwater.entrypoints.api_request import ApiRequest
from headwater.entrypoints.cli import connection
from headwater.entrypoints.cli.connection import open_connection
from headwater.entrypoints.cli.in_process_service import open_in_process
from headwater.entrypoints.server.data_folder import (
    BOTH_ROLES,
    DataFolderInUse,
    ServiceNotice,
    hold_locks,
    is_locked,
    publish_notice,
)
from headwater.settings import Settings, load_settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(data_dir=tmp_path / "data")


def test_a_reader_holds_no_lock_even_on_a_new_database(settings: Settings) -> None:
    with open_in_process(settings, token=None, what="headwater watch", writes=False) as caller:
        assert caller.ask(ApiRequest("GET", "/feeds")).status == 200
        assert not is_locked(settings.data_dir, "serve")
        assert not is_locked(settings.data_dir, "work")


def test_a_writer_holds_both_locks(settings: Settings) -> None:
    with open_in_process(settings, token=None, what="headwater add", writes=True) as caller:
        assert caller.ask(ApiRequest("GET", "/healthz")).record == {"status": "ok"}
        assert is_locked(settings.data_dir, "serve")
        assert is_locked(settings.data_dir, "work")
    assert not is_locked(settings.data_dir, "serve")


def test_a_running_service_is_asked_over_http(settings: Settings) -> None:
    notice = ServiceNotice("http://127.0.0.1:1", os.getpid(), "2026-03-01T12:00:00Z")
    with (
        hold_locks(settings.data_dir, BOTH_ROLES, "headwater run", is_service=True),
        publish_notice(settings.data_dir, notice),
        open_connection(
            settings, url=None, token=None, what="headwater list", writes=False
        ) as caller,
    ):
        assert caller.is_service
        assert caller.where == "http://127.0.0.1:1"


def test_a_named_service_comes_before_one_that_is_found(settings: Settings) -> None:
    with open_connection(
        settings, url="http://127.0.0.1:2/", token=None, what="headwater list", writes=False
    ) as caller:
        assert caller.where == "http://127.0.0.1:2"
    assert not settings.data_dir.exists()


def test_beside_a_lone_worker_one_reads_but_does_not_write(settings: Settings) -> None:
    with open_in_process(settings, token=None, what="headwater list", writes=False):
        pass
    with hold_locks(settings.data_dir, ("work",), "headwater work", is_service=True):
        with open_in_process(settings, token=None, what="headwater list", writes=False) as caller:
            assert caller.ask(ApiRequest("GET", "/feeds")).status == 200
        with (
            pytest.raises(DataFolderInUse, match="Start `headwater serve`, or stop the worker"),
            open_in_process(settings, token=None, what="headwater add", writes=True),
        ):
            raise AssertionError("two writers")


def test_a_service_that_starts_between_the_look_and_the_locks_is_asked(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """We looked and saw nobody; when we want the locks, `headwater run` has them."""
    notice = ServiceNotice("http://127.0.0.1:3", os.getpid(), "2026-03-01T12:00:00Z")
    looks = iter([None, notice])
    monkeypatch.setattr(connection, "_service_of", lambda _: next(looks))
    with (
        hold_locks(settings.data_dir, BOTH_ROLES, "headwater run", is_service=True),
        open_connection(
            settings, url=None, token=None, what="headwater watch", writes=False
        ) as caller,
    ):
        assert caller.where == "http://127.0.0.1:3"
