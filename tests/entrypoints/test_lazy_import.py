"""Rooms opened late: once, and with the collector as it was before."""

import gc
import sys
from collections.abc import Iterator

import pytest

from headwater.entrypoints.lazy_import import lazy_import


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    yield
    gc.enable()
    gc.unfreeze()


def test_what_was_named_is_found() -> None:
    assert lazy_import("headwater.entrypoints.lazy_import:lazy_import") is lazy_import


@pytest.mark.parametrize("is_on", [True, False])
def test_the_collector_is_as_it_was(is_on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    (gc.enable if is_on else gc.disable)()
    assert lazy_import("this:s").startswith("Gur Mra bs Clguba")
    assert gc.isenabled() is is_on


def test_the_collector_is_on_again_after_a_room_that_cannot_be_opened() -> None:
    with pytest.raises(ModuleNotFoundError):
        lazy_import("headwater.no_such_room:anything")
    assert gc.isenabled()


def test_a_room_that_is_open_is_entered_without_setting_anything_aside() -> None:
    before = gc.get_freeze_count()
    lazy_import("headwater.entrypoints.lazy_import:lazy_import")
    assert gc.get_freeze_count() == before
