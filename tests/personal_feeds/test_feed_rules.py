"""Whatever is kept for a reader, by whomever: their feed keeps every rule, in every format."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.parse.parser import parse
from headwater.personal_feeds.personal_feed import (
    FEED_FORMATS,
    FeedFormat,
    PersonalFeedRequest,
    build_personal_feed,
    clean_item,
)
from headwater.personal_feeds.ports import FeedReader, ItemAttachment, KeptItem, NewestItems
from headwater.publish.safe_text import xml_safe_text
from tests.support import feed_rules_atom, feed_rules_json, feed_rules_rss
from tests.support.hostile_texts import LONG, NASTY, addresses, anything, patient
from tests.support.published_documents import ATOM, strict

BROKEN = {
    "rss": feed_rules_rss.broken,
    "atom": feed_rules_atom.broken,
    "json": feed_rules_json.broken,
}
FORMATS: list[FeedFormat] = ["rss", "atom", "json"]
DAY = 86_400_000_000
NOW = 1_772_368_215_250_000
"""2026-03-01T12:30:15.25Z"""

# What a machine's clock may say: from the year 1900 to 2200.
moments = st.integers(-2_208_988_800_000_000, 7_258_118_400_000_000)
guids = st.uuids().map(str) | anything.filter(lambda text: bool(xml_safe_text(text).strip()))
attached = st.builds(
    ItemAttachment,
    url=addresses,
    type=st.none() | anything,
    length=st.none() | st.integers(-5, 2**70),
)
kept_items = st.builds(
    KeptItem,
    category=anything,
    guid=guids,
    title=anything,
    description=anything,
    link=addresses,
    pub_date=moments,
    arrived_at=moments,
    expires_at=moments,
    changed_at=moments,
    content=st.none() | anything,
    authors=st.lists(anything, max_size=2).map(tuple),
    enclosures=st.lists(attached, max_size=2).map(tuple),
    tags=st.lists(anything, max_size=2).map(tuple),
)
shelves = st.builds(
    NewestItems, items=st.lists(kept_items, max_size=3).map(tuple), changed_at=st.just(0) | moments
)
feed_readers = st.builds(
    FeedReader,
    id=anything,
    name=anything,
    categories=st.lists(anything, max_size=3).map(tuple),
    created_at=moments,
    changed_at=moments,
)
asks = st.builds(
    PersonalFeedRequest,
    format=st.sampled_from(FORMATS),
    limit=st.none() | st.integers(1, 200),
    categories=st.none() | st.lists(anything, max_size=2).map(tuple),
    base_url=st.just("https://river.example"),
)

READER = FeedReader("r", "Ada", ("water",), NOW, NOW)
KEPT = KeptItem(
    category="water",
    guid="019f0000-0000-7000-8000-000000000001",
    title="Title",
    description="<p>Words</p>",
    link="https://posts.example/1",
    pub_date=NOW,
    arrived_at=NOW,
    expires_at=NOW + 14 * DAY,
    changed_at=NOW,
)


def written(kept: KeptItem, format: FeedFormat) -> bytes:
    ask = PersonalFeedRequest(format, base_url="https://river.example")
    return FEED_FORMATS[format].write(
        build_personal_feed(READER, NewestItems((kept,), NOW), ask, None, clean_item)
    )


def plain_words(body: bytes, format: FeedFormat) -> tuple[str, list[str]]:
    """Title and categories as a parser without opinions reads them."""
    if format == "json":
        (item,) = json.loads(body)["items"]
        return item.get("title", ""), item["tags"]
    (found,) = strict(body).iter("item", f"{ATOM}entry")
    categories = found.findall("category") + found.findall(f"{ATOM}category")
    title = found.findtext("title") or found.findtext(f"{ATOM}title") or ""
    return title, [str(category.text or category.get("term")) for category in categories]


@patient
@given(
    reader=feed_readers, shelf=shelves, ask=asks, hub=st.none() | st.just("https://hub.example/")
)
def test_a_feed_keeps_every_rule(
    reader: FeedReader, shelf: NewestItems, ask: PersonalFeedRequest, hub: str | None
) -> None:
    body = FEED_FORMATS[ask.format].write(build_personal_feed(reader, shelf, ask, hub, clean_item))
    assert BROKEN[ask.format](body) == []


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("number", range(len(LONG)))
def test_very_long_words_keep_every_rule(format: FeedFormat, number: int) -> None:
    text = LONG[number]
    kept = replace(
        KEPT, title=text, description=text, content=text, authors=(text,), tags=(text,), link=text
    )
    body = written(kept, format)
    assert BROKEN[format](body) == []
    (entry,) = parse(body).entries
    assert entry.title is not None
    assert entry.title.value[:1_000] == text[:1_000]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("text", [pytest.param(t, id=str(n)) for n, t in enumerate(NASTY)])
def test_hostile_words_come_back_as_they_were(format: FeedFormat, text: str) -> None:
    """On one line, and without what XML cannot carry: nothing else changes."""
    line = " ".join(xml_safe_text(text).split())
    body = written(replace(KEPT, title=text, tags=(text,)), format)
    assert plain_words(body, format) == (line, ["water", *([line] if line else [])])


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("text", ["a < b && b > c", "AT&T <3", "]]>", "x]]&gt;y", "🌊 \u202eevil"])
def test_hostile_words_are_read_the_same_in_a_description(format: FeedFormat, text: str) -> None:
    """A description is HTML: what was meant as text is still read as that text."""
    (entry,) = parse(written(replace(KEPT, description=text), format)).entries
    said = entry.summary or entry.content
    assert said is not None
    shown = said.value.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert shown == text.replace("&gt;", ">")
