"""Render a published feed as JSON Feed 1.1."""

from typing import Any

import orjson

from headwater.core.values.instant import rfc3339
from headwater.publish.clean_html import text_of_html
from headwater.publish.document import (
    GENERATOR,
    ItemAuthor,
    ItemEnclosure,
    PublishedFeed,
    PublishedItem,
)
from headwater.publish.safe_text import (
    MAGNET,
    OCTETS,
    amount_or_none,
    media_type_or_none,
    name_or_none,
    readable_names,
    web_url,
    xml_safe_text,
)

MEDIA_TYPE = "application/feed+json"
VERSION = "https://jsonfeed.org/version/1.1"


def render_json_feed(document: PublishedFeed) -> bytes:
    places = document.places
    record = {
        "version": VERSION,
        "title": name_or_none(document.title) or GENERATOR,
        "description": name_or_none(document.description),
        "home_page_url": places.home,
        "feed_url": places.self_url,
        "next_url": places.next,
        "hubs": [{"type": "WebSub", "url": places.hub}] if places.hub else None,
        # An extension: the standard leaves names that begin with `_` to us.
        "_headwater": {
            "id": document.id,
            "updated": rfc3339(document.updated),
            **_without_empty({"first_url": places.first, "previous_url": places.previous}),
        },
    }
    items = [_item(item) for item in document.items]
    return orjson.dumps(_xml_safe(_without_empty(record) | {"items": items}))


def _item(item: PublishedItem) -> dict[str, Any]:
    """`content_html` is always there, as one of the two contents must be; it may be empty."""
    record = {
        "id": item.id,
        "url": web_url(item.link, MAGNET),
        "title": xml_safe_text(item.title),
        "summary": text_of_html(item.summary) if item.summary else None,
        "date_published": rfc3339(item.published) if item.published else None,
        "date_modified": rfc3339(item.updated),
        "authors": _non_empty(_author(person) for person in item.authors),
        "tags": readable_names(item.categories),
        "attachments": _non_empty(_attachment(enclosure) for enclosure in item.enclosures),
        "_source": _source(item),
    }
    return _without_empty(record) | {"content_html": item.content or item.summary or ""}


def _author(person: ItemAuthor) -> dict[str, Any]:
    name = name_or_none(person.name) or name_or_none(person.email)
    return _without_empty({"name": name, "url": web_url(person.uri)})


def _attachment(enclosure: ItemEnclosure) -> dict[str, Any]:
    url = web_url(enclosure.url, MAGNET)
    if url is None:
        return {}
    return {
        "url": url,
        "mime_type": media_type_or_none(enclosure.type) or OCTETS,
        **_without_empty(
            {
                "title": name_or_none(enclosure.title),
                "size_in_bytes": amount_or_none(enclosure.length),
                "duration_in_seconds": amount_or_none(enclosure.duration),
            }
        ),
    }


def _source(item: PublishedItem) -> dict[str, Any] | None:
    source = item.source
    if source is None:
        return None
    named = {"title": name_or_none(source.title), "url": web_url(source.link)}
    return {"id": source.id} | _without_empty(named | {"feed_url": web_url(source.feed_url)})


def _non_empty(records: Any) -> list[dict[str, Any]]:
    return [record for record in records if record]


def _without_empty(record: dict[str, Any]) -> dict[str, Any]:
    """Drop empty values; zero is not empty."""
    return {key: value for key, value in record.items() if value not in (None, "", [])}


def _xml_safe(value: Any) -> Any:
    if isinstance(value, str):
        return xml_safe_text(value)
    if isinstance(value, list):
        return [_xml_safe(each) for each in value]
    if isinstance(value, dict):
        return {key: _xml_safe(each) for key, each in value.items()}
    return value
