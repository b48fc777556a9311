"""RSS 2.0 as its specification demands it, of our own output."""

from dataclasses import replace
from email.utils import parsedate_to_datetime

from headwater.parse.parser import parse
from headwater.publish.document import ItemAuthor, ItemEnclosure, ItemSource, PublishedItem
from headwater.publish.rss import render_rss
from tests.support.published_documents import (
    ATOM,
    CONTENT,
    CREATOR,
    PUBLISHED,
    SELF,
    UPDATED,
    a_document,
    an_item,
    strict,
    texts,
)


def test_a_channel_has_title_link_and_description() -> None:
    rss = strict(render_rss(a_document()))
    assert (rss.tag, rss.get("version"), len(rss)) == ("rss", "2.0", 1)
    (channel,) = rss
    assert texts(channel, "title") == ["All entries"]
    assert texts(channel, "link") == [SELF]
    assert texts(channel, "description") == ["All entries"]
    assert texts(channel, "lastBuildDate") == ["Sun, 01 Mar 2026 12:30:15 GMT"]


def test_a_channel_says_where_it_and_its_neighbours_are() -> None:
    channel = strict(render_rss(a_document(next=f"{SELF}?cursor=2", hub="https://hub.example/")))[0]
    links = {link.get("rel"): link.get("href") for link in channel.findall(f"{ATOM}link")}
    assert links == {"self": SELF, "next": f"{SELF}?cursor=2", "hub": "https://hub.example/"}


def test_a_guid_is_an_id_and_no_address() -> None:
    (guid,) = strict(render_rss(a_document(an_item()))).findall("channel/item/guid")
    assert (guid.text, guid.get("isPermaLink")) == (an_item().id, "false")


def test_moments_are_rfc_822_with_four_digits_of_the_year() -> None:
    channel = strict(render_rss(a_document(an_item())))[0]
    (date,) = texts(channel, "item/pubDate")
    assert date == "Sat, 28 Feb 2026 08:00:00 GMT"
    assert parsedate_to_datetime(date) == PUBLISHED


def test_an_item_has_a_title_or_a_description() -> None:
    bare = PublishedItem(id="urn:x", updated=UPDATED)
    (item,) = strict(render_rss(a_document(bare))).findall("channel/item")
    assert texts(item, "description") == [""]
    assert item.find("title") is None
    titled = PublishedItem(id="urn:x", updated=UPDATED, title="Only this")
    (item,) = strict(render_rss(a_document(titled))).findall("channel/item")
    assert texts(item, "title") == ["Only this"]


def test_contents_stand_whole_beside_the_summary() -> None:
    (item,) = strict(render_rss(a_document(an_item()))).findall("channel/item")
    assert texts(item, "description") == ["<p>In short</p>"]
    assert texts(item, f"{CONTENT}encoded") == ["<p>At <b>length</b></p>"]


def test_an_enclosure_has_all_three_attributes() -> None:
    item = an_item(enclosures=(ItemEnclosure("https://posts.example/a"),))
    (found,) = strict(render_rss(a_document(item))).findall("channel/item/enclosure")
    assert dict(found.attrib) == {
        "url": "https://posts.example/a",
        "length": "0",
        "type": "application/octet-stream",
    }


def test_a_file_that_is_not_on_the_web_is_told_by_a_link_of_atom() -> None:
    """An enclosure must have an http URL; our own parser reads both."""
    item = an_item(
        enclosures=(ItemEnclosure("magnet:?xt=urn:btih:00", "application/x-bittorrent", 5),)
    )
    body = render_rss(a_document(item))
    (found,) = strict(body).findall("channel/item")
    assert found.find("enclosure") is None
    (link,) = found.findall(f"{ATOM}link")
    assert dict(link.attrib) == {
        "rel": "enclosure",
        "href": "magnet:?xt=urn:btih:00",
        "type": "application/x-bittorrent",
        "length": "5",
    }
    ((entry,),) = [parse(body).entries]
    assert [(e.url, e.type, e.length) for e in entry.enclosures] == [
        ("magnet:?xt=urn:btih:00", "application/x-bittorrent", 5)
    ]


def test_a_magnet_is_a_link() -> None:
    item = an_item(link="magnet:?xt=urn:btih:00")
    assert texts(strict(render_rss(a_document(item))), "channel/item/link") == [
        "magnet:?xt=urn:btih:00"
    ]


def test_a_magnet_leads_there_when_nothing_else_does() -> None:
    attached = (ItemEnclosure("https://posts.example/a"), ItemEnclosure("magnet:?xt=urn:btih:00"))
    item = an_item(link=None, enclosures=attached)
    assert texts(strict(render_rss(a_document(item))), "channel/item/link") == [
        "magnet:?xt=urn:btih:00"
    ]
    item = an_item(enclosures=attached)
    assert texts(strict(render_rss(a_document(item))), "channel/item/link") == [
        "https://posts.example/1"
    ]


def test_a_feed_without_a_name_is_called_headwater() -> None:
    channel = strict(render_rss(replace(a_document(), title="\x00 ")))[0]
    assert texts(channel, "title") == ["Headwater"]
    assert texts(channel, "description") == ["Headwater"]


def test_a_category_that_says_nothing_is_left_out() -> None:
    item = an_item(categories=("", " ", "\x00", "water"), authors=(ItemAuthor("\x01"),))
    (found,) = strict(render_rss(a_document(item))).findall("channel/item")
    assert texts(found, "category") == ["water"]
    assert found.find(CREATOR) is None


def test_names_are_creators_because_an_author_is_an_address() -> None:
    item = an_item(authors=(ItemAuthor("Ada"), ItemAuthor(None, "eve@posts.example"), ItemAuthor()))
    (found,) = strict(render_rss(a_document(item))).findall("channel/item")
    assert texts(found, CREATOR) == ["Ada", "eve@posts.example"]
    assert found.find("author") is None


def test_a_source_is_named_only_with_its_address() -> None:
    """The attribute is required, and a private feed's address is a key."""
    assert strict(render_rss(a_document(an_item()))).find("channel/item/source") is None
    known = ItemSource("urn:x", "A river", None, "https://posts.example/feed")
    (source,) = strict(render_rss(a_document(an_item(source=known)))).findall("channel/item/source")
    assert (source.text, source.get("url")) == ("A river", "https://posts.example/feed")


def test_our_own_parser_reads_it_back_equal() -> None:
    read = parse(render_rss(a_document(an_item())))
    assert (read.format, read.problems) == ("rss", ())
    assert read.feed.self_link == SELF
    (entry,) = read.entries
    item = an_item()
    assert (entry.native_id, entry.id_is_permalink) == (item.id, False)
    assert entry.title is not None
    assert entry.summary is not None
    assert entry.content is not None
    assert entry.title.value == item.title
    assert (entry.summary.value, entry.content.value) == (item.summary, item.content)
    assert entry.link == item.link
    assert entry.published == PUBLISHED
    assert [author.name for author in entry.authors] == ["Ada"]
    assert [category.term for category in entry.categories] == ["water", "stone"]
    assert [(e.url, e.type, e.length) for e in entry.enclosures] == [
        ("https://posts.example/1.mp3", "audio/mpeg", 5)
    ]
