"""Every code that can be met is explained."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.feeds.fetch import failures
from headwater.feeds.fetch.failures import FAILURE_TEXTS, status_code_name
from headwater.subscriptions.fetchers.fetcher_reports import FETCHER_ERROR
from headwater.web import transfer

SRC = Path(failures.__file__).parents[2]
SPEAKERS = [
    *sorted((SRC / "feeds" / "fetch").glob("*.py")),
    *sorted((SRC / "web").glob("*.py")),
    SRC / "subscriptions" / "fetchers" / "fetcher_reports.py",
]
TAKES_A_CODE = {"failed": 1, "_failed": 0, "stop": 0, "_failed_answer": 1}


def codes_in(path: Path) -> Iterator[str]:
    """String constants in the places where a code stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        place = TAKES_A_CODE.get(name)
        said = [] if place is None else node.args[place : place + 1]
        said += [word.value for word in node.keywords if word.arg == "error"]
        yield from (
            s.value for s in said if isinstance(s, ast.Constant) and isinstance(s.value, str)
        )


def test_every_code_that_is_used_is_explained() -> None:
    used = {code for path in SPEAKERS for code in codes_in(path)}
    used |= {transfer.trouble_code(number, has_status=False) for number in range(150)}
    used |= {transfer.trouble_code(number, has_status=True) for number in range(150)}
    used |= {status_code_name(status) for status in range(1000)}
    used |= {"bad_url", "blocked_address", "secret_unreadable"}  # an error's own code
    used |= {FETCHER_ERROR}
    assert used <= set(FAILURE_TEXTS)
    assert set(FAILURE_TEXTS) <= used, "an explanation nobody needs"


def test_explanations_are_sentences() -> None:
    for sentence in FAILURE_TEXTS.values():
        assert sentence[0].isupper()
        assert sentence.endswith(".")


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (404, "http_404"),
        (403, "http_403"),
        (418, "http_4xx"),
        (500, "http_500"),
        (599, "http_5xx"),
        (206, "unexpected_status"),
        (999, "unexpected_status"),
        (0, "unexpected_status"),
    ],
)
def test_statuses_have_codes(status: int, code: str) -> None:
    assert status_code_name(status) == code
