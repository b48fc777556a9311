"""What RFC 4287 demands of an Atom feed, section by section, and RFC 5005 of its pages."""

from collections.abc import Iterator

from lxml import etree

from tests.support.feed_rules import (
    Rules,
    is_clean_html,
    is_email,
    is_media_type,
    is_rfc3339,
    is_uri,
    is_whole_number,
    repeated,
)
from tests.support.strict_xml import only_utf8, tree_of

ATOM = "{http://www.w3.org/2005/Atom}"

_ONCE = {
    "feed": ("id", "title", "updated"),
    "entry": ("id", "title", "updated"),
    "source": ("id", "title"),
}
_AT_MOST_ONCE = {
    "feed": ("generator", "icon", "logo", "rights", "subtitle"),
    "entry": ("content", "published", "rights", "source", "summary"),
    "source": ("generator", "icon", "logo", "rights", "subtitle", "updated"),
    "author": ("uri", "email"),
}
_MANY = {
    "feed": ("author", "category", "contributor", "link", "entry"),
    "entry": ("author", "category", "contributor", "link"),
    "source": ("author", "category", "contributor", "link"),
    "author": ("name",),
}
_ATTRIBUTES = {
    "title": {"type"},
    "subtitle": {"type"},
    "summary": {"type"},
    "content": {"type"},
    "category": {"term", "scheme", "label"},
    "generator": {"uri", "version"},
    "link": {"rel", "href", "type", "hreflang", "title", "length"},
}

RULES: Rules[etree._Element] = Rules()


def broken(body: bytes) -> list[str]:
    """Which rules this document breaks. What is no XML at all breaks the first."""
    return only_utf8(body) or RULES.broken(tree_of(body))


def all_of(feed: etree._Element, *names: str) -> list[etree._Element]:
    return [found for name in names for found in feed.iter(f"{ATOM}{name}")]


def within(element: etree._Element, name: str) -> list[etree._Element]:
    return list(element.findall(f"{ATOM}{name}"))


def links(element: etree._Element, rel: str) -> list[etree._Element]:
    return [link for link in within(element, "link") if link.get("rel", "alternate") == rel]


def plain(element: etree._Element) -> str:
    return str(element.tag).removeprefix(ATOM)


@RULES.rule
def the_root_is_a_feed(feed: etree._Element) -> Iterator[str]:
    """2, 4.1.1."""
    if feed.tag != f"{ATOM}feed":
        yield str(feed.tag)


@RULES.rule
def each_has_exactly_one_id_title_and_moment(feed: etree._Element) -> Iterator[str]:
    """4.1.1, 4.1.2; a source should have the first two (4.2.11)."""
    for outer, names in _ONCE.items():
        for element in all_of(feed, outer):
            yield from (f"{outer} {name}" for name in names if len(within(element, name)) != 1)


@RULES.rule
def nothing_is_said_twice_that_is_said_once(feed: etree._Element) -> Iterator[str]:
    """3.2, 4.1.1, 4.1.2, 4.2.11."""
    for outer, names in _AT_MOST_ONCE.items():
        for element in all_of(feed, outer):
            yield from (f"{outer} {name}" for name in names if len(within(element, name)) > 1)


@RULES.rule
def every_element_is_one_that_these_rules_know(feed: etree._Element) -> Iterator[str]:
    """So that whatever is written one day comes with the rule it must keep."""
    for element in feed.iter():
        name = plain(element)
        known = {*_ONCE.get(name, ()), *_AT_MOST_ONCE.get(name, ()), *_MANY.get(name, ())}
        yield from (f"{name} {plain(part)}" for part in element if plain(part) not in known)


@RULES.rule
def every_attribute_is_one_that_these_rules_know(feed: etree._Element) -> Iterator[str]:
    for element in feed.iter():
        for name in element.attrib:
            if name not in _ATTRIBUTES.get(plain(element), set()):
                yield f"{plain(element)} {name}"


@RULES.rule
def a_text_has_a_known_type(feed: etree._Element) -> Iterator[str]:
    """3.1.1, 4.1.3.1. Ours are text and HTML, which hold no elements."""
    for text in all_of(feed, "title", "subtitle", "summary", "content", "rights"):
        if text.get("type", "text") not in ("text", "html"):
            yield f"{plain(text)} {text.get('type')}"


@RULES.rule
def a_person_has_exactly_one_name(feed: etree._Element) -> Iterator[str]:
    """3.2.1."""
    for person in all_of(feed, "author", "contributor"):
        names = [name.text or "" for name in within(person, "name")]
        if len(names) != 1 or not names[0].strip():
            yield str(names)


@RULES.rule
def a_persons_addresses_are_addresses(feed: etree._Element) -> Iterator[str]:
    """3.2.2, 3.2.3."""
    yield from (repr(uri.text) for uri in all_of(feed, "uri") if not is_uri(uri.text))
    yield from (repr(email.text) for email in all_of(feed, "email") if not is_email(email.text))


@RULES.rule
def a_moment_is_rfc_3339(feed: etree._Element) -> Iterator[str]:
    """3.3, with T and Z in capitals."""
    for moment in all_of(feed, "updated", "published"):
        if not is_rfc3339(moment.text):
            yield repr(moment.text)


@RULES.rule
def everything_has_an_author(feed: etree._Element) -> Iterator[str]:
    """4.1.1, 4.1.2: an entry's own, its source's, or the feed's."""
    for entry in within(feed, "entry"):
        source = entry.find(f"{ATOM}source")
        theirs = [] if source is None else within(source, "author")
        if not (within(entry, "author") or theirs or within(feed, "author")):
            yield entry.findtext(f"{ATOM}id") or "an entry"
    if not within(feed, "entry") and not within(feed, "author"):
        yield "the feed"


@RULES.rule
def an_id_is_a_whole_iri(feed: etree._Element) -> Iterator[str]:
    """4.2.6."""
    yield from (repr(name.text) for name in all_of(feed, "id") if not is_uri(name.text))


@RULES.rule
def an_id_is_nobody_elses(feed: etree._Element) -> Iterator[str]:
    """4.2.6; two entries of one id would be one entry (4.1.1)."""
    entries = within(feed, "entry")
    yield from repeated([e.findtext(f"{ATOM}id") or "" for e in (feed, *entries)])


@RULES.rule
def a_feed_says_once_where_it_is(feed: etree._Element) -> Iterator[str]:
    """4.1.1 says SHOULD; readers that move house need it."""
    if [link.get("type") for link in links(feed, "self")] != ["application/atom+xml"]:
        yield f"{len(links(feed, 'self'))} links"


@RULES.rule
def no_two_alternates_are_of_one_type_and_language(feed: etree._Element) -> Iterator[str]:
    """4.1.1, 4.1.2."""
    for element in all_of(feed, "feed", "entry", "source"):
        kinds = [f"{a.get('type')} {a.get('hreflang')}" for a in links(element, "alternate")]
        yield from repeated(kinds)


@RULES.rule
def an_entry_has_content_or_leads_somewhere(feed: etree._Element) -> Iterator[str]:
    """4.1.2."""
    for entry in within(feed, "entry"):
        if not within(entry, "content") and not links(entry, "alternate"):
            yield entry.findtext(f"{ATOM}id") or "an entry"


@RULES.rule
def a_link_has_a_whole_address(feed: etree._Element) -> Iterator[str]:
    """4.2.7.1; we have no base that a relative one could begin with."""
    for link in all_of(feed, "link"):
        if not is_uri(link.get("href")):
            yield repr(link.get("href"))


@RULES.rule
def a_links_relation_type_and_length_are_such(feed: etree._Element) -> Iterator[str]:
    """4.2.7.2, 4.2.7.3, 4.2.7.6."""
    for link in all_of(feed, "link"):
        rel, kind, length = link.get("rel", "alternate"), link.get("type"), link.get("length")
        named = rel.isascii() and rel.isalpha()
        typed = kind is None or is_media_type(kind)
        if not (named and typed and (length is None or is_whole_number(length))):
            yield str(dict(link.attrib))


@RULES.rule
def a_category_has_a_term(feed: etree._Element) -> Iterator[str]:
    """4.2.2.1."""
    for category in all_of(feed, "category"):
        if not (category.get("term") or "").strip():
            yield str(dict(category.attrib))


@RULES.rule
def a_generator_has_a_name(feed: etree._Element) -> Iterator[str]:
    """4.2.4."""
    for generator in all_of(feed, "generator"):
        if not (generator.text or "").strip():
            yield "generator"


@RULES.rule
def html_is_clean(feed: etree._Element) -> Iterator[str]:
    """8.1 and 3.1.1.3: it could stand in a div, and does no harm there."""
    for text in all_of(feed, "summary", "content", "title", "subtitle"):
        if text.get("type") == "html" and not is_clean_html(text.text or ""):
            yield repr((text.text or "")[:100])


@RULES.rule
def a_page_has_one_of_each_neighbour(feed: etree._Element) -> Iterator[str]:
    """RFC 5005, 3."""
    for rel in ("first", "previous", "next", "last"):
        if len(links(feed, rel)) > 1:
            yield rel
