"""Fetchers that packages bring along: the good ones are there, a broken one stops nothing."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from headwater.subscriptions.fetchers.builtin import BUILTINS, FEED, BuiltinFetcher
from headwater.subscriptions.fetchers.fetcher_plugins import load_builtins
from tests.support.log_lines import Lines, heard

GROUP = "headwater.fetchers"
GOOD = BuiltinFetcher("plug", "2.0.0", "A plug-in.", 70, lambda url, kind: url.endswith("/plug"))
SECOND = BuiltinFetcher("plug", "3.0.0", "Another of the same name.", 70, lambda url, kind: True)
ODD = BuiltinFetcher("Not A Word", "1.0.0", "", 70, lambda url, kind: True)
NO_BUILTIN = object()


@pytest.fixture
def log() -> Iterator[Lines]:
    with heard() as lines:
        yield lines


def point(value: str, name: str = "plug") -> EntryPoint:
    return EntryPoint(name, value, GROUP)


def here(name: str) -> EntryPoint:
    return point(f"{__name__}:{name}")


def test_without_plug_ins_there_are_our_own() -> None:
    assert load_builtins([]) == BUILTINS
    assert load_builtins()[: len(BUILTINS)] == BUILTINS


def test_a_plug_in_comes_after_our_own(log: Lines) -> None:
    assert load_builtins([here("GOOD")]) == (*BUILTINS, GOOD)
    assert log == []


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("no_such_module_anywhere:X", "ModuleNotFoundError"),
        (f"{__name__}:NO_SUCH_NAME", "AttributeError"),
        (f"{__name__}:NO_BUILTIN", "not a headwater"),
        (f"{__name__}:ODD", "lower-case word"),
        ("headwater.subscriptions.fetchers.builtin:FEED", "taken"),
    ],
)
def test_a_broken_plug_in_is_told_of_and_left_out(log: Lines, value: str, why: str) -> None:
    assert load_builtins([point(value), here("GOOD")]) == (*BUILTINS, GOOD)
    (line,) = log
    assert (line["event"], line["log_level"]) == ("fetcher_left_out", "warning")
    assert why in line["detail"]


def test_of_two_plug_ins_of_one_name_the_first_stays(log: Lines) -> None:
    assert load_builtins([here("GOOD"), here("SECOND")]) == (*BUILTINS, GOOD)
    assert "taken" in log[0]["detail"]


def test_a_built_in_name_is_its_address() -> None:
    assert FEED.base_url == "inproc:feed"
