"""What RSS 2.0 demands of a document, and what its advisory board found readers to need."""

from collections.abc import Iterator

from lxml import etree

from tests.support.feed_rules import (
    Rules,
    is_clean_html,
    is_email,
    is_media_type,
    is_rfc822,
    is_uri,
    is_web_address,
    is_whole_number,
    repeated,
)
from tests.support.strict_xml import only_utf8, tree_of, words_of

ATOM = "{http://www.w3.org/2005/Atom}"
ENCODED = "{http://purl.org/rss/1.0/modules/content/}encoded"
CREATOR = "{http://purl.org/dc/elements/1.1/}creator"

_ONCE_IN_CHANNEL = (
    *("title", "link", "description", "language", "pubDate", "lastBuildDate", "generator"),
    *("docs", "ttl", "managingEditor", "webMaster", "copyright"),
)
_ONCE_IN_ITEM = (
    *("title", "link", "description", "author", "guid", "pubDate", "source", "comments"),
    ENCODED,
)
_CHANNEL = {*_ONCE_IN_CHANNEL, "category", "item", f"{ATOM}link"}
_ITEM = {*_ONCE_IN_ITEM, "category", "enclosure", f"{ATOM}link", CREATOR}
_ATTRIBUTES = {
    "rss": {"version"},
    "guid": {"isPermaLink"},
    "category": {"domain"},
    "enclosure": {"url", "length", "type"},
    "source": {"url"},
    f"{ATOM}link": {"rel", "href", "type", "length", "title"},
}

RULES: Rules[etree._Element] = Rules()


def broken(body: bytes) -> list[str]:
    """Which rules this document breaks. What is no XML at all breaks the first."""
    return only_utf8(body) or RULES.broken(tree_of(body))


def items_of(rss: etree._Element) -> list[etree._Element]:
    return list(rss.iter("item"))


@RULES.rule
def the_root_is_rss_of_version_2(rss: etree._Element) -> Iterator[str]:
    if rss.tag != "rss" or rss.get("version") != "2.0":
        yield f"{rss.tag} {rss.get('version')}"


@RULES.rule
def there_is_one_channel_and_nothing_beside_it(rss: etree._Element) -> Iterator[str]:
    if [part.tag for part in rss] != ["channel"]:
        yield str([part.tag for part in rss])


@RULES.rule
def a_channel_has_title_link_and_description(rss: etree._Element) -> Iterator[str]:
    for name in ("title", "link", "description"):
        if len(rss.findall(f"channel/{name}")) != 1 or not words_of(rss, f"channel/{name}"):
            yield name


@RULES.rule
def nothing_is_said_twice_that_is_said_once(rss: etree._Element) -> Iterator[str]:
    for channel in rss.findall("channel"):
        yield from (name for name in _ONCE_IN_CHANNEL if len(channel.findall(name)) > 1)
    for item in items_of(rss):
        yield from (name for name in _ONCE_IN_ITEM if len(item.findall(name)) > 1)


@RULES.rule
def every_element_is_one_that_these_rules_know(rss: etree._Element) -> Iterator[str]:
    """So that whatever is written one day comes with the rule it must keep."""
    for channel in rss.findall("channel"):
        yield from (part.tag for part in channel if part.tag not in _CHANNEL)
    for item in items_of(rss):
        yield from (part.tag for part in item if part.tag not in _ITEM)
        yield from (f"{part.tag} in {outer.tag}" for outer in item for part in outer)


@RULES.rule
def every_attribute_is_one_that_these_rules_know(rss: etree._Element) -> Iterator[str]:
    for element in rss.iter():
        for name in element.attrib:
            if name not in _ATTRIBUTES.get(str(element.tag), set()):
                yield f"{element.tag} {name}"


@RULES.rule
def items_stand_in_the_channel(rss: etree._Element) -> Iterator[str]:
    for item in items_of(rss):
        parent = item.getparent()
        if parent is None or parent.tag != "channel":
            yield "item"


@RULES.rule
def an_item_has_a_title_or_a_description(rss: etree._Element) -> Iterator[str]:
    for number, item in enumerate(items_of(rss)):
        if item.find("title") is None and item.find("description") is None:
            yield str(number)


@RULES.rule
def a_link_is_a_whole_address(rss: etree._Element) -> Iterator[str]:
    for link in (*rss.iter("link"), *rss.iter("comments"), *rss.iter("docs")):
        if not is_uri(link.text):
            yield repr(link.text)


@RULES.rule
def a_moment_is_rfc_822(rss: etree._Element) -> Iterator[str]:
    for date in (*rss.iter("pubDate"), *rss.iter("lastBuildDate")):
        if not is_rfc822(date.text):
            yield repr(date.text)


@RULES.rule
def an_editor_is_an_email_address(rss: etree._Element) -> Iterator[str]:
    for person in (*rss.iter("author"), *rss.iter("managingEditor"), *rss.iter("webMaster")):
        if not is_email((person.text or "").partition(" (")[0]):
            yield repr(person.text)


@RULES.rule
def a_name_says_something(rss: etree._Element) -> Iterator[str]:
    for name in (*rss.iter(CREATOR), *rss.iter("category")):
        if not (name.text or "").strip():
            yield str(name.tag)


@RULES.rule
def a_ttl_is_a_number_of_minutes(rss: etree._Element) -> Iterator[str]:
    for ttl in rss.iter("ttl"):
        if not is_whole_number(ttl.text):
            yield repr(ttl.text)


@RULES.rule
def an_enclosure_has_an_http_url_a_length_and_a_type(rss: etree._Element) -> Iterator[str]:
    for enclosure in rss.iter("enclosure"):
        url, length, kind = (enclosure.get(name) for name in ("url", "length", "type"))
        if not (is_web_address(url) and is_whole_number(length) and is_media_type(kind)):
            yield f"{url} {length} {kind}"


@RULES.rule
def a_source_has_the_address_of_its_feed(rss: etree._Element) -> Iterator[str]:
    for source in rss.iter("source"):
        if not is_web_address(source.get("url")):
            yield repr(source.get("url"))


@RULES.rule
def a_guid_says_something_and_is_nobody_elses(rss: etree._Element) -> Iterator[str]:
    guids = [guid.text or "" for guid in rss.iter("guid")]
    yield from repeated(guids)
    if len(guids) != len(items_of(rss)) or not all(map(str.strip, guids)):
        yield "an item without one"


@RULES.rule
def a_guid_is_no_permalink(rss: etree._Element) -> Iterator[str]:
    """True when it is not said: then it would have to be an address."""
    for guid in rss.iter("guid"):
        if guid.get("isPermaLink") != "false":
            yield repr(guid.text)


@RULES.rule
def the_channel_says_once_where_it_is(rss: etree._Element) -> Iterator[str]:
    selves = [link for link in rss.findall(f"channel/{ATOM}link") if link.get("rel") == "self"]
    if len(selves) != 1 or selves[0].get("type") != "application/rss+xml":
        yield f"{len(selves)} links"


@RULES.rule
def a_link_of_atom_has_a_relation_and_a_whole_address(rss: etree._Element) -> Iterator[str]:
    for link in rss.iter(f"{ATOM}link"):
        kind, length = link.get("type"), link.get("length")
        sound = (kind is None or is_media_type(kind)) and (length is None or length.isdigit())
        if not link.get("rel") or not is_uri(link.get("href")) or not sound:
            yield str(dict(link.attrib))


@RULES.rule
def html_is_clean(rss: etree._Element) -> Iterator[str]:
    for words in (*rss.iter(ENCODED), *rss.iterfind(".//item/description")):
        if not is_clean_html(words.text or ""):
            yield repr((words.text or "")[:100])


@RULES.rule
def whole_contents_come_after_the_summary(rss: etree._Element) -> Iterator[str]:
    """Some readers show whichever comes last."""
    for item in items_of(rss):
        tags = [part.tag for part in item]
        if ENCODED in tags and "description" in tags[tags.index(ENCODED) :]:
            yield "content:encoded"
