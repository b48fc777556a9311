"""Every bug can be planted into the source as it is today."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.seeded import BUGS as CRASH_BUGS
from tests.media.seeded import BUGS as DOWNLOAD_BUGS
from tests.seeded.bugs import BUGS as SUITE_BUGS
from tests.seeded.bugs import place_of_test
from tests.support.planted_bugs import Bug, package_modules, planted_modules

BUGS: tuple[Bug, ...] = (*CRASH_BUGS, *DOWNLOAD_BUGS, *SUITE_BUGS)
RUFF = Path(sys.executable).with_name("ruff")


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted")
    for number, bug in enumerate(BUGS):
        for path, text in planted_modules(bug, package_modules()).items():
            place = folder / str(number) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")
    return folder


def test_there_are_twenty_five_bugs() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS) == 25


def test_every_bug_can_be_planted_and_uses_only_names_that_are_there(planted: Path) -> None:
    assert len(list(planted.iterdir())) == 25
    ruff = subprocess.run(
        [RUFF, "check", "--isolated", "--no-cache", "--select=F821", str(planted)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ruff.returncode == 0, ruff.stdout


def test_every_bug_is_written_down() -> None:
    page = (Path(__file__).parents[2] / "docs" / "invariants.md").read_text("utf-8")
    assert [bug.name for bug in BUGS if f"| {bug.name} |" not in page] == []


def test_the_test_that_finds_a_bug_is_there_once() -> None:
    assert len({place_of_test(bug.found_by) for bug in SUITE_BUGS}) == 6
