"""What a visit writes down for the statistics: who made it, and how late its new entries were."""

from datetime import timedelta

from headwater.wiring.housekeeping import count_visits
from tests.support.origin import Post, Reply
from tests.support.visits import River


async def test_a_visit_names_its_fetcher_and_how_late_news_were(river: River) -> None:
    feed = river.origin.feed("/a", [Post("1", "One", published=river.clock.now())])
    await river.add(feed.url)
    await river.clock.advance(3_000)
    feed.publish(Post("2", "Two", published=river.clock.now()))
    feed.publish(Post("3", "Backdated", published=river.clock.now() - timedelta(days=9)))
    await river.visit(600)
    (first, second) = await river.rows(
        "SELECT fetcher_id, new_entries, dated_entries, late_sec, late_squares, counted"
        " FROM visits ORDER BY scheduled_at"
    )
    (builtin,) = await river.rows("SELECT fetcher_id FROM fetcher_modules WHERE name = 'feed'")
    assert (first.fetcher_id, second.fetcher_id) == (builtin.fetcher_id, builtin.fetcher_id)
    assert (first.new_entries, first.dated_entries, first.late_sec) == (1, 0, 0.0)
    assert (second.new_entries, second.dated_entries) == (2, 1)
    assert (second.late_sec, second.late_squares) == (600.0, 360_000.0)
    assert not second.counted


async def test_real_visits_end_in_the_counts_of_their_host_and_subscription(river: River) -> None:
    feed = river.origin.feed("/a", [Post("1", "One")])
    await river.add(feed.url)
    await river.visit()
    feed.answer_next(Reply(503))
    await river.visit()
    assert await count_visits(river.engine.database) == 3
    rows = await river.rows(
        "SELECT f.name, d.host, d.error, d.visits FROM fetcher_days d"
        " JOIN fetcher_modules f ON f.fetcher_id = d.fetcher_id ORDER BY d.error"
    )
    assert [(row.name, row.host, row.error, row.visits) for row in rows] == [
        ("feed", "127.0.0.1", "", 2),
        ("feed", "127.0.0.1", "http_503", 1),
    ]
    rows = await river.rows(
        "SELECT d.error, d.visits, d.unchanged, d.new_entries FROM subscription_days d"
        " JOIN rss_subscriptions s ON s.subscription_id = d.subscription_id ORDER BY d.error"
    )
    assert [(row.error, row.visits, row.unchanged, row.new_entries) for row in rows] == [
        ("", 2, 1, 1),
        ("http_503", 1, 0, 0),
    ]
