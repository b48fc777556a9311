"""Every code that can be met is explained."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.adapters import web_trouble
from headwater.fetch import codes
from headwater.fetch.codes import MEANINGS, status_code_name
from headwater.fetch.reported import TROUBLE_OF_ITS_OWN

SRC = Path(codes.__file__).parents[1]
SPEAKERS = [*sorted((SRC / "fetch").glob("*.py")), *sorted((SRC / "adapters").glob("web*.py"))]
TAKES_A_CODE = {"failed": 1, "_failed": 0, "stop": 0, "_unasked": 1}


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
    used |= {web_trouble.trouble_code(number, has_status=False) for number in range(150)}
    used |= {web_trouble.trouble_code(number, has_status=True) for number in range(150)}
    used |= {status_code_name(status) for status in range(1000)}
    used |= {"bad_url", "blocked_address", "secret_unreadable"}  # an error's own code
    used |= {TROUBLE_OF_ITS_OWN}
    assert used <= set(MEANINGS)
    assert set(MEANINGS) <= used, "an explanation nobody needs"


def test_explanations_are_sentences() -> None:
    for sentence in MEANINGS.values():
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
