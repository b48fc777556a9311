"""What a page shows at a prompt, run in order on one real service."""

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

from tests.support.service import HEADWATER, SECONDS, Service

CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
ANYTHING = "…"
USUAL = "8470"


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


def require_curl() -> None:
    if shutil.which("curl") is None:
        missing = "curl is not installed, and the page shows it"
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)


def run_in_order(every: list[Step], running: Service, env: dict[str, str], folder: Path) -> None:
    """Each step stands on those before it; files they write are in `folder`."""
    tools = folder / "tools"
    tools.mkdir()
    tool = tools / "headwater"
    tool.write_text(f'#!/bin/sh\nexec {shlex.join(HEADWATER)} "$@"\n')
    tool.chmod(0o755)
    path = {"PATH": f"{tools}:{Path(sys.executable).parent}:/usr/bin:/bin"}
    port = running.url.rpartition(":")[2]
    for step in every:
        ran = subprocess.run(
            ["/bin/sh", "-c", step.command.replace(f"localhost:{USUAL}", f"127.0.0.1:{port}")],
            env=env | path,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        printed = ran.stdout + ("" if ran.stdout else ran.stderr)
        shown = step.shown.replace(f"127.0.0.1:{USUAL}", f"127.0.0.1:{port}")
        assert not difference(shown, printed), (
            f"$ {step.command}\nsaid on the page:\n{step.shown}\nreally:\n{printed}{ran.stderr}"
        )


def difference(shown: str, printed: str) -> str:
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
