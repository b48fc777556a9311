"""What docs/registry.md shows at a prompt is what happens: run in order, on one real service."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import page
from tests.entrypoints.running import HEADWATER, SECONDS, Service, environment, service

CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
ANYTHING = "…"


@dataclass(frozen=True)
class Step:
    """One command and what the page says it prints."""

    command: str
    shown: str


def steps(text: str) -> Iterator[Step]:
    for block in CONSOLE.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield Step(command, shown)


STEPS = list(steps(page("docs/registry.md")))


def test_the_page_shows_enough() -> None:
    assert len(STEPS) >= 25
    assert {"curl", "headwater", "echo"} == {step.command.split()[0] for step in STEPS}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, dict[str, str]]]:
    if shutil.which("curl") is None:
        missing = "curl is not installed, and the page shows it"
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
    folder = tmp_path_factory.mktemp("registry")
    env = environment(
        folder, HEADWATER_ALLOW_ADDRESSES="127.0.0.1:9801", HEADWATER_REFETCH_MIN_SECONDS="0"
    )
    # Nobody visits: the sources of the page do not exist.
    with service(env, "serve", "--port", "0") as running:
        yield running, env


def test_the_page_is_true(here: tuple[Service, dict[str, str]], tmp_path: Path) -> None:
    """In one test, as each step stands on those before it."""
    running, env = here
    tool = tmp_path / "headwater"
    tool.write_text(f'#!/bin/sh\nexec {shlex.join(HEADWATER)} "$@"\n')
    tool.chmod(0o755)
    path = {"PATH": f"{tmp_path}:{Path(sys.executable).parent}:/usr/bin:/bin"}
    for step in STEPS:
        command = step.command.replace("localhost:8470", running.url.removeprefix("http://"))
        ran = subprocess.run(
            ["/bin/sh", "-c", command],
            env=env | path,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        printed = ran.stdout + ("" if ran.stdout else ran.stderr)
        assert not _difference(step.shown, printed), (
            f"$ {step.command}\nsaid on the page:\n{step.shown}\nreally:\n{printed}"
        )


def _difference(shown: str, printed: str) -> str:
    if shown.lstrip().startswith("{"):
        return _unlike(json.loads(shown), json.loads(printed), "answer")
    wanted, found = _words(shown), _words(printed)
    if len(wanted) != len(found):
        return f"{len(wanted)} lines, not {len(found)}"
    unlike = [w for w, f in zip(wanted, found, strict=True) if not re.fullmatch(_pattern(w), f)]
    return "; ".join(unlike)


def _words(text: str) -> list[str]:
    """Lines without the spaces that tables are made of."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def _pattern(line: str) -> str:
    return re.escape(line).replace(ANYTHING, ".*")


def _unlike(shown: Any, real: Any, where: str) -> str:
    """Every field on the page is in the answer; the answer may have more fields, not more items."""
    if shown == ANYTHING:
        return ""
    if isinstance(shown, dict) and isinstance(real, dict):
        pairs = [(name, shown[name], real.get(name, "nothing")) for name in shown]
        return "".join(_unlike(s, r, f"{where}.{name}") for name, s, r in pairs)
    if isinstance(shown, list) and isinstance(real, list) and len(shown) == len(real):
        both = zip(shown, real, strict=True)
        return "".join(_unlike(s, r, f"{where}[{n}]") for n, (s, r) in enumerate(both))
    return "" if shown == real else f"{where}: {shown!r} is really {real!r}. "
