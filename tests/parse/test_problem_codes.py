"""Every code that `problems` can carry is explained in the parser's page."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"(?:note|within)\((?:[^\"()]*)\"([a-z_]+)\"")


def codes_in_source() -> set[str]:
    found: set[str] = set()
    for path in (ROOT / "src" / "headwater" / "parse").glob("*.py"):
        found |= set(CODE.findall(path.read_text("utf-8")))
    return found


def test_every_problem_is_documented() -> None:
    page = (ROOT / "docs" / "parser.md").read_text("utf-8")
    codes = codes_in_source()
    assert len(codes) > 30
    assert [code for code in sorted(codes) if f"`{code}`" not in page] == []
