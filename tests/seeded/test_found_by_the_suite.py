"""The suite proves itself: with a bug planted, the test that is meant to find it fails."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.seeded.bugs import BUGS, SuiteBug, place_of_test
from tests.seeded.only_the_copy import COPY
from tests.support.planted_bugs import Bug, plant

ROOT = Path(__file__).parents[2]
PASSED, FAILED = 0, 1
"""Exit codes of pytest. Others say that a file could not be read, or that no test was found."""


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_suite_finds(bug: SuiteBug, tmp_path: Path) -> None:
    run = run_tests([bug.found_by], plant(bug, tmp_path))
    assert run.returncode == FAILED, run.stdout + run.stderr
    assert f"::{bug.found_by}" in run.stdout.partition("\nFAILED ")[2], run.stdout


def test_the_same_tests_pass_without_a_bug(tmp_path: Path) -> None:
    run = run_tests([bug.found_by for bug in BUGS], plant(Bug("none", ()), tmp_path))
    assert run.returncode == PASSED, run.stdout + run.stderr


def run_tests(names: Iterable[str], source: Path) -> subprocess.CompletedProcess[str]:
    """These tests, run on the Headwater in `source`."""
    plugins = ["-p", "tests.seeded.only_the_copy", "-p", "no:cacheprovider"]
    places = map(place_of_test, names)
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "-rf", "--tb=short", *places],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(source),
            "PYTHONPYCACHEPREFIX": str(source.parent / "compiled"),
            COPY: str(source),
        },
        capture_output=True,
        text=True,
        check=False,
    )
