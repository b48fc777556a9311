"""What an operator meets with many feeds, odd titles and the keyboard, in a real browser."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect

from tests.support.browser import Seen, opened
from tests.support.console_pages import go, heading, part, post
from tests.support.origin import Post, rss
from tests.support.service import Origin, Service, environment, service


def test_a_title_that_turns_letters_around_turns_nothing_of_ours(
    seen: Seen, running: Service, origin: Origin
) -> None:
    title = "News \u202e gpj.exe"
    posts = [Post("1", title, "", "https://posts.example/1")]
    origin.pages["/turned.xml"] = ("application/rss+xml", rss(posts, title=title))
    feed = post(running, "/feeds", {"url": origin.url("/turned.xml")})
    page = seen.page
    page.goto(f"{running.url}/#/feeds/{feed['id']}")
    heading(page, title)
    for within in ("main a", "main small", "main time"):
        ways = page.locator(within).evaluate_all(
            "found => found.map((each) => getComputedStyle(each).unicodeBidi)"
        )
        assert set(ways) == {"isolate"}, within
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("dialog").locator("bdi")).to_have_text(title)


def test_a_no_leaves_the_focus_where_it_was(seen: Seen, running: Service, origin: Origin) -> None:
    feed = post(running, "/feeds", {"url": origin.url("/feed.xml")})
    page = seen.page
    page.goto(f"{running.url}/#/feeds/{feed['id']}")
    remove = page.get_by_role("button", name="Remove")
    remove.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Escape")
    expect(remove).to_be_focused()


def test_what_is_not_found_among_the_feeds_shown_is_told(
    browser: Browser, tmp_path: Path, origin: Origin
) -> None:
    """Also in those that are loaded later, without pressing Enter again."""
    env = environment(tmp_path / "data", origin, HEADWATER_API_MAX_PAGE="1")
    with service(env) as running:
        post(running, "/feeds", {"url": origin.url("/feed.xml")})
        post(running, "/feeds", {"url": origin.url("/atom.xml"), "visit": "later"})
        with opened(browser, f"{running.url}/#/feeds") as seen:
            page = seen.page
            none = page.get_by_text("Not among the feeds loaded so far.")
            shown = page.locator("tbody tr:visible")
            expect(shown).to_have_count(1)
            expect(none).to_be_hidden()
            page.get_by_label("Find").fill("atom.xml")
            expect(shown).to_have_count(0)
            expect(none).to_be_visible()
            page.get_by_role("button", name="Show more").click()
            expect(shown).to_have_count(1)
            expect(shown).to_contain_text(["127.0.0.1"])
            expect(none).to_be_hidden()


def test_entries_that_come_while_somebody_looks_are_counted(
    seen: Seen, running: Service, origin: Origin
) -> None:
    page = seen.page
    figures = page.get_by_role("list", name="Figures")
    expect(figures).to_contain_text("0new entries, 24 h")
    post(running, "/feeds", {"url": origin.url("/feed.xml")})
    expect(figures).to_contain_text("2new entries, 24 h")  # with the next look


def test_the_worst_of_a_promise_stand_with_their_figure(
    seen: Seen, running: Service, origin: Origin
) -> None:
    feed = post(running, "/feeds", {"url": origin.url("/feed.xml")})
    level: dict[str, Any] = {"promise": "p", "unit": "seconds", "value": 2.0, "met": True}
    slow = {"feed_id": feed["id"], "url": "u", "value": 1.5, "detail": "on average, in 4 visits"}
    late = {"feed_id": feed["id"], "url": "u", "value": 2.44, "detail": "times 15 min"}
    levels = [
        level | {"name": "fetch_latency", "worst": [slow]},
        level | {"name": "freshness", "unit": "share", "value": 0.5, "worst": [late]},
    ]
    page = seen.page
    page.route("**/slo?*", lambda asked: asked.fulfill(json={"levels": levels}))
    page.reload()
    promises = part(page, "Promises")
    expect(promises).to_contain_text("1.50 s on average, in 4 visits")
    expect(promises).to_contain_text("2.4 times 15 min")


def test_feeds_that_recovered_hide_none_that_fails(
    seen: Seen, running: Service, origin: Origin
) -> None:
    """One that only now began to fail has the least share of failures, and is named."""
    feed = post(running, "/feeds", {"url": origin.url("/feed.xml")})
    del origin.pages["/feed.xml"]
    page = seen.page
    page.goto(f"{running.url}/#/feeds/{feed['id']}")
    page.get_by_role("button", name="Visit now").click()
    expect(page.locator(".about .badge")).to_have_text("failing")
    well = [{"feed_id": str(each), "consecutive_failures": 0} for each in range(20)]
    page.route("**/stats/worst?*", lambda asked: asked.fulfill(json={"subscriptions": well}))
    go(page, "Overview")
    expect(part(page, "Needs a look").get_by_role("link")).to_have_text(["River news"])


def test_what_a_search_finds_only_further_on_is_shown(
    browser: Browser, tmp_path: Path, origin: Origin
) -> None:
    """Letters that a database does not fold are compared one by one, so many entries at a time."""
    first = datetime(2026, 1, 5, tzinfo=UTC)
    posts = [
        Post(str(n), f"Post {n}", published=first + timedelta(minutes=n)) for n in range(58, 0, -1)
    ]
    old = Post("0", "Old peace", "мир", published=first)
    origin.pages["/long.xml"] = ("application/rss+xml", rss([*posts, old]))
    env = environment(tmp_path / "data", origin, HEADWATER_API_MAX_PAGE="1")
    with service(env) as running:
        post(running, "/feeds", {"url": origin.url("/long.xml")})
        with opened(browser, f"{running.url}/#/entries?q=%D0%BC%D0%B8%D1%80") as seen:
            page = seen.page
            heading(page, "Entries")
            expect(page.get_by_text("what is older has not been looked through")).to_be_visible()
            page.get_by_role("button", name="Show more").click()
            expect(page.get_by_role("link", name="Old peace")).to_be_visible()
            expect(page.get_by_text("what is older has not been looked through")).to_be_hidden()
