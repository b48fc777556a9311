"""Every code a visit can fail with has somebody whose fault it is."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.adapters.parse_processes import link, pool
from headwater.feeds import fetch, judge_visit, read_document
from headwater.feeds.fetch.failures import FAILURE_TEXTS, FAULTS, codes_of, fault_of
from headwater.statistics.fetcher_counts import UNJUDGED_ERRORS
from tests.support.docs_pages import rows

SRC = Path(fetch.__file__).parents[2]
SPEAKERS = [Path(str(room.__file__)) for room in (read_document, pool, link, judge_visit)]
SPEAKERS += [SRC / "feeds/visit.py"]


def constants(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def codes_in(path: Path) -> Iterator[str]:
    """First arguments of Unreadable and Trouble, `error=…`, and `"error": …` in an answer."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in {"UnreadableDocument", "Trouble"}:
                yield from (each for arg in node.args[:1] for each in constants(arg))
            said = [word.value for word in node.keywords if word.arg == "error"]
            yield from (each for value in said for each in constants(value))
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "error":
                    yield from constants(value) if isinstance(value, ast.Constant) else ()


def every_code() -> set[str]:
    spoken = {code for path in SPEAKERS for code in codes_in(path)} - {"error"}
    # What a status alone says, and what the parse processes can end with.
    statuses = {"http_410", "http_429", "http_503"}
    return (
        set(FAILURE_TEXTS)
        | spoken
        | statuses
        | read_document.DEADLY
        | read_document.NOT_THE_DOCUMENTS_FAULT
    )


def test_no_code_is_missing_and_none_is_made_up() -> None:
    assert set(FAULTS) == every_code()


def test_the_codes_were_really_found() -> None:
    found = {code for path in SPEAKERS for code in codes_in(path)}
    assert {"not_a_feed", "parse_error", "quarantined", "internal_error"} <= found
    assert {"parser_crashed", "parser_timeout", "parser_memory", "parser_unavailable"} <= found


def test_a_code_nobody_knows_is_our_own_mistake() -> None:
    assert fault_of("something_new") == "ours"


def test_the_three_parts_are_the_whole() -> None:
    parts = [codes_of("ours"), codes_of("theirs"), codes_of("network")]
    assert sorted(code for part in parts for code in part) == sorted(FAULTS)


def test_what_any_fetcher_would_have_met_is_nobodys_network() -> None:
    assert "network" not in {FAULTS[code] for code in UNJUDGED_ERRORS}


@pytest.mark.parametrize("code", sorted(FAULTS))
def test_the_page_says_whose_fault_it_is(code: str) -> None:
    documented = rows("docs/operations.md")
    assert code in documented, f"docs/operations.md has no row for {code}"
    assert documented[code][1] == FAULTS[code]
