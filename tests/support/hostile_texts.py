"""Texts that have broken feeds before, and strategies that look for others."""

from datetime import UTC, datetime

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from headwater.publish.clean_html import clean_html
from headwater.publish.document import (
    ItemAuthor,
    ItemEnclosure,
    ItemSource,
    PublishedFeed,
    PublishedFeedLinks,
    PublishedItem,
    urn,
)

NASTY = (
    "]]>",
    "<![CDATA[x]]>]]&gt;",
    "&amp;&#0;&nope;&lt;b&gt;&#x26;",
    '<!DOCTYPE x [<!ENTITY y SYSTEM "file:///etc/passwd">]>&y;',
    "a\x00b\x01c\x0bd\x1fe\x7ff\x85g",
    "\ufffe\uffff\ufdd0",
    "\ud800 lone \udfff",
    '" xmlns:x="urn:x" x:y="',
    "a\r\nb\rc\td\ne",
    "<?xml version='1.0'?><?pi x?>",
    "<!-- -- --><script>alert(1)</script>",
    "{http://www.w3.org/2005/Atom}entry",
    "\u202eevil\u202c \u2066in\u2069 \u200f\u2028\u2029\ufeff",
    "🌊👩‍👩‍👧 𝔘𝔫𝔦 \U0010ffff",
    "Ａ＜ｂ＞ ﬃ e\u0301 \u1100\u1161",
    "a < b && b > c",
    "AT&T &c. <3",
    "",
    " \t ",
)
LONG = ("x" * 100_000, "𝕏" * 20_000, "<b>" * 1_000, "&" * 50_000, "]]>" * 20_000)
ADDRESSES = (
    'https://posts.example/a b?c[]={d}|e^f`g"h#i#j',
    "https://posts.example/%zz%4",
    'https://a{b}"c.example/',
    "https://bücher.example/ä?ö=ü#ß",
    "http://[2001:db8::1]:8080/x",
    "https://posts.example/\\x'(y)*",
    "HTTPS://Posts.Example:443/../x",
    "magnet:?xt=urn:btih:00&dn=a b|c",
    "javascript:alert(1)",
    "data:text/html,x",
    "//posts.example/x",
    "https://",
    "https://posts.example/\x00\ud800",
)

EARLIEST = datetime(100, 1, 1)
"""RFC 822 knows years of two digits: those of the first century would be read as of ours."""
LATEST = datetime(9999, 12, 30)

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Whole documents take their time on a busy machine."""

anything = st.text(st.characters(exclude_categories=()), max_size=40) | st.sampled_from(NASTY)
addresses = anything | st.sampled_from(ADDRESSES)
moments = st.datetimes(EARLIEST, LATEST, timezones=st.just(UTC))
html = anything.map(clean_html)

people = st.builds(
    ItemAuthor,
    name=st.none() | anything,
    email=st.none() | anything | st.just("ada@posts.example"),
    uri=st.none() | addresses,
)
enclosures = st.builds(
    ItemEnclosure,
    url=addresses,
    type=st.none() | anything | st.just("audio/mpeg"),
    length=st.none() | st.integers(-5, 2**70),
    duration=st.none() | st.integers(-5, 2**70),
    title=st.none() | anything,
)
sources = st.builds(
    ItemSource,
    id=anything.map(lambda text: urn("source", text)),
    title=st.none() | anything,
    link=st.none() | addresses,
    feed_url=st.none() | addresses,
)
items = st.builds(
    PublishedItem,
    id=anything.map(lambda text: urn("item", text)),
    updated=moments,
    title=anything,
    link=st.none() | addresses,
    summary=st.none() | html,
    content=st.none() | html,
    authors=st.lists(people, max_size=3).map(tuple),
    categories=st.lists(anything, max_size=3).map(tuple),
    enclosures=st.lists(enclosures, max_size=3).map(tuple),
    published=st.none() | moments,
    source=st.none() | sources,
)
places = st.builds(
    PublishedFeedLinks,
    self_url=st.just("https://river.example/rss?limit=5"),
    first=st.none() | st.just("https://river.example/rss"),
    previous=st.none() | st.just("https://river.example/rss?cursor=1"),
    next=st.none() | st.just("https://river.example/rss?cursor=2"),
    hub=st.none() | st.just("https://hub.example/"),
    home=st.none() | st.just("https://river.example/"),
)
documents = st.builds(
    PublishedFeed,
    id=st.just(urn("collection", "all")),
    title=anything,
    updated=moments,
    places=places,
    items=st.lists(items, max_size=3, unique_by=lambda item: item.id).map(tuple),
    description=anything,
    author=anything,
)
