"""What docs/registry.md shows at a prompt is what happens: run in order, on one real service."""

from pathlib import Path

from tests.support.docs_pages import page
from tests.support.service import environment, service
from tests.support.transcripts import require_curl, run_in_order, steps

STEPS = list(steps(page("docs/registry.md")))


def test_the_page_shows_enough() -> None:
    assert len(STEPS) >= 25
    assert {"curl", "headwater", "echo"} == {step.command.split()[0] for step in STEPS}


def test_the_page_is_true(tmp_path: Path) -> None:
    """In one test, as each step stands on those before it."""
    require_curl()
    env = environment(
        tmp_path / "data",
        HEADWATER_ALLOW_ADDRESSES="127.0.0.1:9801",
        HEADWATER_REFETCH_MIN_SECONDS="0",
    )
    # Nobody visits: the sources of the page do not exist.
    with service(env, "serve", "--port", "0") as running:
        run_in_order(STEPS, running, env, tmp_path)
