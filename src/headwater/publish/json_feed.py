"""A published feed as JSON Feed 1.1."""

from typing import Any

import orjson

from headwater.publish.clean import text_of_html
from headwater.publish.document import GENERATOR, Document
from headwater.publish.item import Enclosure, Item, Person
from headwater.publish.wire_text import (
    MAGNET,
    OCTETS,
    amount,
    media_type,
    name,
    names,
    sound,
    web_url,
)
from headwater.values.instant import rfc3339

MEDIA_TYPE = "application/feed+json"
VERSION = "https://jsonfeed.org/version/1.1"


def json_feed(document: Document) -> bytes:
    places = document.places
    said = {
        "version": VERSION,
        "title": name(document.title) or GENERATOR,
        "description": name(document.description),
        "home_page_url": places.home,
        "feed_url": places.self_url,
        "next_url": places.next,
        "hubs": [{"type": "WebSub", "url": places.hub}] if places.hub else None,
        # Beyond the standard, under a name it leaves to us.
        "_headwater": {
            "id": document.id,
            "updated": rfc3339(document.updated),
            **_only_said({"first_url": places.first, "previous_url": places.previous}),
        },
    }
    items = [_item(item) for item in document.items]
    return orjson.dumps(_sound(_only_said(said) | {"items": items}))


def _item(item: Item) -> dict[str, Any]:
    """`content_html` is always there, as one of the two contents must be; it may be empty."""
    said = {
        "id": item.id,
        "url": web_url(item.link, MAGNET),
        "title": sound(item.title),
        "summary": text_of_html(item.summary) if item.summary else None,
        "date_published": rfc3339(item.published) if item.published else None,
        "date_modified": rfc3339(item.updated),
        "authors": _listed(_author(person) for person in item.authors),
        "tags": names(item.categories),
        "attachments": _listed(_attachment(enclosure) for enclosure in item.enclosures),
        "_source": _source(item),
    }
    return _only_said(said) | {"content_html": item.content or item.summary or ""}


def _author(person: Person) -> dict[str, Any]:
    called = name(person.name) or name(person.email)
    return _only_said({"name": called, "url": web_url(person.uri)})


def _attachment(enclosure: Enclosure) -> dict[str, Any]:
    url = web_url(enclosure.url, MAGNET)
    if url is None:
        return {}
    return {
        "url": url,
        "mime_type": media_type(enclosure.type) or OCTETS,
        **_only_said(
            {
                "title": name(enclosure.title),
                "size_in_bytes": amount(enclosure.length),
                "duration_in_seconds": amount(enclosure.duration),
            }
        ),
    }


def _source(item: Item) -> dict[str, Any] | None:
    source = item.source
    if source is None:
        return None
    named = {"title": name(source.title), "url": web_url(source.link)}
    return {"id": source.id} | _only_said(named | {"feed_url": web_url(source.feed_url)})


def _listed(records: Any) -> list[dict[str, Any]]:
    return [record for record in records if record]


def _only_said(record: dict[str, Any]) -> dict[str, Any]:
    """Without what is empty; nought is something."""
    return {key: value for key, value in record.items() if value not in (None, "", [])}


def _sound(value: Any) -> Any:
    if isinstance(value, str):
        return sound(value)
    if isinstance(value, list):
        return [_sound(each) for each in value]
    if isinstance(value, dict):
        return {key: _sound(each) for key, each in value.items()}
    return value
