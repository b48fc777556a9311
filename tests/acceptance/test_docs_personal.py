"""What docs/personal.md shows at a prompt is what happens: run in order, on one real service."""

import re
from pathlib import Path

from tests.support.docs_pages import page
from tests.support.service import environment, service
from tests.support.transcripts import require_curl, run_in_order, steps

TEXT = page("docs/personal.md")
STEPS = list(steps(TEXT))


def test_the_page_shows_enough() -> None:
    assert len(STEPS) >= 20
    shown = {
        match for step in STEPS for match in re.findall(r"headwater readers (\w+)", step.command)
    }
    assert shown >= {"add", "token", "tokens", "set", "show", "list", "rotate", "revoke", "opml"}


def test_the_page_is_true(tmp_path: Path) -> None:
    """In one test, as each step stands on those before it."""
    require_curl()
    env = environment(tmp_path / "data")
    # Nobody visits: the source of the page does not exist.
    with service(env, "serve", "--port", "0") as running:
        run_in_order(STEPS, running, env, tmp_path)
