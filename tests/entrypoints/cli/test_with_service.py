"""The commands beside a running service: what people see, what programs get, how they end."""

import json
from pathlib import Path

import pytest

from tests.entrypoints.cli.conftest import Shell
from tests.support.service import RSS, Origin, until


@pytest.fixture
def feed(origin: Origin, request: pytest.FixtureRequest) -> str:
    """A feed's URL that no other test has."""
    path = f"/{request.node.name}.xml"
    origin.pages[path] = ("application/rss+xml", RSS)
    return origin.url(path)


@pytest.fixture
def followed(sh: Shell, feed: str) -> str:
    done = sh("add", feed, "--json")
    assert done.code == 0, done.err
    return str(done.json["id"])


def test_add_shows_title_kind_entries_and_next_visit(sh: Shell, feed: str) -> None:
    done = sh("add", feed)
    assert done.code == 0, done.err
    assert "River news" in done.out
    assert "rss" in done.out
    assert "2 entries" in done.out
    assert "next visit" in done.out
    assert "(in " in done.out


def test_adding_twice_is_refused_with_3(sh: Shell, feed: str, followed: str) -> None:
    again = sh("add", feed)
    assert again.code == 3
    assert again.err == "headwater: This URL is followed already.\n"
    told = sh("add", feed, "--json")
    assert told.code == 3
    assert told.out == ""
    assert told.error["error"] == "duplicate_url"
    assert told.error["feed_id"] == followed


def test_a_title_and_categories_of_ones_own(sh: Shell, feed: str) -> None:
    done = sh("add", feed, "--title", "My river", "-c", "one", "-c", "two", "--json")
    assert done.json["title"] == "My river"
    assert done.json["categories"] == ["one", "two"]


def test_a_page_with_several_feeds_lists_them_when_nobody_can_be_asked(
    sh: Shell, origin: Origin
) -> None:
    done = sh("add", origin.url("/"))
    assert done.code == 2
    assert f"1  Posts  {origin.url('/feed.xml')}" in done.err
    assert f"2  Letters  {origin.url('/atom.xml')}" in done.err


def test_yes_takes_the_first_feed_of_a_page(sh: Shell, origin: Origin) -> None:
    origin.pages["/chosen.xml"] = ("application/rss+xml", RSS)
    origin.pages["/chosen"] = (
        "text/html",
        b'<html><head><link rel="alternate" type="application/rss+xml" href="/chosen.xml">'
        b'<link rel="alternate" type="application/rss+xml" href="/other.xml"></head></html>',
    )
    done = sh("add", origin.url("/chosen"), "--yes", "--json")
    assert done.code == 0, done.err
    assert done.json["url"] == origin.url("/chosen.xml")


def test_what_a_page_links_to_is_told_by_its_address(sh: Shell, origin: Origin) -> None:
    """Else a dead link reads as if the page itself were not there."""
    origin.pages["/page-of-one"] = (
        "text/html",
        b'<link rel="alternate" type="application/rss+xml" href="/dead-link.xml">',
    )
    done = sh("add", origin.url("/page-of-one"))
    assert done.code == 6
    assert f"It links to {origin.url('/dead-link.xml')}\n" in done.err


def test_what_is_no_feed_is_refused_with_what_was_received(sh: Shell, origin: Origin) -> None:
    done = sh("add", origin.url("/plain"))
    assert done.code == 2
    assert "not a feed" in done.err
    assert "status: 200" in done.err
    assert "content type: text/html" in done.err
    assert "Nothing here" in done.err


def test_a_server_without_the_document_is_6(sh: Shell, origin: Origin) -> None:
    assert sh("add", origin.url("/no-such-thing")).code == 6


@pytest.mark.parametrize("url", ["not a url", "file:///etc/passwd", "http://10.0.0.1/feed"])
def test_a_url_we_would_never_ask_for_is_2(sh: Shell, url: str) -> None:
    done = sh("add", url)
    assert done.code == 2
    assert done.err.startswith("headwater: ")


def test_list_and_show_for_people_and_for_programs(sh: Shell, feed: str, followed: str) -> None:
    listed = sh("list")
    assert listed.code == 0
    assert followed in listed.out
    assert followed in {each["id"] for each in sh("list", "--json").json}
    shown = sh("show", feed)
    assert shown.code == 0, shown.err
    assert "reason" in shown.out
    assert "2 new entries" in shown.out
    assert "fetched" in shown.out
    record = sh("show", feed, "--json").json
    assert record["id"] == followed
    assert record["visits"][0]["new_entries"] == 2


def test_a_feed_is_found_by_id_by_its_beginning_by_url_and_by_title(
    sh: Shell, feed: str, followed: str
) -> None:
    sh("set", feed, "title=Only this one has Zebras")
    for name in (followed, followed[:35], feed, "zebras"):
        assert sh("show", name, "--json").json["id"] == followed, name


def test_a_feed_that_is_not_there_is_4(sh: Shell) -> None:
    for name in ("no such feed at all", "00000000-0000-0000-0000-000000000000"):
        done = sh("show", name)
        assert done.code == 4
        assert done.err.startswith("headwater: ")


@pytest.mark.parametrize("blank", ["", " "])
def test_an_empty_name_means_no_feed_and_nothing_is_removed(
    alone: Shell, origin: Origin, blank: str
) -> None:
    """A script's variable that was never set must not choose the one feed that has no title."""
    assert alone("add", origin.url("/untitled.xml"), "--later").code == 0
    for command in (
        ("show", blank),
        ("remove", blank, "--hard", "--yes"),
        ("unsubscribe", blank, "--hard", "--yes"),
        ("fetchers", "disable", blank),
        ("entries", "--feed", blank),
        ("export", "entries", "--feed", blank),
        ("reparse", "--feed", blank),
    ):
        done = alone(*command)
        assert done.code == 2, command
        assert "an empty name means none" in done.err
    assert len(alone("list", "--json").json) == 1


def test_an_empty_name_means_no_group(alone: Shell) -> None:
    assert alone("groups", "create", "Only").code == 0
    assert alone("groups", "delete", "").code == 2
    assert len(alone("groups", "list", "--json").json) == 1


def test_bytes_that_are_no_text_are_2(alone: Shell) -> None:
    for command in (("readers", "add", "\udcff"), ("entries", "--search", "\udcff")):
        done = alone(*command)
        assert done.code == 2, command
        assert done.err == "headwater: What was given is not text in UTF-8.\n"


def test_several_feeds_that_fit_are_listed_with_2(sh: Shell, origin: Origin) -> None:
    for name in ("twin-a", "twin-b"):
        origin.pages[f"/{name}.xml"] = ("application/rss+xml", RSS)
        assert sh("add", origin.url(f"/{name}.xml"), "--title", name).code == 0
    done = sh("show", "twin")
    assert done.code == 2
    assert "2 feeds fit 'twin'" in done.err
    assert "twin-a" in done.err
    assert "twin-b" in done.err
    assert sh("show", "twin-a", "--json").json["title"] == "twin-a"


def test_entries_by_feed_time_category_and_words(sh: Shell, feed: str, followed: str) -> None:
    def titles(*args: str) -> set[str]:
        return {each["title"] for each in sh("entries", "--feed", feed, *args, "--json").json}

    assert titles() == {"First post", "Second post"}
    assert titles("--since", "1h") == {"First post", "Second post"}
    assert titles("--until", "1h") == set()
    assert titles("--category", "water") == {"First post"}
    assert titles("--search", "second") == {"Second post"}
    assert len(titles("--limit", "1")) == 1
    assert "First post" in sh("entries", "--feed", feed).out
    assert sh("entries", "--feed", feed, "--since", "soon").code == 2


def test_raw_gives_the_exact_bytes_and_their_record(sh: Shell, feed: str, followed: str) -> None:
    entry = sh("entries", "--feed", feed, "--limit", "1", "--json").json[0]
    fetch_id = entry["raw_refs"][0]["fetch_id"]
    assert sh("raw", fetch_id).raw == RSS
    record = sh("raw", fetch_id, "--meta").json
    assert record["url"] == feed
    assert record["http_status"] == 200
    assert sh("raw", "00000000-0000-0000-0000-000000000000").code == 4


def test_pause_resume_set_and_remove(sh: Shell, feed: str, followed: str) -> None:
    assert sh("pause", feed, "--json").json["state"] == "paused"
    assert sh("refetch", feed).code == 3
    assert sh("resume", feed, "--json").json["state"] == "active"
    changed = sh(
        "set", feed, "interval_sec=2h", "title=Mine", "categories=a,b", "priority=7", "--json"
    )
    assert changed.json["overrides"]["interval_sec"] == 7200
    assert changed.json["title"] == "Mine"
    assert changed.json["categories"] == ["a", "b"]
    assert changed.json["priority"] == 7
    assert sh("set", feed, "interval_sec=", "--json").json["overrides"]["interval_sec"] is None
    unknown = sh("set", feed, "colour=red")
    assert unknown.code == 2
    assert "colour" in unknown.err
    assert "There is no 'colour' to set. There are: archive_backfill, categories," in unknown.err
    assert sh("set", feed, "nonsense").code == 2
    assert sh("remove", feed, "--hard").code == 2
    removed = sh("remove", feed, "--yes")
    assert removed.code == 0
    assert followed not in {each["id"] for each in sh("list", "--json").json}


def test_what_was_removed_is_told_to_programs_too(sh: Shell, origin: Origin) -> None:
    origin.pages["/to-remove.xml"] = ("application/rss+xml", RSS)
    url = origin.url("/to-remove.xml")
    feed_id = sh("add", url, "--json").json["id"]
    assert sh("remove", url, "--yes", "--json").json == {
        "feed_id": feed_id,
        "url": url,
        "removed": True,
        "hard": False,
        "history": "kept",
    }
    refused = sh("remove", url, "--yes", "--json")
    assert (refused.code, refused.out) == (4, "")


def test_refetch_brings_a_new_visit_and_its_history(
    sh: Shell, origin: Origin, feed: str, followed: str
) -> None:
    path = feed.removeprefix(origin.url(""))
    before = origin.asked.count(path)
    done = sh("refetch", feed)
    assert done.code == 0, done.err
    until(lambda: origin.asked.count(path) > before)
    until(lambda: len(sh("visits", feed, "--json").json) == 2)
    assert "fetched" in sh("visits", feed).out or "unchanged" in sh("visits", feed).out
    kept = [each["fetch_id"] for each in sh("visits", feed, "--json").json if each["fetch_id"]]
    assert kept
    assert all(fetch_id in sh("visits", feed).out for fetch_id in kept)
    decisions = sh("schedule", feed, "--json").json
    assert len(decisions) == 2
    assert all(decision["reason"] for decision in decisions)
    assert "new entries" in sh("schedule", feed).out


def test_tokens_are_made_listed_and_revoked(sh: Shell) -> None:
    made = sh("tokens", "create", "a reader", "--scope", "read")
    assert made.code == 0, made.err
    assert made.out.strip().startswith("hw_")
    assert "not shown again" in made.err
    listed = sh("tokens", "list", "--json").json
    (token,) = [each for each in listed if each["name"] == "a reader"]
    assert made.out.strip() not in json.dumps(listed)
    assert sh("tokens", "revoke", str(token["id"])).code == 0
    assert "revoked" in sh("tokens", "list").out
    assert sh("tokens", "revoke", "999999").code == 4


def test_a_list_is_imported_row_by_row_and_exported_again(
    sh: Shell, origin: Origin, tmp_path: Path, followed: str, feed: str
) -> None:
    file = tmp_path / "feeds.opml"
    origin.pages["/listed.xml"] = ("application/rss+xml", RSS)
    file.write_text(
        f"""<opml version="2.0"><body><outline text="Water">
        <outline type="rss" text="Listed" xmlUrl="{origin.url("/listed.xml")}"/>
        <outline type="rss" text="Here" xmlUrl="{feed}"/></outline>
        <outline type="rss" text="Inside" xmlUrl="http://192.168.0.1/feed"/>
        <outline type="rss" text="Lost" xmlUrl=""/></body></opml>"""
    )
    done = sh("opml", "import", str(file), "--json")
    assert done.code == 1
    assert [(row["title"], row["result"]) for row in done.json] == [
        ("Listed", "added"),
        ("Here", "already there"),
        ("Inside", "refused"),
        ("Lost", "refused"),
    ]
    assert done.json[1]["feed_id"] == followed
    assert done.json[2]["why"]
    assert done.json[3]["why"] == "The list has no address for it."
    again = sh("opml", "import", "-", given=file.read_bytes())
    assert again.code == 1
    assert "0 added, 2 already there, 2 refused" in again.out
    exported = sh("opml", "export")
    assert origin.url("/listed.xml") in exported.out
    assert 'text="Water"' in exported.out
    assert sh("opml", "export", str(tmp_path / "out.opml")).code == 0
    assert sh("opml", "import", str(tmp_path / "out.opml")).code == 0


@pytest.mark.parametrize("content", ["", "not a list", "<rss/>"])
def test_what_is_no_list_is_2(sh: Shell, content: str) -> None:
    assert sh("opml", "import", "-", given=content).code == 2


def test_control_characters_of_a_feed_do_not_reach_the_terminal(sh: Shell, origin: Origin) -> None:
    evil = RSS.replace(b"River news", b"Evil &#x9b;31m [red]name[/red] &#x202e;txt")
    origin.pages["/evil.xml"] = ("application/rss+xml", evil)
    done = sh("add", origin.url("/evil.xml"))
    assert done.code == 0, done.err
    assert "[red]name[/red]" in done.out
    assert not {"\x9b", "\x1b", "\u202e"} & set(done.out + sh("list").out)


def test_an_address_elsewhere_may_stand_before_or_after_the_command(sh: Shell) -> None:
    for args in (("--url", "http://127.0.0.1:1", "list"), ("list", "--url=http://127.0.0.1:1")):
        done = sh(*args)
        assert done.code == 5
        assert "No answer from Headwater at http://127.0.0.1:1" in done.err


def test_doctor_is_content_beside_a_running_service(sh: Shell) -> None:
    done = sh("doctor", "--json")
    checks = {check["name"]: check for check in done.json}
    assert done.code == 0, done.out
    assert checks["service"]["state"] == "ok"
    assert checks["schema"]["state"] == "ok"
    assert checks["workers"]["state"] == "ok"
    assert checks["contact"]["state"] == "warning"
    assert "HEADWATER_USER_AGENT_CONTACT" in checks["contact"]["todo"]
    seen = {"Python", "SQLite", "libcurl", "libxml2", "OpenSSL", "parser", "disk", "clock"}
    assert seen <= set(checks)
    assert "what to do" in sh("doctor").out


def test_migrating_under_a_running_service_is_refused(sh: Shell) -> None:
    assert sh("migrate").code == 3


def test_a_change_is_shown_and_the_archive_read_again(
    sh: Shell, origin: Origin, feed: str, followed: str
) -> None:
    path = feed.removeprefix(origin.url(""))
    origin.pages[path] = ("application/rss+xml", RSS.replace(b"First post", b"Better post"))
    sh("refetch", feed)
    until(lambda: len(sh("visits", feed, "--json").json) == 2)
    newest = sh("visits", feed, "--json").json[0]["fetch_id"]
    shown = sh("diff", newest)
    assert shown.code == 0, shown.err
    assert "changed silently" in shown.out
    assert "Better post" in shown.out
    said = sh("diff", newest, "--json").json
    assert [(e["kind"], e["entry_uid"]) for e in said["entries"]] == [("changed", "one")]
    again = sh("reparse", "--feed", feed)
    assert again.code == 0, again.err
    assert "2 payloads of 1 feed read again: 2 entries say the same, 0 were changed" in again.out
    assert sh("reparse", "--feed", feed, "--dry-run", "--json").json["payloads"] == 2
    assert sh("diff", "00000000-0000-0000-0000-000000000000").code == 4
