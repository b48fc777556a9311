"""The console in a real browser, on a real service that visits a scripted origin."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Route, expect

from tests.support.browser import Seen, opened
from tests.support.console_pages import add, go, heading, part, post
from tests.support.logins import ADMIN
from tests.support.origin import Post, rss
from tests.support.service import Origin, Service, environment, service


def test_from_nothing_to_a_feed_and_back(seen: Seen, origin: Origin) -> None:
    page = seen.page
    heading(page, "Overview")
    expect(page.get_by_text("No feed yet. Add one by its URL.")).to_be_visible()
    expect(part(page, "Needs a look")).to_contain_text("Nothing needs you now.")
    expect(part(page, "Events")).to_contain_text("live")

    page.get_by_role("link", name="Add one by its URL.").click()
    heading(page, "Feeds")
    expect(page.get_by_text("No feed yet. Add one by its URL.")).to_be_visible()
    add(page, origin.url("/feed.xml"))

    heading(page, "River news")
    expect(page).to_have_title("River news – Headwater")
    assert page.evaluate("document.activeElement.tagName") == "H1"
    expect(part(page, "Why then")).to_contain_text("2 new entries (× 0.75)")
    expect(part(page, "Entries").get_by_role("link")).to_have_text(["Second post", "First post"])
    expect(part(page, "Visits").locator("tbody tr")).to_have_count(1)

    page.get_by_role("button", name="Visit now").click()
    expect(part(page, "Visits").locator("tbody tr")).to_have_count(2)
    expect(page.get_by_role("status")).to_have_text("Visited.")
    chart = page.get_by_role("img", name="Intervals chosen after the last 2 visits")
    expect(chart.locator("circle")).to_have_count(2)

    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".about .badge")).to_have_text("paused")
    assert page.evaluate("document.activeElement.tagName") == "H1"
    expect(page.get_by_role("button", name="Visit now")).to_have_count(0)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".about .badge")).to_have_text("active")

    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    heading(page, "Feeds")
    expect(page.get_by_text("No feed yet. Add one by its URL.")).to_be_visible()
    page.get_by_label("State").select_option("removed")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert seen.refused == []


def test_a_page_offers_its_feeds_and_refusals_are_told_in_words(seen: Seen, origin: Origin) -> None:
    page = seen.page
    go(page, "Feeds")
    add(page, origin.url("/plain"))
    expect(page.get_by_role("status")).to_contain_text("This is not a feed. (html page)")
    add(page, origin.url("/"))
    expect(page.get_by_role("button", name="Add Posts")).to_be_focused()
    page.get_by_role("button", name="Add Letters").click()
    heading(page, "Lake letters")
    go(page, "Feeds")
    add(page, origin.url("/atom.xml"))
    expect(page.get_by_role("status")).to_contain_text("already")
    page.get_by_role("link", name="Show that feed").click()
    heading(page, "Lake letters")
    go(page, "Feeds")
    add(page, "http://127.0.0.1:1/")
    expect(page.get_by_role("status").locator(".trouble")).to_be_visible()
    assert [each.partition(" ")[0] for each in seen.refused] == ["422", "422", "409", "422"]


def test_a_visit_too_soon_is_told_with_the_time(
    browser: Browser, tmp_path: Path, origin: Origin
) -> None:
    with service(environment(tmp_path / "data", origin)) as running:
        feed = post(running, "/feeds", {"url": origin.url("/feed.xml")})
        with opened(browser, f"{running.url}/#/feeds/{feed['id']}") as seen:
            heading(seen.page, "River news")
            seen.page.get_by_role("button", name="Visit now").click()
            expect(seen.page.get_by_role("status")).to_contain_text("Try again in ")
            assert len(seen.refused) == 1
            assert seen.refused[0].startswith("429 POST ")


def figure(page: Page, name: str) -> Any:
    figures = page.get_by_role("list", name="Figures").get_by_role("listitem")
    return figures.filter(has_text=name).locator("b")


def test_an_overview_that_stays_open_counts_what_comes(
    seen: Seen, running: Service, origin: Origin
) -> None:
    page = seen.page
    heading(page, "Overview")
    page.clock.install()
    go(page, "Feeds")
    go(page, "Overview")
    expect(part(page, "Events")).to_contain_text("live")
    expect(figure(page, "new entries")).to_have_text("0")
    post(running, "/feeds", {"url": origin.url("/feed.xml")})
    expect(part(page, "Events")).to_contain_text("https://example.org/2")
    page.clock.run_for(15_000)
    expect(figure(page, "new entries")).to_have_text("2")


def test_a_service_that_hangs_is_asked_once_and_waited_for(seen: Seen) -> None:
    page, hanging = seen.page, list[Route]()
    heading(page, "Overview")
    page.clock.install()
    go(page, "Feeds")
    go(page, "Overview")
    page.route("**/status", lambda route: hanging.append(route))
    for _ in range(4):
        page.clock.run_for(15_000)
        page.evaluate("fetch('healthz')")  # a turn around, so that what was asked is seen here
    assert len(hanging) == 1
    hanging[0].continue_()


HOSTILE = "<img src=x onerror=alert(1)>{{7*7}}${7*7}<script>alert(2)</script>"


def test_137_hostile_text_is_text(seen: Seen, running: Service, origin: Origin) -> None:
    """In titles, links, ids and content; wherever they are shown."""
    posts = [
        Post("javascript:alert(3)", HOSTILE, f"<p>{HOSTILE}</p>", "javascript:alert(4)"),
        Post('"><svg onload=alert(5)>', "Second", "", "https://posts.example/\"onclick='alert(6)'"),
        Post("..", "Dots", "", "data:text/html,<script>alert(7)</script>"),
    ]
    document = rss(posts, title=f"Feed {HOSTILE}")
    origin.pages["/hostile.xml"] = ("application/rss+xml", document)
    page = seen.page
    go(page, "Feeds")
    add(page, origin.url("/hostile.xml"))
    heading(page, f"Feed {HOSTILE}")
    assert page.title() == f"Feed {HOSTILE} – Headwater"
    expect(part(page, "Entries").get_by_role("link", name=HOSTILE)).to_be_visible()

    go(page, "Entries")
    page.get_by_role("link", name=HOSTILE).click()
    heading(page, HOSTILE)
    text = f"<p>{HOSTILE}</p>".replace("src=x", f'src="{origin.url("/x")}"')  # made absolute
    expect(part(page, "Text").locator("pre")).to_have_text(text)
    expect(part(page, "What is known of it")).to_contain_text("javascript:alert(3)")

    go(page, "Entries")
    page.get_by_role("link", name="Second").click()
    heading(page, "Second")
    expect(part(page, "What is known of it")).to_contain_text('"><svg onload=alert(5)>')

    go(page, "Entries")
    page.get_by_role("link", name="Dots").click()  # no address can hold this uid
    expect(page.get_by_role("alert")).to_have_text("The answer cannot be read.")

    go(page, "Overview")
    expect(part(page, "Events").locator("li")).to_have_count(4)
    links = page.locator("a").evaluate_all("found => found.map((each) => each.protocol)")
    assert set(links) == {"http:"}
    assert page.locator("main img, main script, main iframe, main svg").count() == 0


def test_a_link_of_a_publisher_learns_nothing(seen: Seen, running: Service, origin: Origin) -> None:
    feed = post(running, "/feeds", {"url": origin.url("/feed.xml")})
    seen.page.goto(f"{running.url}/#/entries/{feed['id']}/one")
    link = seen.page.get_by_role("link", name="https://example.org/1")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(link).to_have_attribute("target", "_blank")


def test_entries_are_found_by_words_and_shown_with_their_versions(
    seen: Seen, running: Service, origin: Origin
) -> None:
    posts = [Post("1", "Dill is up", "in the morning"), Post("2", "Beets", "in the ground")]
    origin.pages["/garden.xml"] = ("application/rss+xml", rss(posts))
    feed = post(running, "/feeds", {"url": origin.url("/garden.xml")})
    edited = [Post("1", "Dill is up", "in the evening"), posts[1]]
    origin.pages["/garden.xml"] = ("application/rss+xml", rss(edited))
    page = seen.page
    page.goto(f"{running.url}/#/feeds/{feed['id']}")
    page.get_by_role("button", name="Visit now").click()
    expect(part(page, "Visits").locator("tbody tr")).to_have_count(2)

    go(page, "Entries")
    expect(page.locator("main li")).to_have_count(2)
    page.keyboard.press("/")
    page.keyboard.type("evening dill")
    page.keyboard.press("Enter")
    expect(page.locator("main li")).to_have_count(1)
    page.get_by_role("link", name="Dill is up").click()
    heading(page, "Dill is up")
    expect(part(page, "Text")).to_contain_text("in the evening")
    page.get_by_text("Version 1, until").click()
    expect(part(page, "Before").locator("pre")).to_have_text("in the morning")
    page.keyboard.press("3")
    page.get_by_label("Category").fill("nothing of the kind")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text("No entry like that.")).to_be_visible()


def test_a_failing_feed_is_told_with_its_error_in_words(
    seen: Seen, running: Service, origin: Origin
) -> None:
    feed = post(running, "/feeds", {"url": origin.url("/feed.xml")})
    del origin.pages["/feed.xml"]
    page = seen.page
    page.goto(f"{running.url}/#/feeds/{feed['id']}")
    page.get_by_role("button", name="Visit now").click()
    expect(page.locator(".about .badge")).to_have_text("failing")
    expect(part(page, "Why then")).to_contain_text("Nothing is found at this URL (404).")
    expect(page.locator("svg circle.bad")).to_have_count(1)
    go(page, "Overview")
    needs = part(page, "Needs a look")
    expect(needs).to_contain_text("River news Nothing is found at this URL (404). 1 failure")
    needs.get_by_role("link", name="River news").click()
    heading(page, "River news")
    go(page, "Feeds")
    expect(page.locator("tbody .badge")).to_have_text("failing")


def test_a_conflict_is_decided_with_a_button(seen: Seen, running: Service, origin: Origin) -> None:
    post(running, "/feeds", {"url": origin.url("/feed.xml")})
    said = {"candidate_fetcher_ids": [1, 2], "conflict_reason": "a tie at the top"}
    post(running, "/conflicts", {"subscription_id": 1, "conflict_data": said})
    page = seen.page
    page.reload()
    needs = part(page, "Needs a look")
    expect(needs).to_contain_text("Who fetches it: feed, mikanani?")
    needs.get_by_role("link").click()
    heading(page, "Conflicts")
    expect(page.locator("article")).to_contain_text("a tie at the top")
    expect(page.get_by_role("button", name="Give it to feed (has it now)")).to_be_visible()
    page.get_by_role("button", name="Give it to mikanani").click()
    expect(part(page, "To decide")).to_contain_text("No conflict to decide.")
    expect(part(page, "Decided").locator("tbody td")).to_contain_text(
        [origin.url("/feed.xml"), "feed, mikanani", "mikanani", "loopback"]
    )
    assert running.get("/subscriptions/1")[1]["fetcher_id"] == 2


def test_events_appear_as_they_come(seen: Seen, running: Service, origin: Origin) -> None:
    page = seen.page
    events = part(page, "Events")
    expect(events).to_contain_text("live")
    expect(events).to_contain_text("Nothing has happened yet.")
    post(running, "/feeds", {"url": origin.url("/feed.xml")})
    expect(events.locator("li")).to_have_count(3)
    expect(events.locator("li").last).to_contain_text("followed")
    expect(events.locator("li").first).to_contain_text("new entry")
    expect(events.get_by_text("Nothing has happened yet.")).to_be_hidden()


def test_a_service_that_went_away_is_told_and_found_again(
    browser: Browser, tmp_path: Path, origin: Origin
) -> None:
    env = environment(tmp_path / "data", origin)
    with service(env) as running:
        url = running.url
        with opened(browser, url) as seen:
            expect(part(seen.page, "Events")).to_contain_text("live")
            running.stop()
            expect(part(seen.page, "Events")).to_contain_text("trying again soon")
            seen.page.get_by_role("link", name="Feeds").click()
            heading(seen.page, "Not shown")
            expect(seen.page.get_by_role("alert")).to_have_text(
                "Headwater does not answer. Is it running?"
            )
            port = url.rpartition(":")[2]
            with service(env, "run", "--port", port):
                seen.page.get_by_role("button", name="Try again").click()
                heading(seen.page, "Feeds")
            seen.complaints.clear()  # the stream that broke off was noted, and rightly


def test_an_admin_logs_in_with_the_token(browser: Browser, tmp_path: Path, origin: Origin) -> None:
    env = environment(tmp_path / "data", origin, HEADWATER_ADMIN_TOKEN=ADMIN)
    with service(env) as running:
        with opened(browser, running.url, ADMIN) as seen:
            heading(seen.page, "Overview")
            expect(part(seen.page, "Workers").locator("tbody tr")).to_have_count(1)
            expect(part(seen.page, "Events")).to_contain_text("live")
            go(seen.page, "Feeds")
            add(seen.page, origin.url("/feed.xml"))
            heading(seen.page, "River news")
        with opened(browser, running.url, "hw_wrong") as seen:
            expect(seen.page.locator("body")).to_contain_text("A valid token is needed")
            assert {each.partition(" ")[0] for each in seen.refused} == {"401"}


def test_a_token_that_reads_looks_around_and_is_told_what_it_may_not(
    browser: Browser, tmp_path: Path, origin: Origin
) -> None:
    env = environment(tmp_path / "data", origin, HEADWATER_ADMIN_TOKEN=ADMIN)
    with service(env) as running:
        token = post(running, "/tokens", {"name": "eyes"}, ADMIN)["token"]
        post(running, "/feeds", {"url": origin.url("/feed.xml")}, ADMIN)
        with opened(browser, running.url, token) as seen:
            page = seen.page
            expect(page.get_by_text("This token only reads")).to_be_visible()
            expect(page.get_by_role("list", name="Figures")).to_contain_text("1active")
            expect(part(page, "Workers")).to_have_count(0)
            go(page, "Feeds")
            page.get_by_role("link", name="River news").click()
            heading(page, "River news")
            page.get_by_role("button", name="Pause").click()
            expect(page.get_by_role("status")).to_have_text(
                "This token has the scope read; admin is needed."
            )


def test_it_works_by_keyboard(seen: Seen) -> None:
    page = seen.page
    heading(page, "Overview")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    heading(page, "Overview")
    for key, name in (("2", "Feeds"), ("3", "Entries"), ("4", "Conflicts"), ("1", "Overview")):
        page.keyboard.press(key)
        heading(page, name)
        expect(page.locator("nav [aria-current=page]")).to_have_text(name)
    page.keyboard.press("2")
    heading(page, "Feeds")
    page.keyboard.press("/")
    page.keyboard.type("http://1")
    expect(page.get_by_label("Add a feed, or a page that links to feeds")).to_have_value("http://1")


def test_an_address_of_nothing_says_so(seen: Seen, running: Service) -> None:
    page = seen.page
    for place in ("#/nothing", "#/feeds/a/b", "#/feeds/%E0%A4%A"):
        page.goto(f"{running.url}/{place}")
        expect(page.locator("main")).to_contain_text("There is no such")
    expect(page.get_by_role("alert")).to_have_text("There is no such feed.")
