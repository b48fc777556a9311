"""Names and categories, however they are written."""

import pytest

from headwater.parse import Category, Entry, Person, parse

NAMESPACES = (
    'xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:dcterms="http://purl.org/dc/terms/" '
    'xmlns:googleplay="http://www.google.com/schemas/play-podcasts/1.0" '
    'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" '
    'xmlns:media="http://search.yahoo.com/mrss/" '
    'xmlns:taxo="http://purl.org/rss/1.0/modules/taxonomy/" '
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
)
ITUNES = "http://www.itunes.com/"


def entry_of(item: str, channel: str = "") -> Entry:
    body = f"<rss {NAMESPACES}><channel>{channel}<item>{item}</item></channel></rss>"
    return parse(body.encode()).entries[0]


AUTHORS: list[tuple[str, tuple[Person, ...]]] = [
    ("<author>Jane Doe</author>", (Person("Jane Doe"),)),
    ("<author>Jane O&amp;#039;Doe</author>", (Person("Jane O'Doe"),)),
    ("<author>&lt;a href='/j'&gt;Jane&lt;/a&gt; &amp;amp; Jo</author>", (Person("Jane & Jo"),)),
    ("<author>A &amp;amp; B &lt;ab@e.org&gt;</author>", (Person("A & B", "ab@e.org"),)),
    ("<author><name>Tom &amp;amp; Jo</name></author>", (Person("Tom & Jo"),)),
    ("<author>jane@e.org</author>", (Person(None, "jane@e.org"),)),
    ("<author>jane@e.org (Jane Doe)</author>", (Person("Jane Doe", "jane@e.org"),)),
    ("<author>Jane Doe (jane@e.org)</author>", (Person("Jane Doe", "jane@e.org"),)),
    ("<author>Jane Doe &lt;jane@e.org&gt;</author>", (Person("Jane Doe", "jane@e.org"),)),
    ("<author>mailto:jane@e.org (Jane)</author>", (Person("Jane", "jane@e.org"),)),
    ("<author>jane@e.org?subject=Hi (Jane)</author>", (Person("Jane", "jane@e.org"),)),
    ("<author>jane.doe+x@sub.e.co.uk</author>", (Person(None, "jane.doe+x@sub.e.co.uk"),)),
    ("<author>@jane on social</author>", (Person("@jane on social"),)),
    ("<author>o'neil@e.org (O'Neil)</author>", (Person("O'Neil", "o'neil@e.org"),)),
    ("<author>j\u00f6rg@e.org (J\u00f6rg)</author>", (Person("J\u00f6rg", "j\u00f6rg@e.org"),)),
    ("<author>j@m\u00fcller.de (J)</author>", (Person("J", "j@m\u00fcller.de"),)),
    ("<author>jane@e.org, Jane Doe</author>", (Person("Jane Doe", "jane@e.org"),)),
    ("<author>jane@e.org - Jane Doe</author>", (Person("Jane Doe", "jane@e.org"),)),
    ("<author>jane@e.org (Jane (Doe))</author>", (Person("Jane (Doe)", "jane@e.org"),)),
    ('<author>"Doe, Jane" &lt;jane@e.org&gt;</author>', (Person("Doe, Jane", "jane@e.org"),)),
    ('<author>"jane@e.org" &lt;jane@e.org&gt;</author>', (Person(None, "jane@e.org"),)),
    ("<author>jane@e.org (jane@e.org)</author>", (Person(None, "jane@e.org"),)),
    ("<author>jane@e.org (jo@e.org)</author>", (Person("jo@e.org", "jane@e.org"),)),
    ("<author>ann@e.org, joann@e.org</author>", (Person("joann@e.org", "ann@e.org"),)),
    ('<author>The "J" &lt;jane@e.org&gt;</author>', (Person('The "J"', "jane@e.org"),)),
    ("<author>\u5f20\u4e09jane@e.org</author>", (Person("\u5f20\u4e09", "jane@e.org"),)),
    ("<dcterms:creator>Jane</dcterms:creator>", (Person("Jane"),)),
    ("<googleplay:author>Jane</googleplay:author>", (Person("Jane"),)),
    ("<author/>", ()),
    ("<dc:creator>Jane</dc:creator>", (Person("Jane"),)),
    ("<dc:creator>Jane</dc:creator><dc:creator>Joe</dc:creator>", (Person("Jane"), Person("Joe"))),
    ("<dc:creator>Jane</dc:creator><author>Jane</author>", (Person("Jane"),)),
    ("<itunes:author>Jane</itunes:author>", (Person("Jane"),)),
    ("<dc:author>Jane</dc:author>", (Person("Jane"),)),
    ("<author><name>Jane</name><email>j@e.org</email></author>", (Person("Jane", "j@e.org"),)),
]


@pytest.mark.parametrize(("item", "expected"), AUTHORS)
def test_authors(item: str, expected: tuple[Person, ...]) -> None:
    assert entry_of(item).authors == expected


def test_the_managing_editor_stands_in_for_a_missing_author() -> None:
    channel = "<managingEditor>ed@e.org (Ed)</managingEditor>"
    assert entry_of("<title>x</title>", channel).authors == (Person("Ed", "ed@e.org"),)
    assert entry_of("<author>Jane</author>", channel).authors == (Person("Jane"),)


def test_a_contributor_is_no_author() -> None:
    entry = entry_of("<dc:contributor>Con</dc:contributor>")
    assert (entry.authors, entry.contributors) == ((), (Person("Con"),))
    assert entry_of("<dcterms:contributor>C</dcterms:contributor>").contributors == (Person("C"),)


CATEGORIES: list[tuple[str, tuple[Category, ...]]] = [
    ("<dc:subject>news<rdf:Bag><rdf:li/></rdf:Bag></dc:subject>", (Category("news"),)),
    ("<category>a</category>", (Category("a"),)),
    ("<category> a </category><category/>", (Category("a"),)),
    ("<category>a</category><category>b</category>", (Category("a"), Category("b"))),
    ("<category>a</category><category>a</category>", (Category("a"),)),
    ("<category domain='d'>a</category>", (Category("a", "d"),)),
    ("<category domain='d'>a</category><category>a</category>",
     (Category("a", "d"), Category("a"))),
    ("<category>a, b</category>", (Category("a, b"),)),
    ("<category domain=''>a</category>", (Category("a"),)),
    ("<category term='a' scheme='' label=''/>", (Category("a"),)),
    ("<media:category scheme='s' label=''>a</media:category>", (Category("a", "s"),)),
    ("<category>R&amp;D</category>", (Category("R&D"),)),
    ("<category><![CDATA[R&D]]></category>", (Category("R&D"),)),
    ("<dc:subject>a</dc:subject>", (Category("a"),)),
    ("<dcterms:subject>a</dcterms:subject>", (Category("a"),)),
    ("<dc:subject><rdf:Bag><rdf:li>a</rdf:li><rdf:li/><rdf:li>b</rdf:li></rdf:Bag></dc:subject>",
     (Category("a"), Category("b"))),
    ("<dc:subject><rdf:Description><rdf:value>a</rdf:value></rdf:Description></dc:subject>",
     (Category("a"),)),
    ("<keywords>a</keywords>", (Category("a"),)),
    ("<tags>a, b,,c</tags>", (Category("a"), Category("b"), Category("c"))),
    ("<categories><category>a</category><category>b</category></categories>",
     (Category("a"), Category("b"))),
    ("<itunes:keywords>a, b</itunes:keywords>", (Category("a", ITUNES), Category("b", ITUNES))),
    ("<itunes:category text='A'/>", (Category("A", ITUNES),)),
    ("<media:keywords>a, b</media:keywords>", (Category("a"), Category("b"))),
    ("<media:category label='L' scheme='s'>a</media:category>", (Category("a", "s", "L"),)),
    ("<media:category>a</media:category>",
     (Category("a", "http://search.yahoo.com/mrss/category_schema"),)),
    ("<taxo:topics><rdf:Bag><rdf:li resource='https://t.org/a'/></rdf:Bag></taxo:topics>",
     (Category("https://t.org/a"),)),
]  # fmt: skip


@pytest.mark.parametrize(("item", "expected"), CATEGORIES)
def test_categories(item: str, expected: tuple[Category, ...]) -> None:
    assert entry_of(item).categories == expected
