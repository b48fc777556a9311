"""A rule that nothing can break proves nothing: for each there is a document that breaks it."""

import json
from typing import Any

import pytest

from tests.support import feed_rules_atom, feed_rules_json, feed_rules_rss
from tests.support.feed_rules import is_rfc822, is_rfc3339, is_uri

RSS = (
    "<?xml version='1.0' encoding='utf-8'?>\n"
    '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"'
    ' xmlns:content="http://purl.org/rss/1.0/modules/content/"'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>T</title>'
    "<link>https://a.example/</link><description>D</description><ttl>5</ttl>"
    "<lastBuildDate>Sun, 01 Mar 2026 12:30:15 GMT</lastBuildDate>"
    '<atom:link rel="self" href="https://a.example/rss" type="application/rss+xml"/>'
    "<item><title>One</title><link>https://a.example/1</link>"
    '<guid isPermaLink="false">1</guid><pubDate>Sun, 01 Mar 2026 12:30:15 GMT</pubDate>'
    "<dc:creator>Ada</dc:creator><category>water</category>"
    '<enclosure url="https://a.example/1.mp3" length="5" type="audio/mpeg"/>'
    "<description>&lt;p&gt;x&lt;/p&gt;</description><content:encoded>y</content:encoded>"
    '<source url="https://b.example/rss">B</source></item>'
    '<item><description/><guid isPermaLink="false">2</guid></item></channel></rss>'
)
ATOM = (
    "<?xml version='1.0' encoding='utf-8'?>\n"
    '<feed xmlns="http://www.w3.org/2005/Atom"><id>urn:x:0</id><title>T</title>'
    "<updated>2026-03-01T12:30:15Z</updated><author><name>H</name></author>"
    '<link rel="self" href="https://a.example/atom" type="application/atom+xml"/>'
    '<link rel="next" href="https://a.example/atom?2" type="application/atom+xml"/>'
    "<generator>G</generator>"
    "<entry><id>urn:x:1</id><title>One</title><updated>2026-03-01T12:30:15.5+01:00</updated>"
    "<author><name>Ada</name><email>a@b.example</email><uri>https://a.example/</uri></author>"
    '<category term="water"/><link rel="alternate" href="https://a.example/1"/>'
    '<link rel="enclosure" href="https://a.example/1.mp3" type="audio/mpeg" length="5"/>'
    '<summary type="html">&lt;p&gt;x&lt;/p&gt;</summary>'
    "<source><id>urn:x:9</id><title>S</title></source></entry>"
    '<entry><id>urn:x:2</id><title/><updated>2026-03-01T12:30:15Z</updated><content type="html"/>'
    "</entry></feed>"
)


def json_document() -> dict[str, Any]:
    return {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "T",
        "feed_url": "https://a.example/feed.json",
        "next_url": "https://a.example/feed.json?2",
        "hubs": [{"type": "WebSub", "url": "https://hub.example/"}],
        "_ours": {"x": 1},
        "items": [
            {
                "id": "1",
                "url": "https://a.example/1",
                "content_html": "<p>x</p>",
                "date_modified": "2026-03-01T12:30:15Z",
                "authors": [{"name": "Ada"}],
                "tags": ["water"],
                "attachments": [
                    {"url": "magnet:?xt=urn:btih:00", "mime_type": "a/b", "size_in_bytes": 5}
                ],
            },
            {"id": "2", "content_text": ""},
        ],
    }


# Rule, what is replaced, by what.
RSS_FAULTS = [
    ("the_root_is_rss_of_version_2", 'version="2.0"', 'version="0.91"'),
    ("there_is_one_channel_and_nothing_beside_it", "</channel>", "</channel><channel/>"),
    ("a_channel_has_title_link_and_description", "<description>D</description>", ""),
    ("a_channel_has_title_link_and_description", "<title>T</title>", "<title> </title>"),
    ("nothing_is_said_twice_that_is_said_once", "<ttl>5</ttl>", "<ttl>5</ttl><ttl>6</ttl>"),
    ("nothing_is_said_twice_that_is_said_once", "<title>One", "<title>Two</title><title>One"),
    ("every_element_is_one_that_these_rules_know", "<ttl>5</ttl>", "<cloud/>"),
    ("every_element_is_one_that_these_rules_know", "<title>One", "<title><b/>One"),
    ("every_attribute_is_one_that_these_rules_know", "<title>One", '<title type="html">One'),
    ("items_stand_in_the_channel", "<dc:creator>Ada", "<dc:creator><item/>Ada"),
    ("an_item_has_a_title_or_a_description", "<item><description/>", "<item>"),
    ("a_link_is_a_whole_address", "https://a.example/1<", "/1<"),
    ("a_link_is_a_whole_address", "https://a.example/1<", "https://a.example/{1}<"),
    ("a_moment_is_rfc_822", "Sun, 01 Mar", "Mon, 01 Mar"),
    ("a_moment_is_rfc_822", "01 Mar 2026 12:30:15 GMT", "2026-03-01T12:30:15Z"),
    ("an_editor_is_an_email_address", "<ttl>5</ttl>", "<webMaster>Ada</webMaster>"),
    ("a_name_says_something", "<category>water", "<category> "),
    ("a_name_says_something", "Ada", ""),
    ("a_ttl_is_a_number_of_minutes", "<ttl>5", "<ttl>soon"),
    ("an_enclosure_has_an_http_url_a_length_and_a_type", ' length="5"', ""),
    ("an_enclosure_has_an_http_url_a_length_and_a_type", 'type="audio/mpeg"', 'type="audio"'),
    (
        "an_enclosure_has_an_http_url_a_length_and_a_type",
        "https://a.example/1.mp3",
        "magnet:?xt=urn:btih:00",
    ),
    ("a_source_has_the_address_of_its_feed", ' url="https://b.example/rss"', ""),
    ("a_guid_says_something_and_is_nobody_elses", ">2</guid>", ">1</guid>"),
    (
        "a_guid_says_something_and_is_nobody_elses",
        '<guid isPermaLink="false">2</guid>',
        "",
    ),
    ("a_guid_is_no_permalink", ' isPermaLink="false"', ""),
    ("the_channel_says_once_where_it_is", 'rel="self"', 'rel="next"'),
    (
        "a_link_of_atom_has_a_relation_and_a_whole_address",
        'href="https://a.example/rss"',
        'href="/rss"',
    ),
    ("html_is_clean", "&lt;p&gt;x", "&lt;p onclick=1&gt;x"),
    ("html_is_clean", "<content:encoded>y", '<content:encoded>&lt;a href="/x"&gt;y&lt;/a&gt;'),
    (
        "whole_contents_come_after_the_summary",
        "<title>One</title>",
        "<content:encoded>z</content:encoded>",
    ),
]

ATOM_FAULTS = [
    ("the_root_is_a_feed", "2005/Atom", "2004/Atom"),
    ("each_has_exactly_one_id_title_and_moment", "<id>urn:x:0</id>", ""),
    ("each_has_exactly_one_id_title_and_moment", "<title>One", "<title>x</title><title>One"),
    ("nothing_is_said_twice_that_is_said_once", "<content ", "<content/><content "),
    ("every_element_is_one_that_these_rules_know", "<generator>", "<cloud/><generator>"),
    ("every_element_is_one_that_these_rules_know", "<title>One", "<title><b/>One"),
    ("every_attribute_is_one_that_these_rules_know", "<generator>", '<generator x="1">'),
    ("a_text_has_a_known_type", "<title>One", '<title type="text/html">One'),
    ("a_person_has_exactly_one_name", "<name>Ada</name>", ""),
    ("a_person_has_exactly_one_name", "<name>Ada</name>", "<name/>"),
    ("a_persons_addresses_are_addresses", "a@b.example", "ada"),
    ("a_persons_addresses_are_addresses", "<uri>https://a.example/", "<uri>ada"),
    ("a_moment_is_rfc_3339", "T12:30:15.5+01:00", "t12:30:15z"),
    ("a_moment_is_rfc_3339", "03-01T12:30:15Z", "02-30T12:30:15Z"),
    ("everything_has_an_author", "<author><name>H</name></author>", ""),
    ("an_id_is_a_whole_iri", "urn:x:1", "1"),
    ("an_id_is_nobody_elses", "urn:x:2", "urn:x:1"),
    ("a_feed_says_once_where_it_is", 'rel="self"', 'rel="related"'),
    (
        "no_two_alternates_are_of_one_type_and_language",
        '<category term="water"/>',
        '<link href="https://a.example/2"/>',
    ),
    ("an_entry_has_content_or_leads_somewhere", '<content type="html"/>', ""),
    ("a_link_has_a_whole_address", 'href="https://a.example/1"', 'href="1"'),
    ("a_link_has_a_whole_address", 'href="https://a.example/1"', ""),
    ("a_links_relation_type_and_length_are_such", 'length="5"', 'length="-1"'),
    ("a_links_relation_type_and_length_are_such", 'type="audio/mpeg"', 'type="sound"'),
    ("a_links_relation_type_and_length_are_such", 'rel="enclosure"', 'rel="en closure"'),
    ("a_category_has_a_term", 'term="water"', 'label="water"'),
    ("a_generator_has_a_name", "<generator>G", "<generator>"),
    ("html_is_clean", "&lt;p&gt;x", "&lt;script&gt;x"),
    ("a_page_has_one_of_each_neighbour", 'rel="self"', 'rel="next"'),
]

# Rule, where, and the value that is put there; None takes it away.
JSON_FAULTS: list[tuple[str, tuple[str | int, ...], Any]] = [
    ("a_feed_has_a_version_a_title_and_items", ("title",), None),
    ("a_feed_has_a_version_a_title_and_items", ("items",), None),
    ("a_feed_says_where_it_is", ("feed_url",), None),
    ("every_value_is_of_its_kind", ("version",), "1.1"),
    ("every_value_is_of_its_kind", ("feed_url",), "/feed.json"),
    ("every_value_is_of_its_kind", ("items", 0, "id"), 1),
    ("every_value_is_of_its_kind", ("items", 0, "date_modified"), "yesterday"),
    ("every_value_is_of_its_kind", ("items", 0, "tags"), "water"),
    ("every_value_is_of_its_kind", ("items", 0, "attachments", 0, "size_in_bytes"), "5"),
    ("every_name_is_known_or_begins_with_an_underscore", ("items", 0, "guid"), "1"),
    ("every_name_is_known_or_begins_with_an_underscore", ("_1",), {}),
    ("every_name_is_known_or_begins_with_an_underscore", ("_ours",), "text"),
    ("an_item_has_an_id_and_a_content", ("items", 0, "id"), None),
    ("an_item_has_an_id_and_a_content", ("items", 1, "content_text"), None),
    ("an_id_is_nobody_elses", ("items", 1, "id"), "1"),
    ("an_author_says_something", ("items", 0, "authors", 0), {}),
    ("a_hub_has_a_type_and_an_address", ("hubs", 0, "type"), None),
    ("an_attachment_has_an_address_and_a_type", ("items", 0, "attachments", 0, "mime_type"), None),
    ("the_next_page_is_another_one", ("next_url",), "https://a.example/feed.json"),
    ("a_tag_says_something_and_once", ("items", 0, "tags"), ["a", "a"]),
    ("a_tag_says_something_and_once", ("items", 0, "tags"), [" "]),
    ("html_is_clean", ("items", 0, "content_html"), "<script>x</script>"),
    ("no_text_holds_what_other_formats_cannot_carry", ("items", 0, "title"), "a\x00"),
    ("no_text_holds_what_other_formats_cannot_carry", ("items", 0, "title"), "a\ud800"),
]


def names(broken: list[str]) -> list[str]:
    return [complaint.partition(":")[0] for complaint in broken]


def test_a_document_that_keeps_every_rule_breaks_none() -> None:
    assert feed_rules_rss.broken(RSS.encode()) == []
    assert feed_rules_atom.broken(ATOM.encode()) == []
    assert feed_rules_json.broken(json.dumps(json_document()).encode()) == []


@pytest.mark.parametrize(("rule", "right", "wrong"), RSS_FAULTS)
def test_each_rule_of_rss_can_be_broken(rule: str, right: str, wrong: str) -> None:
    assert right in RSS
    assert rule in names(feed_rules_rss.broken(RSS.replace(right, wrong, 1).encode()))


@pytest.mark.parametrize(("rule", "right", "wrong"), ATOM_FAULTS)
def test_each_rule_of_atom_can_be_broken(rule: str, right: str, wrong: str) -> None:
    assert right in ATOM
    assert rule in names(feed_rules_atom.broken(ATOM.replace(right, wrong, 1).encode()))


@pytest.mark.parametrize(("rule", "place", "value"), JSON_FAULTS)
def test_each_rule_of_json_feed_can_be_broken(
    rule: str, place: tuple[str | int, ...], value: Any
) -> None:
    feed: Any = json_document()
    holder = feed
    for step in place[:-1]:
        holder = holder[step]
    if value is None:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    assert rule in names(feed_rules_json.broken(json.dumps(feed).encode()))


def test_no_rule_is_without_a_document_that_breaks_it() -> None:
    assert {rule for rule, *_ in RSS_FAULTS} == feed_rules_rss.RULES.checks.keys()
    assert {rule for rule, *_ in ATOM_FAULTS} == feed_rules_atom.RULES.checks.keys()
    assert {rule for rule, *_ in JSON_FAULTS} == feed_rules_json.RULES.checks.keys()


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"", "it_is_well_formed_utf_8"),
        (b"<rss", "it_is_well_formed_utf_8"),
        (RSS.encode().replace(b"One", b"\xff"), "it_is_well_formed_utf_8"),
        (RSS.encode().replace(b"One", b"&#0;"), "it_is_well_formed_utf_8"),
        (RSS.encode().partition(b"\n")[2], "it_says_that_it_is_utf_8"),
        (RSS.encode().replace(b"\n", b"\n<!DOCTYPE rss>", 1), "it_has_no_dtd"),
    ],
)
def test_what_is_no_plain_xml_breaks_the_first_rule(body: bytes, complaint: str) -> None:
    assert names(feed_rules_rss.broken(body)) == [complaint]
    assert names(feed_rules_atom.broken(body)) == [complaint]


@pytest.mark.parametrize("body", [b"", b"{", b'{"title": "\xff"}', b"[]"])
def test_what_is_no_json_object_breaks_the_first_rule(body: bytes) -> None:
    assert names(feed_rules_json.broken(body)) in (["it_is_json_in_utf_8"], ["it_is_an_object"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://a.example/x?y=%20#z", True),
        ("https://[2001:db8::1]:80/x", True),
        ("magnet:?xt=urn:btih:00&dn=a+b", True),
        ("urn:uuid:01900000-0000-8000-8000-000000000009", True),
        ("https://u:p@a.example", True),
        ("/x", False),
        ("https://a.example/a b", False),
        ("https://a.example/ä", False),
        ("https://a.example/a|b", False),
        ("https://a.example/a?b[]=1", False),
        ("https://a.example/%zz", False),
        ("https://a.example/x#a#b", False),
        ("https://a.example/\n", False),
        (None, False),
    ],
)
def test_what_a_whole_address_is(text: str | None, expected: bool) -> None:
    assert is_uri(text) is expected


def test_what_a_moment_is() -> None:
    assert is_rfc3339("2026-03-01T12:30:15.123456Z")
    assert not is_rfc3339("2026-03-01T12:30:15")
    assert not is_rfc3339("2026-03-01 12:30:15Z")
    assert not is_rfc3339("2026-03-01T25:30:15Z")
    assert is_rfc822("1 Mar 2026 12:30 +0100")
    assert not is_rfc822("Sun, 01 Mar 26 12:30:15 GMT")
    assert not is_rfc822("Sun, 31 Feb 2026 12:30:15 GMT")
