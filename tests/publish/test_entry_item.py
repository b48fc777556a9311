"""An entry as it is kept becomes an item: its words, its moments, its id."""

from dataclasses import dataclass, replace

from headwater.core.values.instant import from_micros
from headwater.publish.document import ItemAuthor, ItemSource, urn
from headwater.publish.entry_item import item_of_entry

FEED = "01900000-0000-7000-8000-000000000001"
SEEN = 1_767_000_000_000_000
DAY = 86_400_000_000


@dataclass
class Row:
    public_id: str = FEED
    entry_uid: str = "guid-1"
    canonical_link: str | None = "https://posts.example/1"
    title: str | None = "A title"
    summary: str | None = None
    content: str | None = None
    authors: str = "[]"
    categories: str = "[]"
    enclosures: str = "[]"
    details: str = "{}"
    published: int | None = None
    updated: int | None = None
    first_seen: int = SEEN
    feed_title: str | None = "A river"
    home_link: str | None = "https://posts.example/"
    feed_url: str = "https://posts.example/feed?token=hidden&page=1"


def test_an_id_is_the_entrys_own_and_never_another_feeds() -> None:
    here = item_of_entry(Row(), None).id
    assert here == item_of_entry(replace(Row(), title="edited"), SEEN + 1).id
    assert here != item_of_entry(replace(Row(), public_id=FEED[:-1] + "2"), None).id
    assert here != item_of_entry(replace(Row(), entry_uid="guid-2"), None).id


def test_a_urn_is_a_uuid_of_our_own_making() -> None:
    name = urn("a", "b")
    assert name == urn("a", "b") != urn("ab") != urn("a", "", "b")
    plain = name.removeprefix("urn:uuid:")
    assert [len(part) for part in plain.split("-")] == [8, 4, 4, 4, 12]
    assert plain[14] == "8"
    assert plain[19] in "89ab"


def test_kinds_of_text_are_what_they_say() -> None:
    row = replace(
        Row(),
        title="Fish &amp; <i>chips</i>",
        summary="1 < 2",
        content="<p onclick=x>Body</p>",
        details='{"title_type":"html","content_type":"xhtml"}',
    )
    item = item_of_entry(row, None)
    assert (item.title, item.summary, item.content) == (
        "Fish & chips",
        "1 &lt; 2",
        "<p>Body</p>",
    )


def test_a_plain_title_that_looks_like_html_is_left_alone() -> None:
    assert item_of_entry(replace(Row(), title=" <b>\n&amp; "), None).title == "<b> &amp;"


def test_a_content_that_is_no_text_is_not_shown() -> None:
    row = replace(Row(), content="<svg/>", details='{"content_type":"image/svg+xml"}')
    assert item_of_entry(row, None).content is None


def test_moments_the_publisher_gave() -> None:
    row = replace(Row(), published=SEEN - 3 * DAY, updated=SEEN - DAY)
    item = item_of_entry(row, None)
    assert (item.published, item.updated) == (from_micros(SEEN - 3 * DAY), from_micros(SEEN - DAY))


def test_a_future_moment_is_when_we_saw_it() -> None:
    item = item_of_entry(replace(Row(), published=SEEN + DAY, updated=SEEN + 9 * DAY), None)
    assert (item.published, item.updated) == (from_micros(SEEN), from_micros(SEEN))


def test_an_entry_without_moments_has_the_one_we_saw_it_at() -> None:
    item = item_of_entry(Row(), None)
    assert (item.published, item.updated) == (None, from_micros(SEEN))


def test_an_edit_we_saw_moves_the_update_whatever_the_publisher_says() -> None:
    row = replace(Row(), published=SEEN - DAY, updated=SEEN - DAY)
    assert item_of_entry(row, SEEN + 5).updated == from_micros(SEEN + 5)


def test_lists_are_opened() -> None:
    row = replace(
        Row(),
        authors='[{"name":"Ada","email":null,"uri":"https://ada.example/"}]',
        categories='["a","b"]',
        enclosures='[{"url":"https://a.example/1.mp3","type":"audio/mpeg","length":5,"duration":9}]',
    )
    item = item_of_entry(row, None)
    assert item.authors == (ItemAuthor("Ada", None, "https://ada.example/"),)
    assert item.categories == ("a", "b")
    assert [(e.url, e.type, e.length, e.duration) for e in item.enclosures] == [
        ("https://a.example/1.mp3", "audio/mpeg", 5, 9)
    ]
    assert item.source == ItemSource(f"urn:uuid:{FEED}", "A river", "https://posts.example/")


def test_the_feeds_own_address_goes_out_nowhere() -> None:
    """Links into a document are kept with its address, which may be a private one."""
    own = Row().feed_url
    words = own.replace("&", "&amp;")
    row = replace(
        Row(),
        canonical_link=own,
        home_link=f"{own}#top",
        content=f'<p>see <a href="{words}#note" title="n">1</a>, <img src="{words}" alt="i"></p>',
        summary=f'<a href="{words}2">another page</a>',
        enclosures=f'[{{"url":"{own}"}},{{"url":"https://posts.example/1.mp3"}}]',
        authors=f'[{{"name":"A","email":null,"uri":"{own}"}}]',
        details='{"summary_type":"html","content_type":"html"}',
    )
    item = item_of_entry(row, None)
    rel = 'rel="noopener noreferrer nofollow"'
    assert item.content == f'<p>see <a title="n" {rel}>1</a>, <img alt="i"></p>'
    assert item.summary == f'<a href="{words}2" {rel}>another page</a>'
    assert item.link is None
    assert item.source is not None
    assert item.source.link is None
    assert [each.url for each in item.enclosures] == ["https://posts.example/1.mp3"]
    assert item.authors == (ItemAuthor("A"),)
