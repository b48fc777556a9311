"""Records as people see them."""

from datetime import UTC, datetime
from io import StringIO
from typing import Any

from rich.console import Console, RenderableType

from headwater.entrypoints.cli.entries import entries_table
from headwater.entrypoints.cli.feed_tables import (
    feed_details,
    feed_state,
    feeds_table,
    hints_in_words,
    visits_table,
)
from headwater.entrypoints.cli.terminal import make_printable, one_line

NOW = datetime(2026, 3, 15, 12, 0, tzinfo=UTC)


def shown(what: RenderableType, width: int = 160) -> str:
    out = StringIO()
    Console(file=out, width=width, highlight=False).print(what)
    return out.getvalue()


def a_feed(**changes: Any) -> dict[str, Any]:
    feed = {
        "id": "01a1dfd7-b50f-7559-ace8-794a8853ea9c",
        "url": "https://example.org/feed.xml",
        "type": "rss",
        "title": "River news",
        "home_link": "https://example.org/",
        "state": "active",
        "categories": ["water"],
        "overrides": {"title": None, "interval_sec": None, "push_only": False, "verify_tls": True},
        "validators": {"etag": '"abc"', "last_modified": None},
        "schedule": {
            "interval_sec": 900,
            "next_visit_at": "2026-03-15T12:10:00Z",
            "reason": "in 10 min: 1 new entry",
        },
        "publisher_hints": {"ttl_minutes": 60, "skip_hours": [3, 4], "skip_days": ["Sun"]},
        "stats": {
            "last_fetch_at": "2026-03-15T11:55:00Z",
            "last_success_at": None,
            "consecutive_failures": 0,
            "ewma_interarrival_sec": None,
            "new_entries_last_fetch": 1,
        },
    }
    return feed | changes


def test_a_feed_in_a_list_has_its_last_and_next_visit() -> None:
    said = shown(feeds_table([a_feed()], NOW))
    assert "River news" in said
    assert "5 min ago" in said
    assert "in 10 min" in said


def test_a_feed_shows_why_it_is_visited_when_it_is() -> None:
    said = shown(feed_details(a_feed(), NOW))
    assert "in 10 min: 1 new entry" in said
    assert 'ETag "abc"' in said
    assert "ttl 1 h; not at 3:00, 4:00 UTC; not on Sun" in said
    assert "own settings" not in said


def test_only_settings_of_its_own_are_shown() -> None:
    own = {"title": "River news", "interval_sec": 7200, "push_only": False, "verify_tls": False}
    said = shown(feed_details(a_feed(overrides=own), NOW))
    assert "interval_sec=7200, verify_tls=False" in said


def test_an_active_feed_that_fails_again_and_again_is_called_failing() -> None:
    stats = a_feed()["stats"]
    assert feed_state(a_feed(stats=stats | {"consecutive_failures": 2})) == "active"
    assert feed_state(a_feed(stats=stats | {"consecutive_failures": 3})) == "failing"
    paused = a_feed(state="paused", stats=stats | {"consecutive_failures": 9})
    assert feed_state(paused) == "paused"


def test_no_hints_are_said_to_be_none() -> None:
    assert hints_in_words({"ttl_minutes": None, "skip_hours": None, "skip_days": None}) == "none"


def test_a_failed_visit_says_what_went_wrong_instead_of_the_plan() -> None:
    visit = {
        "started_at": "2026-03-15T11:55:00Z",
        "outcome": "failed",
        "status": 500,
        "error": "server_error",
        "error_detail": "HTTP status 500",
        "bytes_in": 12_345,
        "new_entries": 0,
        "updated_entries": 0,
        "latency_ms": 12.6,
        "reason": "in 1 h: 2nd failure in a row",
    }
    said = shown(visits_table([visit], NOW))
    assert "HTTP status 500" in said
    assert "12,345" in said
    assert "13 ms" in said


def test_a_visit_shows_the_id_of_its_payload_whole_on_eighty_columns() -> None:
    visit = {
        "started_at": "2026-03-15T11:55:00Z",
        "outcome": "throttled",
        "status": 429,
        "bytes_in": 1_234_567,
        "new_entries": 12,
        "updated_entries": 3,
        "latency_ms": 1_234.4,
        "reason": "in 15 min: the host asked for a rest of fifteen minutes",
        "fetch_id": "0197c1f0-5b0e-7c4e-9d1b-3f6f2f0a9b11",
    }
    unchanged = visit | {"outcome": "unchanged", "status": 304, "fetch_id": None}
    said = shown(visits_table([visit, unchanged], NOW), width=80)
    lines = [line.strip() for line in said.splitlines()]
    assert "0197c1f0-5b0e-7c4e-9d1b-3f6f2f0a9b11" in lines
    assert "12 new, 3 edited, 1,234,567 bytes," in said
    assert "throttled 429" in said
    assert "unchanged 304" in said
    assert len(lines) <= 12


def test_markup_and_escapes_in_titles_stay_text() -> None:
    entry = {
        "entry_uid": "u",
        "title": "[bold]x[/bold] \x1b[31mred\x1b[0m",
        "canonical_link": None,
        "published": None,
        "first_seen": "2026-03-15T11:55:00Z",
    }
    said = shown(entries_table([entry], NOW))
    assert "[bold]x[/bold]" in said
    assert "\x1b" not in said


def test_text_from_outside_is_one_line_of_bounded_length() -> None:
    assert one_line(" a\n\tb\u2028c \r\n d\x00 ") == "a b c d\N{REPLACEMENT CHARACTER}"
    assert one_line("x" * 600) == "x" * 499 + "…"


def test_line_breaks_survive_where_they_may() -> None:
    assert make_printable("one\ntwo\x00") == "one\ntwo\N{REPLACEMENT CHARACTER}"
