"""What JSON Feed 1.1 demands of a document."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.support.feed_rules import (
    Rules,
    is_clean_html,
    is_media_type,
    is_rfc3339,
    is_sound,
    is_uri,
    is_web_address,
    repeated,
)

VERSION = "https://jsonfeed.org/version/1.1"

_FEED: dict[str, Callable[[Any], bool]] = {
    "version": lambda value: value == VERSION,
    "title": lambda value: isinstance(value, str),
    "home_page_url": is_web_address,
    "feed_url": is_web_address,
    "description": lambda value: isinstance(value, str),
    "next_url": is_web_address,
    "language": lambda value: isinstance(value, str),
    "expired": lambda value: isinstance(value, bool),
    "authors": lambda value: _is_list_of(value, dict),
    "hubs": lambda value: _is_list_of(value, dict),
    "items": lambda value: _is_list_of(value, dict),
}
_ITEM: dict[str, Callable[[Any], bool]] = {
    "id": lambda value: isinstance(value, str) and bool(value.strip()),
    "url": is_uri,
    "external_url": is_uri,
    "title": lambda value: isinstance(value, str),
    "content_html": lambda value: isinstance(value, str),
    "content_text": lambda value: isinstance(value, str),
    "summary": lambda value: isinstance(value, str),
    "date_published": is_rfc3339,
    "date_modified": is_rfc3339,
    "language": lambda value: isinstance(value, str),
    "authors": lambda value: _is_list_of(value, dict),
    "tags": lambda value: _is_list_of(value, str),
    "attachments": lambda value: _is_list_of(value, dict),
}
_AUTHOR: dict[str, Callable[[Any], bool]] = {
    "name": lambda value: isinstance(value, str) and bool(value.strip()),
    "url": is_uri,
    "avatar": is_web_address,
}
_HUB: dict[str, Callable[[Any], bool]] = {
    "type": lambda value: isinstance(value, str) and bool(value),
    "url": is_web_address,
}
_ATTACHMENT: dict[str, Callable[[Any], bool]] = {
    "url": is_uri,
    "mime_type": is_media_type,
    "title": lambda value: isinstance(value, str) and bool(value),
    "size_in_bytes": lambda value: _is_amount(value),
    "duration_in_seconds": lambda value: _is_amount(value),
}

RULES: Rules[dict[str, Any]] = Rules()


def broken(body: bytes) -> list[str]:
    """Which rules this document breaks. What is no JSON object at all breaks the first."""
    try:
        feed = json.loads(body.decode("utf-8", "strict"))
    except ValueError as problem:
        return [f"it_is_json_in_utf_8: {problem}"]
    if not isinstance(feed, dict):
        return ["it_is_an_object: no"]
    return RULES.broken(feed)


def items_of(feed: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for item in feed.get("items") or [] if isinstance(item, dict)]


@RULES.rule
def a_feed_has_a_version_a_title_and_items(feed: dict[str, Any]) -> Iterator[str]:
    yield from (name for name in ("version", "title", "items") if name not in feed)


@RULES.rule
def a_feed_says_where_it_is(feed: dict[str, Any]) -> Iterator[str]:
    if "feed_url" not in feed:
        yield "no feed_url"


@RULES.rule
def every_value_is_of_its_kind(feed: dict[str, Any]) -> Iterator[str]:
    for known, records in _records(feed):
        for record in records:
            for name, value in record.items():
                if name in known and not known[name](value):
                    yield f"{name} {str(value)[:100]!r}"


@RULES.rule
def every_name_is_known_or_begins_with_an_underscore(feed: dict[str, Any]) -> Iterator[str]:
    """A letter follows the underscore, and an object is what it names."""
    for known, records in _records(feed):
        for record in records:
            for name, value in record.items():
                custom = name[:1] == "_" and name[1:2].isalpha() and isinstance(value, dict)
                if name not in known and not custom:
                    yield name


@RULES.rule
def an_item_has_an_id_and_a_content(feed: dict[str, Any]) -> Iterator[str]:
    for number, item in enumerate(items_of(feed)):
        if "id" not in item or not {"content_html", "content_text"} & item.keys():
            yield str(number)


@RULES.rule
def an_id_is_nobody_elses(feed: dict[str, Any]) -> Iterator[str]:
    yield from repeated([str(item.get("id")) for item in items_of(feed)])


@RULES.rule
def an_author_says_something(feed: dict[str, Any]) -> Iterator[str]:
    for author in _of(feed, "authors"):
        if not _AUTHOR.keys() & author.keys():
            yield str(author)


@RULES.rule
def a_hub_has_a_type_and_an_address(feed: dict[str, Any]) -> Iterator[str]:
    for hub in feed.get("hubs") or []:
        if not {"type", "url"} <= hub.keys():
            yield str(hub)


@RULES.rule
def an_attachment_has_an_address_and_a_type(feed: dict[str, Any]) -> Iterator[str]:
    for attachment in _of(feed, "attachments"):
        if not {"url", "mime_type"} <= attachment.keys():
            yield str(attachment)


@RULES.rule
def the_next_page_is_another_one(feed: dict[str, Any]) -> Iterator[str]:
    if "next_url" in feed and feed["next_url"] == feed.get("feed_url"):
        yield str(feed["next_url"])


@RULES.rule
def a_tag_says_something_and_once(feed: dict[str, Any]) -> Iterator[str]:
    for item in items_of(feed):
        tags = [str(tag) for tag in item.get("tags") or []]
        yield from repeated(tags)
        yield from (repr(tag) for tag in tags if not tag.strip())


@RULES.rule
def html_is_clean(feed: dict[str, Any]) -> Iterator[str]:
    for item in items_of(feed):
        if not is_clean_html(str(item.get("content_html", ""))):
            yield str(item["content_html"])[:100]


@RULES.rule
def no_text_holds_what_other_formats_cannot_carry(feed: dict[str, Any]) -> Iterator[str]:
    yield from (repr(text[:100]) for text in _texts(feed) if not is_sound(text))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from (name, *_texts(each))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield value


def _records(
    feed: dict[str, Any],
) -> Iterator[tuple[dict[str, Callable[[Any], bool]], list[dict[str, Any]]]]:
    yield _FEED, [feed]
    yield _ITEM, items_of(feed)
    yield _AUTHOR, _of(feed, "authors")
    yield _HUB, list(feed.get("hubs") or [])
    yield _ATTACHMENT, _of(feed, "attachments")


def _of(feed: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Such records of the feed and of all its items."""
    return [
        record
        for holder in (feed, *items_of(feed))
        for record in holder.get(name) or []
        if isinstance(record, dict)
    ]


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
