"""How late new entries were seen: known only where the moment of publication is believable."""

import pytest

from headwater.feeds.entries.entry import NormalisedEntry
from headwater.feeds.merge.lateness import Lateness, lateness

SECOND = 1_000_000
LOOKED, NOW = 1_000 * SECOND, 1_600 * SECOND

PLAIN = NormalisedEntry(
    uid="1", uid_key=b"1", link=None, link_key=None, title=None, summary=None, content=None,
    authors="[]", categories="[]", enclosures="[]", details="{}", published=None, updated=None,
    content_hash="", offset=None, length=None,
)  # fmt: skip


def published(*seconds: int | None) -> list[NormalisedEntry]:
    return [PLAIN._replace(published=None if at is None else at * SECOND) for at in seconds]


def test_entries_published_between_two_looks_were_seen_so_late() -> None:
    assert lateness(published(1_590, 1_570), LOOKED, NOW) == Lateness(2, 40.0, 1_000.0)


@pytest.mark.parametrize("at", [None, 999, 1_601, 0, -5])
def test_other_dates_say_nothing(at: int | None) -> None:
    """Without a date, from before the last look (it was not there then), from the future."""
    assert lateness(published(at), LOOKED, NOW) == Lateness(0, 0.0, 0.0)
    assert lateness(published(at, 1_590), LOOKED, NOW) == Lateness(1, 10.0, 100.0)


def test_the_bounds_belong_to_it() -> None:
    assert lateness(published(1_000, 1_600), LOOKED, NOW) == Lateness(2, 600.0, 360_000.0)


def test_a_first_document_says_nothing() -> None:
    assert lateness(published(1_590), None, NOW) == Lateness(0, 0.0, 0.0)
