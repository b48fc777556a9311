"""Who answers a command, and which locks it holds while it is answered."""

import os
from pathlib import Path

import pytest

from headwater.entrypoints import reach
from headwater.entrypoints.alone import alone
from headwater.entrypoints.lock import BOTH, InUse, Notice, announced, held, is_held
from headwater.entrypoints.reach import caller_for
from headwater.entrypoints.transport import Request
from headwater.settings import Settings, load_settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(data_dir=tmp_path / "data")


def test_a_reader_holds_no_lock_even_on_a_new_database(settings: Settings) -> None:
    with alone(settings, token=None, what="headwater watch", writes=False) as caller:
        assert caller.ask(Request("GET", "/feeds")).status == 200
        assert not is_held(settings.data_dir, "serve")
        assert not is_held(settings.data_dir, "work")


def test_a_writer_holds_both_locks(settings: Settings) -> None:
    with alone(settings, token=None, what="headwater add", writes=True) as caller:
        assert caller.ask(Request("GET", "/healthz")).record == {"status": "ok"}
        assert is_held(settings.data_dir, "serve")
        assert is_held(settings.data_dir, "work")
    assert not is_held(settings.data_dir, "serve")


def test_a_running_service_is_asked_over_http(settings: Settings) -> None:
    notice = Notice("http://127.0.0.1:1", os.getpid(), "2026-03-01T12:00:00Z")
    with (
        held(settings.data_dir, BOTH, "headwater run", is_service=True),
        announced(settings.data_dir, notice),
        caller_for(settings, url=None, token=None, what="headwater list", writes=False) as caller,
    ):
        assert caller.is_service
        assert caller.where == "http://127.0.0.1:1"


def test_a_named_service_comes_before_one_that_is_found(settings: Settings) -> None:
    with caller_for(
        settings, url="http://127.0.0.1:2/", token=None, what="headwater list", writes=False
    ) as caller:
        assert caller.where == "http://127.0.0.1:2"
    assert not settings.data_dir.exists()


def test_beside_a_lone_worker_one_reads_but_does_not_write(settings: Settings) -> None:
    with alone(settings, token=None, what="headwater list", writes=False):
        pass
    with held(settings.data_dir, ("work",), "headwater work", is_service=True):
        with alone(settings, token=None, what="headwater list", writes=False) as caller:
            assert caller.ask(Request("GET", "/feeds")).status == 200
        with (
            pytest.raises(InUse, match="Start `headwater serve`, or stop the worker"),
            alone(settings, token=None, what="headwater add", writes=True),
        ):
            raise AssertionError("two writers")


def test_a_service_that_starts_between_the_look_and_the_locks_is_asked(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """We looked and saw nobody; when we want the locks, `headwater run` has them."""
    notice = Notice("http://127.0.0.1:3", os.getpid(), "2026-03-01T12:00:00Z")
    looks = iter([None, notice])
    monkeypatch.setattr(reach, "_service_of", lambda _: next(looks))
    with (
        held(settings.data_dir, BOTH, "headwater run", is_service=True),
        caller_for(settings, url=None, token=None, what="headwater watch", writes=False) as caller,
    ):
        assert caller.where == "http://127.0.0.1:3"
