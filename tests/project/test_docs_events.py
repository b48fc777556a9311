"""Every event type and every code a visit can fail with is explained."""

import pytest

from headwater.events.event import EVENT_TYPES
from headwater.feeds.fetch.failures import FAILURE_TEXTS
from tests.support.docs_pages import rows

EVENTS = rows("docs/events.md")
CODES = rows("docs/operations.md")


@pytest.mark.parametrize("name", EVENT_TYPES)
def test_an_event_is_documented(name: str) -> None:
    assert name in EVENTS, f"docs/events.md has no row for {name}"


@pytest.mark.parametrize("code", FAILURE_TEXTS)
def test_a_visits_error_code_is_documented_in_the_same_words(code: str) -> None:
    assert code in CODES, f"docs/operations.md has no row for {code}"
    assert CODES[code][0] == FAILURE_TEXTS[code]
