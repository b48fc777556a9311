"""A reader and what lies on their shelf become a document, whoever wrote the items."""

from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.core.values.instant import from_micros
from headwater.personal_feeds.personal_feed import (
    FeedFormat,
    PersonalFeedRequest,
    build_personal_feed,
    changed_at,
    shown_categories,
)
from headwater.personal_feeds.ports import ItemAttachment, KeptItem, NewestItems
from headwater.publish.document import ItemAuthor, ItemEnclosure, PublishedFeed, PublishedItem
from tests.support.clock import START
from tests.support.personal_items import BEGIN, DAY, SECOND, a_reader, an_item, guid

MIA = a_reader("mia", "news", "art")


def made(
    *items: KeptItem, ask: PersonalFeedRequest | None = None, changed: int = BEGIN
) -> PublishedFeed:
    return build_personal_feed(MIA, NewestItems(items, changed), ask or PersonalFeedRequest("rss"))


def one(kept: KeptItem, format: FeedFormat = "rss") -> PublishedItem:
    (item,) = made(kept, ask=PersonalFeedRequest(format)).items
    return item


def test_an_item_is_cleaned_whoever_wrote_it() -> None:
    item = one(
        an_item(
            "news",
            1,
            title="  A <b>\n title\x0b ",
            description='<p onclick="x()">words<script>alert(1)</script></p>',
            content="<iframe src=//evil></iframe><p>more</p>",
            authors=("Ann\nLee", "\x00", ""),
            tags=("one\ttwo", ""),
        )
    )
    assert item.title == "A <b> title"
    assert item.summary == "<p>words</p>"
    assert item.content == "<p>more</p>"
    assert item.authors == (ItemAuthor("Ann Lee"),)
    assert item.categories == ("news", "one two")


def test_what_is_in_two_categories_is_shown_once_in_its_newest_words() -> None:
    shown = made(
        an_item("art", 2, tags=("t",), title="Old"),
        an_item("news", 2, tags=("u",), title="New", changed_at=BEGIN + 1),
        an_item("news", 1),
    ).items
    assert [(item.id, item.title, item.categories) for item in shown] == [
        (guid(2), "New", ("art", "news", "u")),
        (guid(1), "Title 1", ("news",)),
    ]


def test_a_date_of_the_future_is_shown_as_the_moment_it_came() -> None:
    assert one(an_item("news", 1, pub_date=BEGIN + 9 * DAY)).published == START
    past = one(an_item("news", 1, pub_date=BEGIN - DAY))
    assert past.published == past.updated == START - timedelta(days=1)


def test_an_edit_is_told_as_such() -> None:
    edited = one(an_item("news", 1, pub_date=BEGIN - DAY, changed_at=BEGIN + SECOND))
    assert edited.published == START - timedelta(days=1)
    assert edited.updated == START + timedelta(seconds=1)


def test_the_id_is_the_guid_and_an_iri_where_it_must_be_one() -> None:
    assert one(an_item("news", 7), "rss").id == guid(7)
    assert one(an_item("news", 7), "json").id == guid(7)
    assert one(an_item("news", 7), "atom").id == f"urn:uuid:{guid(7)}"
    strange = one(an_item("news", 7, guid="tag <x>"), "atom").id
    assert strange.startswith("urn:uuid:")
    assert strange != one(an_item("news", 7, guid="tag <y>"), "atom").id


def test_a_magnet_link_goes_with_the_files() -> None:
    item = one(
        an_item("news", 1, link="magnet:?xt=urn:btih:0", enclosures=(ItemAttachment("u", "t", 3),))
    )
    assert item.link is None
    assert item.enclosures == (
        ItemEnclosure("magnet:?xt=urn:btih:0", "application/x-bittorrent"),
        ItemEnclosure("u", "t", 3),
    )
    again = an_item("news", 1, link="magnet:?x", enclosures=(ItemAttachment("magnet:?x"),))
    assert one(again).enclosures == (ItemEnclosure("magnet:?x"),)


@pytest.mark.parametrize(
    ("ask", "url"),
    [
        (PersonalFeedRequest("rss", base_url="https://h/p"), "https://h/p/rss"),
        (PersonalFeedRequest("atom", 5, base_url="https://h"), "https://h/atom?limit=5"),
        (
            PersonalFeedRequest("json", 5, ("a b", "c&d=\u00e4"), "https://h"),
            "https://h/feed.json?limit=5&category=a+b&category=c%26d%3D%C3%A4",
        ),
        (PersonalFeedRequest("rss", None, ("\ud800",), "https://h"), "https://h/rss?category=%3F"),
        (PersonalFeedRequest("rss", None, (), "https://h"), "https://h/rss?category="),
    ],
)
def test_the_address_of_a_feed_says_what_was_asked_and_never_by_whom(
    ask: PersonalFeedRequest, url: str
) -> None:
    assert made(ask=ask).places.self_url == url


def test_titles_tell_the_feeds_of_a_reader_apart() -> None:
    assert made().title == "Personal feed of mia"
    assert (
        made(ask=PersonalFeedRequest("rss", categories=("art", "ne\nws"))).title
        == "mia: art, ne ws"
    )


def test_the_id_of_a_feed_is_the_same_in_every_format_and_for_every_limit() -> None:
    ids = {
        made(ask=ask).id
        for ask in (
            PersonalFeedRequest("rss"),
            PersonalFeedRequest("atom"),
            PersonalFeedRequest("json", 7),
        )
    }
    assert len(ids) == 1
    assert made(ask=PersonalFeedRequest("rss", categories=("art",))).id not in ids
    assert made(ask=PersonalFeedRequest("rss", categories=())).id not in ids
    assert made(ask=PersonalFeedRequest("rss", categories=("a", "b"))).id == (
        made(ask=PersonalFeedRequest("rss", categories=("b", "a"))).id
    )
    other = build_personal_feed(
        replace(MIA, id="other"), NewestItems((), 0), PersonalFeedRequest("rss")
    )
    assert other.id not in ids


def test_a_feed_changed_when_its_reader_or_its_items_did() -> None:
    assert made(changed=0).updated == START
    assert made(changed=BEGIN + DAY).updated == from_micros(BEGIN + DAY)
    assert (
        changed_at(MIA, NewestItems((an_item("news", 1, changed_at=BEGIN + 5),), BEGIN))
        == BEGIN + 5
    )
    assert changed_at(replace(MIA, changed_at=BEGIN + 9), NewestItems((), BEGIN)) == BEGIN + 9


def test_only_a_readers_own_categories_are_shown() -> None:
    assert shown_categories(MIA, None) == ("news", "art")
    assert shown_categories(MIA, ("art", "secret", "*")) == ("art",)
    assert shown_categories(MIA, ("secret",)) == ()
    assert shown_categories(MIA, ()) == ()
