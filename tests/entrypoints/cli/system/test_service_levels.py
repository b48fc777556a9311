"""`headwater stats` and `headwater slo`: figures for people, JSON and exit codes for programs."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.entrypoints.cli.conftest import Shell
from tests.support.service import Origin


def test_the_figures_of_a_feed_just_added(alone: Shell, origin: Origin) -> None:
    added = alone("add", origin.url("/feed.xml"), "--json")
    assert added.code == 0, added.err
    said = alone("stats", added.json["id"], "--json").json
    body = len(origin.pages["/feed.xml"][1])
    assert (said["fetch_count"], said["success_rate"], said["window"]) == (1, 1.0, "7d")
    assert (said["bytes_in"], said["decoded_bytes"], said["new_entries"]) == (body, body, 2)
    shown = alone("stats", "River news", "--window", "all")
    assert shown.code == 0, shown.err
    lines = [" ".join(line.split()) for line in shown.out.splitlines()]
    assert "fetches 1" in lines
    assert "successes 100.0%" in lines
    assert "compression 1.0 times smaller on the wire" in lines
    assert "new entries per fetch 2.00" in lines


def test_a_window_that_makes_no_sense_is_wrong_usage(alone: Shell, origin: Origin) -> None:
    alone("add", origin.url("/feed.xml"))
    assert alone("stats", "River news", "--window", "weeks").code == 2
    assert alone("slo", "--window", "all").code == 2
    assert alone("stats", "nothing like it").code == 4


def test_promises_that_are_kept_are_fine(alone: Shell, origin: Origin) -> None:
    nothing_yet = alone("slo")
    assert nothing_yet.code == 0, nothing_yet.err
    alone("add", origin.url("/feed.xml"))
    kept = alone("slo")
    assert (kept.code, kept.err) == (0, "")
    assert "95% of active feeds are visited within 2 times" in kept.out
    assert alone("slo", "--json").json["met"] is True


def test_a_broken_promise_ends_with_1_and_names_the_feed(alone: Shell, origin: Origin) -> None:
    feed = alone("add", origin.url("/feed.xml"), "--json").json["id"]
    with closing(sqlite3.connect(Path(alone.env["HEADWATER_DATA_DIR"]) / "headwater.db")) as db:
        db.execute("UPDATE feeds SET last_decision_at = 1, scheduled_at = 2")
        db.commit()
    broken = alone("slo")
    assert broken.code == 1
    assert feed in broken.out
    told = alone("slo", "--json", "--worst", "3")
    assert (told.code, told.json["met"]) == (1, False)
    assert [level["met"] for level in told.json["levels"]] == [None, None, False]
