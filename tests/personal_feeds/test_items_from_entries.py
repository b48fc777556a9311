"""An entry that an event tells of becomes an item in each category of its feed."""

from dataclasses import replace
from uuid import RFC_4122, UUID

from hypothesis import given
from hypothesis import strategies as st

from headwater.core.values.ids import index_key
from headwater.feeds.entries.entry_version import KeptVersion
from headwater.personal_feeds.items_from_entries import (
    EntryItemPolicy,
    caller_id,
    entry_guid,
    items_of_entry,
)
from headwater.personal_feeds.ports import ItemAttachment
from headwater.personal_feeds.source import FeedOrigin

FEED = "01900000-0000-7000-8000-000000000001"
EVENT = 4_711
AT = 1_767_600_000_000_000
SECOND, DAY = 1_000_000, 86_400_000_000
PRIVATE = "https://posts.example/feed?key=geheim"
ORIGIN = FeedOrigin(FEED, PRIVATE, "A river", "https://posts.example/", ("news", "sea: tides"))
POLICY = EntryItemPolicy()
KEPT = KeptVersion(
    feed_id=FEED,
    uid_key=index_key("guid-1"),
    number=1,
    present=1,
    snapshot=None,
    uid="guid-1",
    link="https://posts.example/1",
    title="A title",
    summary="<p>In <b>short</b></p>",
    content="<p>At length</p>",
    authors='[{"name":"Ada","email":null,"uri":null},{"name":null,"email":null,"uri":null}]',
    categories='["weather"]',
    enclosures='[{"url":"https://posts.example/1.mp3","type":"audio/mpeg","length":5}]',
    details='{"summary_type":"html","content_type":"html"}',
    published=AT - DAY,
    updated=None,
    first_seen=AT - SECOND,
    content_hash="0",
    fetch_id="f",
    offset=None,
    length=None,
)

moments = st.integers(0, 2**32 * SECOND - 1)
numbers = st.integers(1, 2**42 - 1)


def test_an_entry_is_one_item_in_each_category_under_one_guid() -> None:
    news, tides = items_of_entry(KEPT, ORIGIN, EVENT, AT, POLICY)
    assert (news.category, tides.category) == ("news", "sea: tides")
    assert replace(news, category="sea: tides") == tides
    assert news.guid == entry_guid(EVENT, AT, AT - DAY)
    assert (news.title, news.link) == ("A title", "https://posts.example/1")
    assert (news.description, news.content) == ("<p>In <b>short</b></p>", "<p>At length</p>")
    assert (news.pub_date, news.arrived_at, news.expires_at) == (AT - DAY, AT, AT + 14 * DAY)
    assert (news.authors, news.tags) == (("Ada",), ("weather",))
    assert news.enclosures == (ItemAttachment("https://posts.example/1.mp3", "audio/mpeg", 5),)
    assert news.caller_id == f"entry:{FEED}:{index_key('guid-1').hex()}"


def test_an_item_is_known_by_the_same_name_in_every_version_of_its_entry() -> None:
    edited = KEPT._replace(number=3, present=3, title="Another")
    assert caller_id(edited) == caller_id(KEPT)
    assert caller_id(KEPT._replace(feed_id=FEED[:-1] + "2")) != caller_id(KEPT)


def test_the_words_are_those_that_the_event_told_of() -> None:
    snapshot = (
        '{"canonical_link":null,"title":"As it was","summary":null,"content":null,"authors":"[]",'
        '"categories":"[]","enclosures":"[]","details":"{}","published":null,"updated":null}'
    )
    (item,) = items_of_entry(
        KEPT._replace(snapshot=snapshot, present=2),
        replace(ORIGIN, categories=("news",)),
        EVENT,
        AT,
        POLICY,
    )
    assert (item.title, item.description, item.content, item.link) == ("As it was", "", None, "")
    assert item.pub_date == AT


def test_the_address_of_a_private_feed_is_in_no_item() -> None:
    kept = KEPT._replace(
        link=f"{PRIVATE}#1",
        summary=f'<a href="{PRIVATE}">feed</a>',
        content=f'<img src="{PRIVATE}#2"><a href="https://posts.example/1">post</a>',
        authors=f'[{{"name":"Ada","email":null,"uri":"{PRIVATE}"}}]',
        enclosures=f'[{{"url":"{PRIVATE}"}}]',
    )
    items = items_of_entry(kept, ORIGIN, EVENT, AT, POLICY)
    assert items
    for item in items:
        assert "geheim" not in repr(item)
        assert "https://posts.example/1" in str(item.content)


def test_what_strangers_wrote_is_safe_in_the_item_already() -> None:
    kept = KEPT._replace(content='<p onclick="x()">Hi<script>steal()</script></p>')
    assert items_of_entry(kept, ORIGIN, EVENT, AT, POLICY)[0].content == "<p>Hi</p>"


def test_only_categories_that_the_settings_allow_are_filled() -> None:
    allowed = EntryItemPolicy(allowed=frozenset({"sea: tides", "garden"}))
    assert [i.category for i in items_of_entry(KEPT, ORIGIN, EVENT, AT, allowed)] == ["sea: tides"]
    assert items_of_entry(KEPT, replace(ORIGIN, categories=()), EVENT, AT, POLICY) == []


def test_a_date_from_the_future_is_the_moment_of_arrival() -> None:
    item = items_of_entry(KEPT._replace(published=AT + DAY), ORIGIN, EVENT, AT, POLICY)[0]
    assert item.pub_date <= AT
    assert item.guid == entry_guid(EVENT, AT, AT)


def test_a_text_that_is_too_long_is_cut_and_whole() -> None:
    long = "<p>" + "é" * 2_000 + "</p>"
    item = items_of_entry(
        KEPT._replace(content=long), ORIGIN, EVENT, AT, EntryItemPolicy(most_bytes=1_024)
    )[0]
    assert item.content is not None
    assert item.content.startswith("<p>é")
    assert item.content.endswith("é</p>")
    assert 900 < len(item.content.encode()) <= 1_040
    assert item.description == "<p>In <b>short</b></p>"


@given(at=moments, published=st.none() | moments)
def test_a_guid_is_a_uuid_of_version_7_of_the_events_moment(at: int, published: int | None) -> None:
    guid = UUID(entry_guid(EVENT, at, published))
    assert str(guid) == entry_guid(EVENT, at, published)
    assert (guid.version, guid.variant) == (7, RFC_4122)
    assert guid.int >> 80 == at // 1_000


@given(early=moments, late=moments, events=st.tuples(numbers, numbers))
def test_guids_of_one_moment_sort_by_date(early: int, late: int, events: tuple[int, int]) -> None:
    early, late = sorted((early, late))
    if late // SECOND > early // SECOND:
        at = 2**32 * SECOND
        assert entry_guid(events[0], at, early) < entry_guid(events[1], at, late)


@given(first=moments, second=moments)
def test_what_came_later_has_the_greater_guid_whatever_its_date(first: int, second: int) -> None:
    assert entry_guid(EVENT, AT, first) < entry_guid(EVENT, AT + 1_000, second)


@given(first=numbers, second=numbers, published=st.none() | moments)
def test_of_one_date_the_first_in_the_document_is_the_newest(
    first: int, second: int, published: int | None
) -> None:
    first, second = sorted((first, second))
    if first < second:
        assert entry_guid(first, AT, published) > entry_guid(second, AT, published)


def test_a_guid_by_hand() -> None:
    """The moment, 2026-01-05 08:00 in milliseconds; the date, an hour before it in seconds; the
    event's number counted down from 2**42 - 1: after it the version 7 and the variant 10."""
    date, turn = f"{1_767_596_400:032b}", f"{2**42 - 1 - 4_711:042b}"
    bits = f"{1_767_600_000_000:048b}" + "0111" + (date + turn)[:12] + "10" + (date + turn)[12:]
    assert UUID(entry_guid(4_711, AT, AT - 3_600 * SECOND)) == UUID(int=int(bits, 2))
