"""Documents to publish in tests, and a strict reader for what comes out."""

from datetime import UTC, datetime

from lxml import etree

from headwater.publish.document import (
    ItemAuthor,
    ItemEnclosure,
    ItemSource,
    PublishedFeed,
    PublishedFeedLinks,
    PublishedItem,
    urn,
)

ATOM = "{http://www.w3.org/2005/Atom}"
CONTENT = "{http://purl.org/rss/1.0/modules/content/}"
CREATOR = "{http://purl.org/dc/elements/1.1/}creator"

SELF = "https://river.example/meta/all.xml"
UPDATED = datetime(2026, 3, 1, 12, 30, 15, 250_000, tzinfo=UTC)
PUBLISHED = datetime(2026, 2, 28, 8, 0, tzinfo=UTC)
SOURCE = ItemSource(
    "urn:uuid:01900000-0000-7000-8000-000000000001", "A river", "https://posts.example/"
)


def an_item(number: int = 1, **changes: object) -> PublishedItem:
    said: dict[str, object] = {
        "id": urn("feed", str(number)),
        "updated": UPDATED,
        "title": f"Post {number}",
        "link": f"https://posts.example/{number}",
        "summary": "<p>In short</p>",
        "content": "<p>At <b>length</b></p>",
        "authors": (ItemAuthor("Ada", "ada@posts.example", "https://ada.example/"),),
        "categories": ("water", "stone"),
        "enclosures": (ItemEnclosure("https://posts.example/1.mp3", "audio/mpeg", 5, 61, "Sound"),),
        "published": PUBLISHED,
        "source": SOURCE,
    }
    return PublishedItem(**(said | changes))  # type: ignore[arg-type]


def a_document(*items: PublishedItem, **places: str | None) -> PublishedFeed:
    return PublishedFeed(
        id=urn("collection", "all"),
        title="All entries",
        updated=UPDATED,
        places=PublishedFeedLinks(**({"self_url": SELF} | places)),  # type: ignore[arg-type]
        items=items,
    )


def strict(body: bytes) -> etree._Element:
    """Anything that is not well-formed raises, and so does a DTD."""
    tree = etree.fromstring(body, etree.XMLParser(resolve_entities=False, no_network=True))
    assert tree.getroottree().docinfo.internalDTD is None
    assert b"<!DOCTYPE" not in body
    return tree


def texts(tree: etree._Element, path: str) -> list[str]:
    return [element.text or "" for element in tree.findall(path)]
