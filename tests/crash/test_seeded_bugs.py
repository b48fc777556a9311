"""The harness proves itself: each bug planted into a copy of the product is named by the audit."""

from pathlib import Path

import pytest

from tests.crash.audit import Broken
from tests.crash.ordeal import Ordeal, open_crowd
from tests.crash.seeded import BUGS, AuditedBug
from tests.crash.sinks import Brokers, all_sinks
from tests.support.origin import Origin
from tests.support.planted_bugs import plant

pytestmark = pytest.mark.crash

FEEDS = 30
MOST_ROUNDS = 12


async def found(ordeal: Ordeal, bug: AuditedBug) -> list[Broken]:
    """What the audit says first, within a few rounds."""
    act = ordeal.pause if bug.needs_two_workers else ordeal.kill
    try:
        await ordeal.begin(FEEDS)
        for _ in range(MOST_ROUNDS):
            if broken := await act():
                return broken
        return await ordeal.finish()
    finally:
        await ordeal.end()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
async def test_the_audit_names(
    long_run: None, bug: AuditedBug, tmp_path: Path, brokers: Brokers, seed: int, figures: list[str]
) -> None:
    async with Origin() as origin, all_sinks(tmp_path, brokers, seed) as sinks:
        ordeal = Ordeal(
            tmp_path,
            f"sqlite:///{tmp_path / 'headwater.sqlite'}",
            open_crowd(origin, seed),
            sinks,
            seed=seed,
            source=plant(bug, tmp_path),
            helped=bug.needs_two_workers,
        )
        broken = await found(ordeal, bug)
    rounds = ordeal.report.kills + ordeal.report.pauses
    names = {each.invariant for each in broken}
    figures.append(f"named {', '.join(sorted(names))} in round {rounds}: {broken[:1]}")
    assert names, "nobody noticed"
    assert names <= bug.found_as, "\n".join(map(str, broken))
