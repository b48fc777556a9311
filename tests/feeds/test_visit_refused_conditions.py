"""A server that answers 412 to every condition: what it guards is asked for as it is."""

from headwater.feeds.judge_visit import JudgedVisit
from tests.support.origin import OriginFeed, Post, Reply, Request
from tests.support.visits import River

ONE, TWO = Post("1", "One"), Post("2", "Two")


def refuse_conditions(feed: OriginFeed) -> None:
    """As some firewalls do, whatever the condition is."""
    honest = feed.answer

    def answer(request: Request) -> tuple[Reply, tuple[str, ...]]:
        if request.header("If-None-Match") or request.header("If-Modified-Since"):
            return Reply(412, b"no"), ()
        return honest(request)

    feed.answer = answer  # type: ignore[method-assign]


async def test_after_a_412_the_whole_document_is_asked_for(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    await river.add(feed.url)
    refuse_conditions(feed)
    feed.publish(TWO)
    refused, well = await river.visit(), await river.visit()
    assert isinstance(refused, JudgedVisit)
    assert isinstance(well, JudgedVisit)
    assert (refused.error, refused.succeeded, well.succeeded) == ("http_4xx", False, True)
    assert [request.status for request in feed.requests] == [200, 412, 200]
    assert await river.count("entries") == 2


async def test_other_trouble_keeps_the_conditions(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    await river.add(feed.url)
    feed.answer_next(Reply(400), Reply(403), Reply(429), Reply(500))
    for _ in range(5):
        await river.visit()
    etags = [request.header("If-None-Match") for request in feed.requests]
    assert etags[0] is None
    assert etags[1] is not None
    assert etags[1:] == [etags[1]] * 5
