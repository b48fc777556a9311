"""Parse JSON Feed 1.0 and 1.1."""

import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

import orjson

from headwater.parse import entry_elements, feed_elements
from headwater.parse.assembly import named_entries
from headwater.parse.categories import add_category
from headwater.parse.charset import Utf8Document
from headwater.parse.dates import parse_date
from headwater.parse.document import Content, Document, Enclosure, Feed, Link, Person, Text
from headwater.parse.draft import Context, DraftNotes, EntryDraft, FeedDraft, language_tag
from headwater.parse.format import describe_document
from headwater.parse.limits import ParseLimits, ProblemTally, cut_bytes
from headwater.parse.links import (
    add_enclosure,
    byte_count,
    keep_native_id,
    media_type,
    resolved_address,
    resolved_file,
)
from headwater.parse.relative_links import ALL_ATTRIBUTES, with_absolute_links
from headwater.parse.repair_text import without_controls
from headwater.parse.text import shorten_text
from headwater.parse.torn_json import close_torn_json

_ANY_LENGTH = 1 << 24
_VERSION = re.compile(r"https?://(?:www\.)?jsonfeed\.org/version/(\d(?:\.\d)?)")
# Templates leave a line break or tab inside a string, and a comma after the last value. Programs
# write a number that is none, or that is too large. A string that never ends goes on to the end.
_SLIP = re.compile(
    r'"(?:[^"\\]|\\.)*+(?:"|\Z)|,(?=\s*[\]}])'
    r"|-?+(?:NaN|Infinity|\d++(?:\.\d++)?+(?:[eE][+-]?\d++)?+)",
    re.DOTALL,
)
_CONTROL = re.compile(r"[\x00-\x1f]")
# All escapes are matched, so that an escaped backslash is never taken for the start of another.
_ESCAPE = re.compile(
    r"\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|[\"\\/bfnrt])|(u[dD][89a-fA-F][0-9a-fA-F]{2})|(.))",
    re.DOTALL,
)


def parse_json_feed(
    document: Utf8Document, url: str | None, limits: ParseLimits, tally: ProblemTally
) -> Document:
    """A JSON document as a feed, or `unknown`."""
    loaded, is_cut = _load(document.utf8, limits, tally)
    version = _version(loaded)
    if version is None or not isinstance(loaded, dict):
        tally.note("not_a_feed", describe_document(document.utf8))
        return Document("unknown", "", document.label, False, tally.problems(), Feed(), ())
    if is_cut:
        tally.note("partial", "the document ended before its last bracket")
    context = Context(url, limits, tally)
    feed = feed_elements.finish_feed(_feed(loaded, context))
    items = loaded.get("items")
    drafts = list(_entries(items if isinstance(items, list) else [], feed.authors, context))
    entries = named_entries(drafts, url)
    return Document("json", version, document.label, is_cut, tally.problems(), feed, entries)


def _load(utf8: bytes, limits: ParseLimits, tally: ProblemTally) -> tuple[Any, bool]:
    """The value or None, and whether it was cut off.

    orjson itself refuses NaN, and bounds numbers and depth.
    """
    try:
        return orjson.loads(utf8), False
    except orjson.JSONDecodeError as trouble:
        broken = str(trouble)
    repaired = utf8.decode("utf-8", "replace").strip("\ufeff \t\r\n\x00")
    repaired = _SLIP.sub(_without_slip, _ESCAPE.sub(_sound_escape, repaired))
    for attempt, is_cut in ((repaired, False), close_torn_json(repaired, limits.json_depth)):
        try:
            loaded = orjson.loads(attempt)
        except orjson.JSONDecodeError:
            continue
        if not is_cut:
            tally.note("json_repaired", broken[:120])
        return loaded, is_cut
    tally.note("bad_json", broken[:120])
    return None, False


def _without_slip(match: re.Match[str]) -> str:
    if match[0] == ",":
        return ""
    if match[0][0] != '"':
        return match[0] if isfinite(float(match[0])) else '""'
    return _CONTROL.sub(lambda control: f"\\u{ord(control[0]):04x}", match[0])


def _sound_escape(match: re.Match[str]) -> str:
    """An escape that JSON does not have (of an apostrophe, say) is the character itself."""
    if match[1] is not None:
        return match[0]
    return "\\ufffd" if match[2] is not None else match[3]


def _version(loaded: Any) -> str | None:
    """The version. A document without one is still a feed when it has a title and items with ids.

    An empty list of items may be written as null: some programs have no other empty list.
    """
    if not isinstance(loaded, dict) or not isinstance(loaded.get("items", ""), list | None):
        return None
    declared = loaded.get("version")
    match = _VERSION.match(declared) if isinstance(declared, str) else None
    if match is not None:
        return "1.0" if match[1] in ("1", "1.0") else match[1]
    first = loaded["items"][0] if loaded["items"] else None
    return "1.1" if isinstance(first, dict) and "id" in first and "title" in loaded else None


def _string(value: Any, limit: int) -> str:
    """A trimmed, harmless string. Numbers count as text; all other values are empty."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = value if isinstance(value, str) else repr(value)
    return without_controls(text[: limit + 64]).strip()[:limit]


def _objects(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value]
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _people_as_objects(value: Any) -> list[dict[str, Any]]:
    """People as objects. Some publishers write only their names."""
    people = value if isinstance(value, list) else [value]
    return _objects([{"name": one} if isinstance(one, str) else one for one in people])


def _people(holder: dict[str, Any], context: Context) -> tuple[Person, ...]:
    """Read `authors` (1.1) or `author` (1.0)."""
    people: list[Person] = []
    several = holder.get("authors")
    for author in _people_as_objects(
        [] if isinstance(several, str) else several
    ) or _people_as_objects(holder.get("author")):
        name = _string(author.get("name"), context.limits.title_chars) or None
        page = _string(author.get("url"), context.limits.link_bytes)
        email = page.removeprefix("mailto:") if page.startswith("mailto:") else None
        uri = resolved_address(page, context.base, context) if page and not email else None
        person = Person(name, email, uri)
        if (name or email or uri) and person not in people:
            people.append(person)
    if len(people) > context.limits.people:
        context.tally.note("people_cut", f"more than {context.limits.people} people, cut")
    return tuple(people[: context.limits.people])


def _address(holder: dict[str, Any], name: str, context: Context) -> str | None:
    value = holder.get(name)
    address = _string(value, context.limits.link_bytes + 1) if isinstance(value, str) else ""
    return resolved_address(address, context.base, context) if address else None


def _feed(loaded: dict[str, Any], context: Context) -> FeedDraft:
    draft, limits = FeedDraft(), context.limits
    title = entry_elements.title_within(_string(loaded.get("title"), _ANY_LENGTH), context)
    draft.title = Text(title) if title else None
    about = shorten_text(
        _string(loaded.get("description"), _ANY_LENGTH), limits.text_chars, context
    )
    draft.summary = Text(about) if about else None
    draft.link = _address(loaded, "home_page_url", context)
    if draft.link:
        draft.links += (Link(draft.link),)
    for name, rel in (("feed_url", "self"), ("next_url", "next")):
        address = _address(loaded, name, context)
        if address:
            draft.links += (Link(address, rel),)
    for hub in _objects(loaded.get("hubs"))[: limits.links]:
        address = _address(hub, "url", context)
        if address:
            draft.links += (Link(address, "hub"),)
    draft.image = _address(loaded, "icon", context)
    draft.icon = _address(loaded, "favicon", context)
    draft.language = language_tag(_string(loaded.get("language"), 64))
    draft.authors = _people(loaded, context)
    return draft


def _entries(
    items: list[Any], authors: tuple[Person, ...], context: Context
) -> Iterator[EntryDraft]:
    limit = context.limits.items
    for item in items[:limit]:
        if isinstance(item, dict):
            context.spare = DraftNotes()
            draft = _entry(item, context)
            entry_elements.complete_entry(draft, authors, context)
            yield draft
    if len(items) > limit:
        context.tally.note("items_cut", f"{len(items) - limit} entries over {limit} were cut")


def _entry(item: dict[str, Any], context: Context) -> EntryDraft:
    draft, limits = EntryDraft(), context.limits
    native_id = _string(item.get("id"), _ANY_LENGTH)
    if native_id:
        keep_native_id(draft, native_id, context)
    title = entry_elements.title_within(_string(item.get("title"), _ANY_LENGTH), context)
    draft.title = Text(title) if title else None
    _links(draft, item, context)
    for name, kind in (("content_html", "html"), ("content_text", "text")):
        value = _long_text(item.get(name), context)
        if value and kind == "html":
            value = with_absolute_links(value, context.base, ALL_ATTRIBUTES)
        if value:
            draft.contents += (Content(value, kind),)
    summary = _long_text(item.get("summary"), context)
    draft.summary = Text(summary) if summary else None
    _dates(draft, item, context)
    draft.authors = _people(item, context)
    draft.language = language_tag(_string(item.get("language"), 64))
    tags = item.get("tags")
    for tag in (tags if isinstance(tags, list) else [])[: limits.categories * 2]:
        term = _string(tag, _ANY_LENGTH)
        if term:
            add_category(term, None, None, context)
    _files(draft, item, context)
    return draft


def _links(draft: EntryDraft, item: dict[str, Any], context: Context) -> None:
    page, external = _address(item, "url", context), _address(item, "external_url", context)
    draft.link = page or external
    if page:
        draft.links += (Link(page),)
    if external:
        draft.links += (Link(external, "related" if page else "alternate"),)
    if draft.link is None and draft.native_id and draft.native_id.startswith("http"):
        draft.link = resolved_address(draft.native_id, None, context)
    for name in ("image", "banner_image"):
        address = _address(item, name, context)
        if address and address not in draft.thumbnails:
            draft.thumbnails += (address,)


def _long_text(value: Any, context: Context) -> str:
    if not isinstance(value, str):
        return ""
    limit = context.limits.content_bytes
    text = cut_bytes(value, limit)
    if len(text) < len(value):
        context.tally.note("content_cut", f"longer than {limit} bytes, cut")
    return without_controls(text).strip()


def _dates(draft: EntryDraft, item: dict[str, Any], context: Context) -> None:
    published = _string(item.get("date_published"), context.limits.date_chars)
    updated = _string(item.get("date_modified"), context.limits.date_chars)
    if published:
        draft.raw_dates["published"] = published
        draft.published = parse_date(published)
    if updated:
        draft.raw_dates["updated"] = updated
        draft.updated = parse_date(updated)


def _files(draft: EntryDraft, item: dict[str, Any], context: Context) -> None:
    for attachment in _objects(item.get("attachments"))[: context.limits.enclosures * 2]:
        value = attachment.get("url")
        address = _string(value, context.limits.link_bytes + 1) if isinstance(value, str) else ""
        url = resolved_file(address, context.base, context) if address else None
        if url is None:
            continue
        enclosure = Enclosure(
            url,
            media_type(_string(attachment.get("mime_type"), 128) or None),
            _whole_number(attachment.get("size_in_bytes")),
            _whole_number(attachment.get("duration_in_seconds")),
            _string(attachment.get("title"), context.limits.title_chars) or None,
        )
        add_enclosure(draft, enclosure, context)


def _whole_number(value: Any) -> int | None:
    if isinstance(value, str):
        return byte_count(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return int(value) if 0 <= value < 2**63 else None
