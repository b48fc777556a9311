"""A document crosses to another process unchanged."""

import pickle

from headwater.parse import Document, parse

BODY = (
    b"<rss xmlns:slash='http://purl.org/rss/1.0/modules/slash/'><channel><title>T</title><ttl>5</ttl>"
    b"<item><title>x</title><link>https://e.org/1</link><category>c</category><guid>g</guid>"
    b"<pubDate>Mon, 05 Jan 2004 12:00:00 +0100</pubDate><slash:comments>3</slash:comments>"
    b"<enclosure url='https://e.org/a' length='1'/><description>d</description></item>"
    b"</channel></rss>"
)


def test_a_document_survives_pickling() -> None:
    document = parse(BODY, url="https://e.org/feed")
    packed = pickle.dumps(document, pickle.HIGHEST_PROTOCOL)
    again = pickle.loads(packed)  # noqa: S301  # our own bytes, made one line above
    assert isinstance(again, Document)
    assert again == document
    assert type(again.entries[0]) is type(document.entries[0])


def test_equal_bytes_make_equal_documents() -> None:
    assert parse(BODY) == parse(BODY)
    assert hash(parse(BODY).entries[0].links) == hash(parse(BODY).entries[0].links)
