"""Pieces that parsers of feeds stumble over: tags, attributes, values and bytes."""

TAGS = (
    "rss channel item title link guid description pubDate author category enclosure comments source"
    " image url ttl skipHours hour skipDays day cloud language managingEditor textInput fullitem"
    " feed entry id updated published issued modified created content summary subtitle tagline name"
    " email uri rights generator icon logo contributor rdf:RDF rdf:Seq rdf:li dc:creator dc:date"
    " dc:title dc:subject dc:description dcterms:created dcterms:valid content:encoded media:group"
    " media:content media:thumbnail media:credit media:title itunes:author itunes:duration"
    " itunes:summary itunes:owner itunes:category itunes:image podcast:alternateEnclosure"
    " podcast:source atom:link atom:id sy:updatePeriod slash:comments wfw:commentRss"
    " feedburner:origLink georss:point thr:in-reply-to torrent nyaa:size torznab:attr"
    " xhtml:body body div p b br a img script svg html channel:item x:y"
).split()

ATTRIBUTES = (
    'version="2.0"', 'version="0.3"', 'xmlns="http://www.w3.org/2005/Atom"',
    'xmlns="http://purl.org/rss/1.0/"', 'xmlns="http://purl.org/atom/ns#"', 'xmlns=""',
    'xmlns:dc="http://purl.org/dc/elements/1.1/"', 'xmlns:x="urn:x"', 'xmlns:xml="urn:x"',
    'xmlns="http://www.w3.org/1999/xhtml"', 'xmlns="https://mikanani.me/0.1/"',
    'xmlns:media="http://search.yahoo.com/mrss"', 'xml:base="/b/"', 'xml:base="javascript:x"',
    'xml:base="https://other.example/a/"', 'xml:base=""', 'xml:lang="de"', 'type="html"',
    'type="xhtml"', 'type="text"', 'type="text/html"', 'type="image/png"', 'mode="base64"',
    'mode="escaped"', 'rel="alternate"', 'rel="enclosure"', 'rel="self"', 'rel="hub"',
    'href="/x"', 'href="https://example.org/y"', 'url="a.mp3"', 'url="magnet:?xt=urn:btih:aa"',
    'length="99999999999999999999"', 'length="-1"', 'isPermaLink="false"', 'isPermaLink="x"',
    'term="t"', 'domain="d"', "a='1'", "a=1", "a", 'src="//h/x"', 'rdf:about="u"', 'name="size"',
    'value="1"', 'text="T"', 'encoding="utf-16"',
)  # fmt: skip

VALUES = (
    "Mon, 05 Jan 2004 12:00:00 GMT", "2004-01-05T12:00:00Z", "0001-01-01T00:00:00Z", "2004",
    "99999-99-99", "2004-02-30", "24:00", "https://example.org/", "//h", "a@b.example (N)", "&amp;",
    "&lt;b&gt;", "&nbsp;", "&", "&#0;", "&#x110000;", "&a;", "&&;", "&amp;amp;lt;", "1:02:03",
    "<![CDATA[", "]]>", "<!--", "-->", "--", "<?x", "?>", "<!DOCTYPE rss [", "]>",
    "<!ENTITY a 'b'>",
    '<!ENTITY % p "q">', "<", ">", "</", "/>", "<>", "</>", "< ", "<a", "<a b='", "'", '"', "=",
    "<?xml version='1.0'?>", "<?xml version='1.0' encoding='gbk'?>", "{", "}", "[", "]", ",", ":",
    '"items":', '"version":', "null", "1e999", "\u2028", "\ufeff", "\ufffe", "\u0085", "\x00",
    "\x1b$B", "\x93", "\U0001f600", "e\u0301", "\u202e", "\t", "\r", "\n", "true", "-1", "",
    "AAAA" * 64, "%00", "<a href='x'>", "<img src=y>", "<script>", "<textarea>", "<plaintext>",
    "&amp;#9;", "&lt;a href='?a&amp;amp;#9;'&gt;",
)  # fmt: skip

BYTES = (
    b"\xff", b"\xfe", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\x00", b"\xc3", b"\xe2\x80",
    b"\xc3\x83\xc2\xa9", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"\x1a", b"\x7f",
    b"\x80", b"\x1f\x8b", b"\xa4\xa2", b"\x81\x30\x81\x30", b"\x1b(J", b"+ADw-", b"\x0c", b"\x0b",
)  # fmt: skip

CODECS = (
    "utf-16", "utf-16-be", "utf-32", "latin-1", "cp1252", "gb18030", "big5", "shift_jis", "euc_kr",
    "koi8_r", "utf-8-sig", "utf-7", "iso2022_jp", "cp037",
)  # fmt: skip
